import type { ExecutionContext } from 'ava';
import { logicalContent } from './content.ts';
import { ingest, NOW_MS, type RawScan, scratch } from './world.ts';

/** The scans without some of them, by number. */
export function without(scans: readonly RawScan[], ...numbers: number[]): RawScan[] {
  return scans.filter((_, index) => !numbers.includes(index));
}

/** A root with these scans published, and what it holds. */
export async function published(t: ExecutionContext, scans: readonly RawScan[], now_ms = NOW_MS) {
  const root = await scratch(t);
  await ingest(root, scans, { now_ms });
  return { root, content: await logicalContent(root) };
}
