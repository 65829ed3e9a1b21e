import fs from 'node:fs/promises';
import { join } from 'node:path';
import { shareOfSweep } from '../../schemas/deletion-clock.ts';
import { layout } from '../../schemas/layout.ts';
import { addDays, MS_PER_DAY } from '../../schemas/time.ts';
import { filesBelow, namesIn } from '../files.ts';
import { lookBack, parseName } from '../sources/names.ts';
import type { DateHead } from './published-dates.ts';

/** Files that a sweep deleted. */
export interface Swept {
  readonly files: number;
  readonly bytes: number;
}

/**
 * Deletes raw files of UTC dates that ended, and whose files arrived, at least `keep_days` before `until_ms`: a share of the dates
 * per call, the oldest first; `is_done` when none is left. A date is kept while a storm date that it may belong to is open, because
 * its scans may have to be made again. A storm date begins at any hour, so these are the date itself and its neighbours. While
 * the next date is kept, so are the companions that its first scans use from before midnight.
 */
export async function sweepRaw(
  dataRoot: string,
  heads: ReadonlyMap<string, DateHead>,
  keep_days: number,
  until_ms: number,
): Promise<Swept & { readonly is_done: boolean }> {
  let swept: Swept = { files: 0, bytes: 0 };
  let is_done = true;
  const limit_ms = until_ms - keep_days * MS_PER_DAY;
  for (const provenance of await namesIn(join(dataRoot, layout.raw))) {
    const staying = new Set<string>();
    const over: { readonly folder: string; readonly files: readonly RawFile[]; readonly gone: readonly RawFile[] }[] =
      [];
    const dates = await datesOf(dataRoot, provenance);
    for (const date of dates.toReversed()) {
      const folder = join(dataRoot, layout.archiveDate(provenance, date));
      const files = await factsOf(folder);
      const end_ms = Date.parse(addDays(date, 1));
      const isYoung = end_ms > limit_ms || files.some(({ arrived_ms }) => arrived_ms > limit_ms);
      if (isYoung || isOpenAround(heads, date)) {
        staying.add(date);
        continue;
      }
      const isNeeded = (name: string) => staying.has(addDays(date, 1)) && reaches(name, end_ms);
      const gone = files.filter(({ name }) => !isNeeded(name));
      if (gone.length > 0 || files.length === 0) over.push({ folder, files, gone });
    }
    const most = shareOfSweep(dates.length);
    is_done &&= over.length <= most;
    for (const { folder, files, gone } of over.toReversed().slice(0, most)) {
      for (const { name } of gone) await fs.rm(join(folder, name));
      if (gone.length === files.length) await fs.rm(folder, { recursive: true });
      const bytes = gone.reduce((sum, file) => sum + file.bytes, 0);
      swept = { files: swept.files + gone.length, bytes: swept.bytes + bytes };
    }
  }
  return { ...swept, is_done };
}

interface RawFile {
  readonly name: string;
  readonly bytes: number;
  readonly arrived_ms: number;
}

/** UTC dates with raw files of a provenance, in order. */
async function datesOf(dataRoot: string, provenance: string): Promise<string[]> {
  const folders = await namesIn(join(dataRoot, layout.archive(provenance)));
  return folders.flatMap((name) => /^date=(\d{4}-\d{2}-\d{2})$/.exec(name)?.[1] ?? []).sort();
}

/** Files of a folder with their times of arrival: the ctime, because a copy has the mtime of its original. */
async function factsOf(folder: string): Promise<readonly RawFile[]> {
  return Promise.all(
    (await filesBelow(folder)).map(async (name) => {
      const { size, ctimeMs } = await fs.stat(join(folder, name));
      return { name, bytes: size, arrived_ms: ctimeMs };
    }),
  );
}

/** True for a companion file that a scan at or after an instant may use. */
function reaches(name: string, from_ms: number): boolean {
  const named = parseName(name);
  return named !== null && lookBack(named.product) > 0 && named.time_ms >= from_ms - lookBack(named.product);
}

function isOpenAround(heads: ReadonlyMap<string, DateHead>, date: string): boolean {
  return [addDays(date, -1), date, addDays(date, 1)].some((storm_date) => {
    const head = heads.get(storm_date);
    return head !== undefined && head.scan_count > 0 && !head.closed;
  });
}
