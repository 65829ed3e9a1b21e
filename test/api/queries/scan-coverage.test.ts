import { truncate, writeFile } from 'node:fs/promises';
import test, { type ExecutionContext } from 'ava';
import { coverageOf, readScanCoverage, readUncovered, type Uncovered } from '../../../api/queries/scan-coverage.ts';
import type { Bbox } from '../../../schemas/geo/position.ts';
import { archiveOf } from '../../support/data/uncovered-archive.ts';
import { scratch } from '../../support/data/world.ts';

/** Blocks of 0.1 degree from 36 N, 98 W: `x` uncovered. */
const PICTURE = ['......', '..xx..', '..xxx.', '......', '......'];
const UNCOVERED: Uncovered = {
  north: 36,
  west: -98,
  step_deg: 0.1,
  rows: PICTURE.length,
  cols: 6,
  runs: [
    [1, 2, 4],
    [2, 2, 5],
  ],
};

/** A box inside of the block of a row and a column. */
function blockBox(row: number, col: number): Bbox {
  const [north, west] = [36 - 0.1 * row, -98 + 0.1 * col];
  return [west + 0.04, north - 0.06, west + 0.06, north - 0.04];
}

/** Covered blocks around a block, counted in the picture. */
function counted(row: number, col: number): number {
  let found = 0;
  for (let r = row - 1; r <= row + 1; r++)
    for (let c = col - 1; c <= col + 1; c++) if (PICTURE[r]?.[c] === '.') found += 1;
  return found;
}

test('covered blocks are those that a box touches and their neighbours, inside the grid', (t) => {
  const { blocksOver } = coverageOf(UNCOVERED);
  for (let row = 0; row < PICTURE.length; row++)
    for (let col = 0; col < 6; col++) t.is(blocksOver(blockBox(row, col)), counted(row, col), `${row} ${col}`);
  t.is(blocksOver([-98, 35.5, -97.4, 36]), 25);
});

test('nothing is covered outside the grid', (t) => {
  const { blocksOver } = coverageOf(UNCOVERED);
  t.is(blocksOver([-90, 35, -89, 36]), 0);
  t.is(blocksOver([-97.9, 40, -97.8, 40.1]), 0);
});

async function archiveWith(t: ExecutionContext, uncovered: Uncovered | null): Promise<string> {
  const path = await scratch(t, 'scan.pmtiles');
  await writeFile(path, archiveOf(uncovered));
  return path;
}

test('the coverage of a scan is read from its archive', async (t) => {
  const coverage = await readScanCoverage(await archiveWith(t, UNCOVERED));
  t.is(coverage?.blocksOver([-98, 35.5, -97.4, 36]), 25);
});

test('of an archive that says nothing of coverage, or is gone, it is not known', async (t) => {
  t.is(await readScanCoverage(await archiveWith(t, null)), null);
  t.is(await readScanCoverage(await scratch(t, 'gone.pmtiles')), null);
});

test('an archive whose metadata lie behind what is read at once is read all the same', async (t) => {
  // Blocks without a pattern, which do not shrink when they are compressed.
  const runs = Array.from({ length: 9000 }, (_, k): [number, number, number] => [
    k,
    (k * 7919) % 3001,
    3001 + ((k * k) % 65_521),
  ]);
  const archive = archiveOf({ ...UNCOVERED, rows: 9000, cols: 65_522, runs });
  t.true(archive.length > 20_000);
  const path = await scratch(t, 'scan.pmtiles');
  await writeFile(path, archive);
  t.deepEqual((await readUncovered(path))?.runs, runs);
  await truncate(path, 17_000);
  await t.throwsAsync(readUncovered(path), { message: /ends in its metadata/ });
});

test('runs that are no three whole numbers are refused', async (t) => {
  for (const run of [[0, 1], [0, 1, 2.5], [0, -1, 2], [0, 1, '2'], null]) {
    const wrong: Uncovered = { ...UNCOVERED, runs: JSON.parse(JSON.stringify([run])) };
    await t.throwsAsync(readScanCoverage(await archiveWith(t, wrong)), { message: /expected runs of three/ });
  }
});

test('a file that is no archive, or is cut, is told', async (t) => {
  const text = await scratch(t, 'text.pmtiles');
  await writeFile(text, 'no archive');
  await t.throwsAsync(readScanCoverage(text), { message: /no PMTiles archive/ });
});
