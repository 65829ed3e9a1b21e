import { scanId } from '../../schemas/time.ts';
import { readCurrent } from './manifests.ts';
import { newestScan } from './published-dates.ts';
import { moveCurrentPointer, type Publisher } from './publisher.ts';

/** Moves the current pointer when it does not agree with the heads: a process was killed after it had moved one. */
export async function finishPointer(publisher: Publisher, now_ms: number): Promise<void> {
  const { path, dates } = publisher;
  const current = await readCurrent(path);
  const newest_ms = newestScan(dates.heads.values());
  if (newest_ms === null) return;
  const open = [...dates.heads.values()].filter((head) => !head.closed);
  const pinned = current?.open_dates ?? {};
  const agrees =
    current?.scan_id === scanId(newest_ms) &&
    open.length === Object.keys(pinned).length &&
    open.every((head) => pinned[head.partition] === head.commit);
  if (!agrees) await moveCurrentPointer(publisher, now_ms, [], true);
}
