import { LOOKBACK_MIN } from '../../schemas/resources/hail-cell.ts';

/** Oldest instant that counts for what is going on now, epoch milliseconds. */
export function lookbackStart(now_ms: number): number {
  return now_ms - LOOKBACK_MIN * 60_000;
}
