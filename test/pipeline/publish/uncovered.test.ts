import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'ava';
import fc from 'fast-check';
import { type UncoveredPatch, uncoveredRows } from '../../../pipeline/derive/uncovered-rows.ts';
import { openEngine } from '../../../pipeline/duckdb.ts';
import { mergedUncovered } from '../../../pipeline/publish/merge.ts';
import { readRows, stageQuery, stageRows } from '../../../pipeline/publish/tables.ts';
import { frames } from '../../../schemas/tables/frames.ts';
import { uncovered } from '../../../schemas/tables/uncovered.ts';
import { frameRow } from '../../support/data/frame-row.ts';
import { DAY, DAY_MS } from '../../support/data/rows.ts';
import { scratch } from '../../support/data/world.ts';

/** Blocks of two rows, as runs that may touch. */
const PATCHES: readonly UncoveredPatch[] = [
  { row_first: 0, row_last: 9, col_first: 0, col_last: 19 },
  { row_first: 0, row_last: 9, col_first: 0, col_last: 29 },
  { row_first: 10, row_last: 19, col_first: 10, col_last: 19 },
  { row_first: 10, row_last: 14, col_first: 10, col_last: 19 },
];
const scanOf = (minute: number, held: readonly number[]) => ({
  storm_date: DAY,
  scan_time: DAY_MS + minute * 60_000,
  uncovered: held.map((index) => PATCHES[index] as UncoveredPatch),
});

test('what stays uncovered from scan to scan is one row, and a scan that covers it ends it', (t) => {
  const [first, second] = PATCHES as [UncoveredPatch, UncoveredPatch];
  const at = (minute: number) => DAY_MS + minute * 60_000;
  t.deepEqual(uncoveredRows([scanOf(0, [0]), scanOf(2, [0, 1]), scanOf(4, [1]), scanOf(30, [0, 1])]), [
    { storm_date: DAY, ...first, first_scan: at(0), last_scan: at(2), scans: 2 },
    { storm_date: DAY, ...second, first_scan: at(2), last_scan: at(30), scans: 3 },
    { storm_date: DAY, ...first, first_scan: at(30), last_scan: at(30), scans: 1 },
  ]);
});

test('rows of scans that are published in pieces and joined are those of all scans at once, however they are cut', async (t) => {
  const engine = await openEngine();
  t.teardown(() => engine.close());
  const folder = await scratch(t);
  const history = fc.array(
    fc.record({ held: fc.subarray([0, 1, 2, 3]), endsPiece: fc.boolean(), endsHour: fc.boolean() }),
    { minLength: 1, maxLength: 12 },
  );
  await fc.assert(
    fc.asyncProperty(history, async (drawn) => {
      const scans = drawn.map(({ held }, index) => scanOf(2 * index, held));
      const framePath = join(folder, 'frames.parquet');
      await stageRows(
        engine,
        frames,
        scans.map(({ scan_time }) => frameRow(DAY, scan_time)),
        framePath,
        'observed',
      );
      const merge = async (paths: readonly string[], name: string) => {
        const path = join(folder, `${name}.parquet`);
        await stageQuery(engine, uncovered, mergedUncovered(paths, [framePath]), path, 'observed');
        return path;
      };
      const hours: string[] = [];
      let pieces: string[] = [];
      let piece: (typeof scans)[number][] = [];
      for (const [index, scan] of scans.entries()) {
        piece.push(scan);
        const isLast = index === scans.length - 1;
        if (!isLast && !drawn[index]?.endsPiece) continue;
        const path = join(folder, `piece-${index}.parquet`);
        await stageRows(engine, uncovered, uncoveredRows(piece), path, 'observed');
        pieces.push(path);
        piece = [];
        if (!isLast && !drawn[index]?.endsHour) continue;
        hours.push(await merge(pieces, `hour-${index}`));
        pieces = [];
      }
      const whole = join(folder, 'whole.parquet');
      await stageRows(engine, uncovered, uncoveredRows(scans), whole, 'observed');
      t.deepEqual(
        await readRows(engine, uncovered, [await merge(hours, 'day')]),
        await readRows(engine, uncovered, [whole]),
      );
      for (const path of hours) await rm(path);
    }),
    { numRuns: 25 },
  );
});
