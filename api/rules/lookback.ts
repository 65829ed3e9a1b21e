import { LOOKBACK_MIN } from '../../schemas/resources/hail-cell.ts';

/** Start of the look-back of current conditions, epoch milliseconds. */
export function lookbackStart(now_ms: number): number {
  return now_ms - LOOKBACK_MIN * 60_000;
}
