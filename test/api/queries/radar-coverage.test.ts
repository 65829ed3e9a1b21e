import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { openEngine } from '../../../api/duckdb.ts';
import { type CoverageEdition, radarCoverage } from '../../../api/queries/radar-coverage.ts';
import type { Uncovered as UncoveredRuns } from '../../../api/queries/scan-coverage.ts';
import { uncoveredRows } from '../../../pipeline/derive/uncovered-rows.ts';
import { openEngine as openWriter } from '../../../pipeline/duckdb.ts';
import { stageRows } from '../../../pipeline/publish/tables.ts';
import { latRow, lonCol } from '../../../schemas/geo/lattice.ts';
import { frames } from '../../../schemas/tables/frames.ts';
import { uncovered } from '../../../schemas/tables/uncovered.ts';
import { MS_PER_MIN } from '../../../schemas/time.ts';
import { frameRow } from '../../support/data/frame-row.ts';
import { archiveOf } from '../../support/data/uncovered-archive.ts';
import { scratch } from '../../support/data/world.ts';

const DATE = '2026-05-01';
const DAY_MS = Date.parse(`${DATE}T00:00:00Z`);
/** Four blocks of 0.1 degree from 36 N, 98 W, as in `frameRow`. */
const GRID = { north: 36, west: -98, step_deg: 0.1, rows: 2, cols: 2 };
const [ROW, COL] = [latRow(35.995), lonCol(-97.995)];
/** What scans do not cover, by letter: `x` the eastern column, `?` is not known, `.` nothing. */
const RUNS: Readonly<Record<string, UncoveredRuns['runs']>> = {
  x: [
    [0, 1, 2],
    [1, 1, 2],
  ],
  '.': [],
};
const COVERED = { lat: 35.95, lon: -97.95 };
const BARE = { lat: 35.95, lon: -97.85 };

const patchesOf = (letter: string) =>
  RUNS[letter]?.map(([row, start, end]) => ({
    row_first: ROW + 10 * row,
    row_last: ROW + 10 * row + 9,
    col_first: COL + 10 * start,
    col_last: COL + 10 * end - 1,
  })) ?? null;

interface Published {
  /** A letter for each scan, two minutes apart from the beginning of the date; a blank is no scan. */
  readonly [date: string]: string;
}

interface Settings {
  /** Scans say in their archives alone what they do not cover. */
  readonly old?: boolean;
  readonly closed?: boolean;
  /** Scans of a file. */
  readonly cut?: number;
}

/** Coverage of dates by their scans. */
async function asking(
  t: ExecutionContext,
  dates: Published,
  { old = false, closed = true, cut = 9999 }: Settings = {},
) {
  const root = await scratch(t);
  await mkdir(root, { recursive: true });
  for (const letter of ['x', '.', '?'])
    await writeFile(
      join(root, `${letter}.pmtiles`),
      archiveOf(RUNS[letter] === undefined ? null : { ...GRID, runs: RUNS[letter] }),
    );
  const writer = await openWriter(root);
  const listed = new Map<string, string[]>();
  for (const [date, letters] of Object.entries(dates)) {
    const start_ms = Date.parse(`${date}T00:00:00Z`);
    const scans = [...letters].flatMap((letter, k) =>
      letter === ' ' ? [] : [{ letter, storm_date: date, scan_time: start_ms + 2 * k * MS_PER_MIN }],
    );
    for (let from = 0; from < scans.length; from += cut) {
      const part = scans.slice(from, from + cut).map((scan) => ({
        ...scan,
        uncovered: old ? null : patchesOf(scan.letter),
      }));
      const rows = part.map(({ scan_time, letter, uncovered: patches }) => ({
        ...frameRow(date, scan_time, `${letter}.pmtiles`),
        uncovered_blocks: patches?.length ?? null,
      }));
      const stage = async (table: typeof frames | typeof uncovered, content: Iterable<Record<string, unknown>>) => {
        const path = join(root, `${table.name}-${date}-${from}.parquet`);
        await stageRows(writer, table, content, path, 'simulated');
        listed.set(`${table.name} ${date}`, [...(listed.get(`${table.name} ${date}`) ?? []), path]);
      };
      await stage(frames, rows);
      if (!old) await stage(uncovered, uncoveredRows(part));
    }
  }
  writer.close();
  const engine = await openEngine(root);
  t.teardown(() => engine.close());
  const newest = Object.keys(dates).toSorted().at(-1) as string;
  const edition: CoverageEdition = {
    paths: (table, asked) => asked.flatMap((date) => listed.get(`${table} ${date}`) ?? []),
    absolute: (path) => join(root, path),
    datesBetween: (first, last) =>
      Object.keys(dates)
        .filter((date) => date >= first && date <= last)
        .toSorted(),
    isClosed: () => closed,
    newest_scan_ms: Date.parse(`${newest}T00:00:00Z`) + 2 * ((dates[newest]?.length ?? 0) - 1) * MS_PER_MIN,
    holdsOlder: () => false,
  };
  const cover = (first = DATE, last = DATE) => radarCoverage(engine, edition, first, last, 0);
  return { root, cover, at: async (point: typeof COVERED) => (await cover()).at(point).get(DATE) };
}

