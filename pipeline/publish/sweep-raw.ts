import fs from 'node:fs/promises';
import { join } from 'node:path';
import { layout } from '../../schemas/layout.ts';
import { addDays } from '../../schemas/time.ts';
import { filesBelow, namesIn } from '../files.ts';
import { parseName } from '../sources/names.ts';
import { lookBack } from '../sources/plan.ts';
import type { DateHead } from './dates.ts';
import type { Swept } from './sweep.ts';

const MS_PER_DAY = 24 * 60 * 60_000;

/**
 * Deletes the raw files of UTC dates that came at least `keep_days` ago. A date stays while a file of it came later than that,
 * and while a storm date that it may belong to is open: its scans may have to be made again. A storm date begins at any hour,
 * so these are the date itself and its neighbours. While the date after it stays, so do the companions that its first scans
 * take from before midnight. `now_ms` is the machine's clock, as the times of files are.
 */
export async function sweepRaw(
  dataRoot: string,
  heads: ReadonlyMap<string, DateHead>,
  keep_days: number,
  now_ms: number,
): Promise<Swept> {
  let swept: Swept = { files: 0, bytes: 0 };
  for (const provenance of await namesIn(join(dataRoot, layout.raw))) {
    const staying = new Set<string>();
    for (const date of (await datesOf(dataRoot, provenance)).reverse()) {
      const folder = join(dataRoot, layout.archiveDate(provenance, date));
      const files = await factsOf(folder);
      if (isOpenAround(heads, date) || files.some(({ came_ms }) => came_ms > now_ms - keep_days * MS_PER_DAY)) {
        staying.add(date);
        continue;
      }
      const end_ms = Date.parse(addDays(date, 1));
      const isNeeded = (name: string) => staying.has(addDays(date, 1)) && reaches(name, end_ms);
      const gone = files.filter(({ name }) => !isNeeded(name));
      for (const { name } of gone) await fs.rm(join(folder, name));
      if (gone.length === files.length) await fs.rm(folder, { recursive: true });
      const bytes = gone.reduce((sum, file) => sum + file.bytes, 0);
      swept = { files: swept.files + gone.length, bytes: swept.bytes + bytes };
    }
  }
  return swept;
}

/** UTC dates with raw files of a provenance, in order. */
async function datesOf(dataRoot: string, provenance: string): Promise<string[]> {
  const folders = await namesIn(join(dataRoot, layout.archive(provenance)));
  return folders.flatMap((name) => /^date=(\d{4}-\d{2}-\d{2})$/.exec(name)?.[1] ?? []).sort();
}

/** Files of a folder, and when they came: a copy has the time of its original, so it is when its entry changed last. */
async function factsOf(folder: string) {
  return Promise.all(
    (await filesBelow(folder)).map(async (name) => {
      const { size, ctimeMs } = await fs.stat(join(folder, name));
      return { name, bytes: size, came_ms: ctimeMs };
    }),
  );
}

/** True for a companion that a scan from an instant on may take. */
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
