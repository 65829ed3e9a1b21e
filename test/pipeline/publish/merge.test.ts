import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import fc from 'fast-check';
import { openEngine } from '../../../pipeline/duckdb.ts';
import type { CompanionValues } from '../../../pipeline/grid.ts';
import { mergedDayMax } from '../../../pipeline/publish/merge.ts';
import { stageRows } from '../../../pipeline/publish/tables.ts';
import { emptyMaximum, maximumRows, type ScanOfDay, updateDayMaximum } from '../../../pipeline/swath/accumulate.ts';
import { type DayMax, dayMax } from '../../../schemas/tables/day-max.ts';
import { drawTenths } from '../../support/data/draw.ts';
import { DAY, DAY_MS, dayMaxRow } from '../../support/data/rows.ts';
import { scratch } from '../../support/data/world.ts';

const at = (minute: number) => DAY_MS + minute * 60_000;
const NO_COMPANIONS: CompanionValues = {
  posh_pct: null,
  vil_kg_m2: null,
  echo_top_18_km: null,
  echo_top_50_km: null,
  max_reflectivity_dbz: null,
};

/** What several files of day maxima add up to. */
async function merged(t: ExecutionContext, ...files: readonly (readonly Partial<DayMax>[])[]): Promise<DayMax[]> {
  const engine = await openEngine();
  t.teardown(() => engine.close());
  const folder = await scratch(t);
  const paths = files.map((_, index) => join(folder, `${index}.parquet`));
  for (const [index, rows] of files.entries())
    await stageRows(engine, dayMax, rows.map(dayMaxRow), paths[index] as string, 'observed');
  const rows = await engine.rows<DayMax>(`${mergedDayMax(paths, null)} ORDER BY "row", col, interpolated`);
  return rows.map((row) => ({ ...row, storm_date: DAY }));
}

test('the larger value of a pixel wins, with its time, confidence and companions', async (t) => {
  const [row, ...more] = await merged(
    t,
    [{ max_mm: 20, max_time: at(0), confidence: 0.2, vil_kg_m2: 30 }],
    [{ max_mm: 40, max_time: at(2), confidence: 0.7, vil_kg_m2: null }],
    [{ max_mm: 30, max_time: at(4), confidence: 0.9, vil_kg_m2: 50 }],
  );
  t.deepEqual(more, []);
  t.deepEqual([row?.max_mm, row?.max_time, row?.confidence, row?.vil_kg_m2], [40, at(2), 0.7, null]);
});

test('of equal values the earliest wins, in whatever order the files come', async (t) => {
  const [early, late] = [
    { max_mm: 40, max_time: at(2), confidence: 0.1 },
    { max_mm: 40, max_time: at(8), confidence: 0.9 },
  ];
  t.is((await merged(t, [early], [late]))[0]?.confidence, 0.1);
  t.is((await merged(t, [late], [early]))[0]?.confidence, 0.1);
});

test('times widen and counts add up; a stretch without a detection adds none', async (t) => {
  const [row] = await merged(
    t,
    [{ first_detected: at(4), last_detected: at(8), detection_scans: 3, severe_scans: 1 }],
    [{ first_detected: at(0), last_detected: at(2), detection_scans: 2, severe_scans: 0 }],
    [{ max_mm: 7, first_detected: null, last_detected: null, detection_scans: 0, severe_scans: 0, confidence: null }],
  );
  t.deepEqual([row?.first_detected, row?.last_detected, row?.detection_scans, row?.severe_scans], [at(0), at(8), 5, 1]);
});

test('what was filled in between scans stays a row of its own, where it is more than any scan saw', async (t) => {
  const filled = (col: number, max_mm: number) => ({
    col,
    max_mm,
    interpolated: true,
    confidence: null,
    first_detected: null,
    last_detected: null,
    detection_scans: 0,
  });
  const rows = await merged(
    t,
    [{ col: 1, max_mm: 30 }, { col: 2, max_mm: 30 }, filled(1, 40), filled(2, 20), filled(3, 12)],
    [{ col: 2, max_mm: 35 }, filled(3, 15)],
  );
  t.deepEqual(
    rows.map(({ col, max_mm, interpolated }) => [col, max_mm, interpolated]),
    [
      [1, 30, false],
      [1, 40, true],
      [2, 35, false],
      [3, 15, true],
    ],
  );
});

test('adding up in steps gives what adding up at once gives', async (t) => {
  const one = [{ max_mm: 20, max_time: at(0) }];
  const two = [{ max_mm: 40, max_time: at(2), detection_scans: 4 }];
  const three = [{ max_mm: 40, max_time: at(4), severe_scans: 2 }];
  const atOnce = await merged(t, one, two, three);
  t.deepEqual(await merged(t, await merged(t, one, two), three), atOnce);
  t.deepEqual(await merged(t, one, await merged(t, two, three)), atOnce);
});

/** A scan of two by two pixels so many minutes into the day; sizes in tenths of a millimetre. */
function scanAt(minute: number, tenths: readonly number[], filled: ScanOfDay['filled'] = []): ScanOfDay {
  const values = [tenths.slice(0, 2), tenths.slice(2)];
  const detections = values.flatMap((line, r) =>
    line.flatMap((value, c) => (value >= 100 ? [{ row: 1500 + r, col: 3500 + c, confidence: value / 1000 }] : [])),
  );
  return { scan_time: at(minute), mesh: drawTenths(values), companions: NO_COMPANIONS, detections, filled };
}

function maximumOf(scans: readonly ScanOfDay[]): DayMax[] {
  const maximum = emptyMaximum();
  for (const scan of scans) updateDayMaximum(maximum, scan);
  return maximumRows(maximum, DAY);
}

test('files of any split of the scans, merged in any order, give the rows of the whole day', async (t) => {
  const engine = await openEngine();
  t.teardown(() => engine.close());
  const folder = await scratch(t);
  const days = fc.uniqueArray(
    fc.record({
      minute: fc.integer({ min: 0, max: 200 }),
      tenths: fc.array(fc.integer({ min: 0, max: 400 }), { minLength: 4, maxLength: 4 }),
      file: fc.integer({ min: 0, max: 2 }),
    }),
    { selector: ({ minute }) => minute, minLength: 1, maxLength: 12 },
  );
  await fc.assert(
    fc.asyncProperty(days, fc.boolean(), async (day, backwards) => {
      const scans = day.map(({ minute, tenths, file }) => ({
        file,
        scan: scanAt(minute, tenths, [{ row: 1500, col: 3500 + file, mm: 20 + file, time: at(minute) }]),
      }));
      const paths: string[] = [];
      for (const [file, members] of Map.groupBy(scans, (one) => one.file)) {
        const path = join(folder, `${file}.parquet`);
        const rows = maximumOf(members.map(({ scan }) => scan));
        await stageRows(engine, dayMax, backwards ? rows.toReversed() : rows, path, 'observed');
        paths.push(path);
      }
      const query = mergedDayMax(backwards ? paths.toReversed() : paths, null);
      const merged = await engine.rows<DayMax>(`SELECT * FROM (${query}) ORDER BY "row", col, interpolated`);
      const whole = maximumOf(scans.map(({ scan }) => scan));
      t.deepEqual(
        merged.map((row) => ({ ...row, storm_date: DAY })),
        whole,
      );
    }),
    { numRuns: 25 },
  );
});