const HALF = 'x'.repeat(360) + '.'.repeat(360);

for (const [what, settings] of [
  ['in one file', {}],
  ['in files of a few scans', { cut: 50 }],
  ['whose archives alone say what they do not cover', { old: true }],
] as const)
  test(`a point is seen by scans ${what} that cover its block, and outside the grid nothing is`, async (t) => {
    const { at } = await asking(t, { [DATE]: HALF }, settings);
    t.like(await at(COVERED), { share: 1, scans: 720, uncovered: 0, gaps: [], until_ms: null });
    t.like(await at(BARE), {
      ...{ share: 0.5, scans: 720, uncovered: 360 },
      gaps: [{ from_ms: DAY_MS, to_ms: DAY_MS + 720 * MS_PER_MIN }],
    });
    for (const outside of [
      { lat: 40, lon: -97.95 },
      { lat: 35.95, lon: 170 },
    ])
      t.like(await at(outside), { share: 0, scans: 720, uncovered: 720 });
  });

test('scans that are missing are a gap everywhere, and scans without coverage only there', async (t) => {
  const { at } = await asking(t, { [DATE]: `${'.'.repeat(300)}${' '.repeat(60)}${'x'.repeat(30)}${'.'.repeat(330)}` });
  const gap = (from: number, to: number) => ({ from_ms: DAY_MS + from * MS_PER_MIN, to_ms: DAY_MS + to * MS_PER_MIN });
  t.deepEqual((await at(COVERED))?.gaps, [gap(608, 720)]);
  t.deepEqual((await at(BARE))?.gaps, [gap(608, 780)]);
});

test('archives that say nothing tell of no gap: what they cover is not known', async (t) => {
  const { at } = await asking(t, { [DATE]: '?'.repeat(720) }, { old: true });
  t.like(await at(BARE), { share: 1, uncovered: 0 });
});

test('an archive that is gone is an error, and not a covered scan', async (t) => {
  const { root, at } = await asking(t, { [DATE]: HALF }, { old: true });
  await rm(join(root, 'x.pmtiles'));
  await t.throwsAsync(at(BARE), { name: 'DataUnavailable', message: /x\.pmtiles is gone/ });
});

test('a file that has gone is an error although it was read', async (t) => {
  const { root, at } = await asking(t, { [DATE]: HALF });
  await at(BARE);
  await rm(join(root, `uncovered-${DATE}-0.parquet`));
  await t.throwsAsync(at(BARE), { message: /uncovered-2026-05-01-0\.parquet/ });
});

test('a date that still runs counts up to its newest scan; one that is closed, or followed by another, to its end', async (t) => {
  const running = await asking(t, { [DATE]: '.'.repeat(60) }, { closed: false });
  t.like(await running.at(COVERED), { share: 1, until_ms: DAY_MS + 118 * MS_PER_MIN });
  const closed = await asking(t, { [DATE]: '.'.repeat(60) });
  t.like(await closed.at(COVERED), { share: 128 / 1440, until_ms: null });
  const followed = await asking(t, { [DATE]: '.'.repeat(60), '2026-05-02': '.' }, { closed: false });
  t.like(await followed.at(COVERED), { share: 128 / 1440, until_ms: null });
});

test('the first minutes of a date belong to the last scan of the date before, and of no other', async (t) => {
  const late = `  ${'.'.repeat(718)}`;
  const share = async (before: Published) => (await (await asking(t, { ...before, [DATE]: late })).at(BARE))?.share;
  t.is(await share({ '2026-04-30': '.'.repeat(720) }), 1);
  t.is(await share({ '2026-04-30': 'x'.repeat(720) }), 1436 / 1440);
  t.is(await share({ '2026-04-30': '.'.repeat(700) }), 1436 / 1440);
  t.is(await share({ '2026-04-29': '.'.repeat(720) }), 1436 / 1440);
});

test('a date that came without scans is of unknown coverage', async (t) => {
  const { cover } = await asking(t, { [DATE]: '', '2026-05-02': '.'.repeat(720) });
  const { at } = await cover(DATE, '2026-05-02');
  t.is(at(COVERED).get(DATE), null);
  t.is(at(COVERED).get('2026-05-02')?.share, 1);
});
