import { isCalendarDate } from '../../schemas/time.ts';
import { finishPointer } from './finish-pointer.ts';
import { readNewest } from './manifests.ts';
import type { Publisher } from './publisher.ts';

/**
 * Takes one partition that another writer has pushed to the store: the root publishes it, too. Returns its name; null when there is
 * none. What is derived from it (months, climatology) is left to the caller.
 */
export async function takePushed(publisher: Publisher, now_ms: number): Promise<string | null> {
  const { path, replica, dates, catalogues } = publisher;
  const partition = (await replica?.takePushed()) ?? null;
  const manifest = partition === null ? null : await readNewest(path, partition);
  if (partition === null || manifest === null) return null;
  catalogues.committed([manifest]);
  if (isCalendarDate(partition)) {
    dates.update(manifest);
    await finishPointer(publisher, now_ms);
  }
  return partition;
}
