import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { openEngine } from '../../../api/duckdb.ts';
import { gapsAt } from '../../../api/queries/point-gaps.ts';
import type { Uncovered } from '../../../api/queries/scan-coverage.ts';
import { openEngine as openWriter } from '../../../pipeline/duckdb.ts';
import { stageRows } from '../../../pipeline/publish/tables.ts';
import { frames } from '../../../schemas/tables/frames.ts';
import { frameRow } from '../../support/data/frame-row.ts';
import { archiveOf } from '../../support/data/uncovered-archive.ts';
import { scratch } from '../../support/data/world.ts';

const DATE = '2026-05-01';
const DAY_MS = Date.parse(`${DATE}T00:00:00Z`);
/** Four blocks of 0.1 degree from 36 N, 98 W. */
const GRID = { north: 36, west: -98, step_deg: 0.1, rows: 2, cols: 2 };
const ARCHIVES: Readonly<Record<string, Uncovered | null>> = {
  x: {
    ...GRID,
    runs: [
      [0, 1, 2],
      [1, 1, 2],
    ],
  },
  '?': null,
  '.': { ...GRID, runs: [] },
};
const COVERED = { lat: 35.95, lon: -97.95 };
const BARE = { lat: 35.95, lon: -97.85 };

/** A day with a scan for each letter: `x` does not cover the eastern column, `?` says nothing, `.` covers all. */
async function asking(t: ExecutionContext, scans: string) {
  const root = await scratch(t);
  await mkdir(root, { recursive: true });
  for (const [name, uncovered] of Object.entries(ARCHIVES))
    await writeFile(join(root, `${name}.pmtiles`), archiveOf(uncovered));
  const writer = await openWriter(root);
  const table = join(root, 'frames.parquet');
  const rows = [...scans].map((name, k) => frameRow(DATE, DAY_MS + k * 120_000, `${name}.pmtiles`));
  await stageRows(writer, frames, rows, table, 'simulated');
  writer.close();
  const engine = await openEngine(root);
  t.teardown(() => engine.close());
  const edition = { paths: () => [table], absolute: (path: string) => join(root, path) };
  return { root, ask: async (point: typeof COVERED) => (await gapsAt(engine, edition, point, [DATE])).get(DATE) };
}

test('scans without coverage are counted in the block of the point, all of them up to 24', async (t) => {
  const { ask } = await asking(t, '.x.xx.');
  t.deepEqual(await ask(BARE), { scans: 6, uncovered: 3 });
  t.deepEqual(await ask(COVERED), { scans: 6, uncovered: 0 });
  t.deepEqual(await ask({ lat: 40, lon: -97.95 }), { scans: 6, uncovered: 6 }, 'outside the grid nothing is covered');
});

test('of more scans 24 are looked at, spread over the date', async (t) => {
  const { ask } = await asking(t, 'x'.repeat(180) + '.'.repeat(540));
  t.deepEqual(await ask(BARE), { scans: 24, uncovered: 6 });
});

test('archives that say nothing do not count, and a date of which none does is left out', async (t) => {
  t.deepEqual(await (await asking(t, '?x.?')).ask(BARE), { scans: 2, uncovered: 1 });
  t.is(await (await asking(t, '??')).ask(BARE), undefined);
});

test('an archive that is gone is an error, and not a covered scan', async (t) => {
  const { root, ask } = await asking(t, '..x');
  await rm(join(root, 'x.pmtiles'));
  await t.throwsAsync(ask(BARE), { name: 'DataUnavailable', message: /x\.pmtiles is gone/ });
});
