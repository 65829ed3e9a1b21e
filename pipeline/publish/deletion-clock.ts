import fs from 'node:fs/promises';
import { join } from 'node:path';
import { type ClockLook, DeletionClock, lookAtClock } from '../../schemas/deletion-clock.ts';
import { layout } from '../../schemas/layout.ts';
import { isMissing, readIfPresent, replaceFile } from '../files.ts';
import type { DateHead } from './dates.ts';
import { newestScan } from './live-window.ts';

/** When a data root was published to last, by the clock of its machine, epoch milliseconds; null: never. */
export async function lastPublished(dataRoot: string): Promise<number | null> {
  try {
    return (await fs.stat(join(dataRoot, layout.current))).mtimeMs;
  } catch (error) {
    if (isMissing(error)) return null;
    throw error;
  }
}

/** The clock that a data root is swept by, after a look at the machine's. */
export async function lookAtRootClock(
  dataRoot: string,
  heads: ReadonlyMap<string, DateHead>,
  look: Omit<ClockLook, 'newest_scan_ms'>,
): Promise<DeletionClock> {
  const observed = [...heads.values()].filter(({ provenance }) => provenance === 'observed');
  return lookAtClock(await readClock(dataRoot), { ...look, newest_scan_ms: newestScan(observed) });
}

/** Writes the clock for the next sweep. */
export async function keepRootClock(dataRoot: string, clock: DeletionClock): Promise<void> {
  await replaceFile(join(dataRoot, layout.deletions), `${JSON.stringify(clock)}\n`);
}

/** The clock as the last sweep left it; null where there is none, or it cannot be read: one made anew deletes nothing for a day. */
async function readClock(dataRoot: string): Promise<DeletionClock | null> {
  const text = await readIfPresent(join(dataRoot, layout.deletions));
  if (text === null) return null;
  try {
    return DeletionClock.parse(JSON.parse(text));
  } catch {
    return null;
  }
}
