import type { ExecutionContext } from 'ava';
import { contentOf } from './content.ts';
import { NOW_MS, publishedRoot, type RawScan } from './world.ts';

/** The scans without some of them, by number. */
export function without(scans: readonly RawScan[], ...numbers: number[]): RawScan[] {
  return scans.filter((_, index) => !numbers.includes(index));
}

/** A root with these scans published, and what it holds. */
export async function published(t: ExecutionContext, scans: readonly RawScan[], now_ms = NOW_MS) {
  return { root: await publishedRoot(t, scans, { now_ms }), content: await contentOf(scans, { now_ms }) };
}
