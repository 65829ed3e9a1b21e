import { appendFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { cataloguesOf } from '../../../pipeline/catalogues/catalogues.ts';
import type { Catalogue } from '../../../pipeline/publish/catalogues.ts';
import { CATALOGUES } from '../../../schemas/settings.ts';
import { aroundMidnight } from './small-world.ts';
import { MONTH_LATER_MS, type OpenSettings, onRoot } from './world.ts';

/** File below the data root with the commits of every edition, a line each, before any catalogue shows it. */
export const RECORD = 'editions.jsonl';

/** All catalogues of a data root, after one of our own that records each edition. */
export function recordedCatalogues(): readonly Catalogue[] {
  const record: Catalogue = {
    name: 'record',
    place: RECORD,
    version: 1,
    update: async (_, { data_root, commits }) => {
      await appendFile(join(data_root, RECORD), `${JSON.stringify([...commits])}\n`);
    },
  };
  return [record, ...cataloguesOf(CATALOGUES)];
}

const [, script = '', root = ''] = process.argv;
if (import.meta.url === pathToFileURL(script).href) await write(root);

/** The rest of an evening scan by scan, the end of its dates, their month, and the first of them made again. */
async function write(path: string): Promise<void> {
  const later: OpenSettings = { now_ms: MONTH_LATER_MS, catalogues: recordedCatalogues() };
  await onRoot(path, { each_scan: true, catalogues: recordedCatalogues() }, async ({ session }) => {
    for (const { files } of (await aroundMidnight()).slice(1)) await session.ingest(files);
    await session.finishDates();
  });
  await onRoot(path, later, async ({ root: open }) => {
    for (const date of ['2026-05-01', '2026-05-02']) await open.compactDay(date, MONTH_LATER_MS);
    await open.compactMonth('2026-05', MONTH_LATER_MS);
  });
  await onRoot(path, later, async ({ session }) => {
    await session.rebuild('2026-05-01');
    await session.finishDates();
  });
}
