import test from 'ava';
import type { CompanionValues, HailField } from '../../../pipeline/grid.ts';
import {
  type DayMaximum,
  emptyMaximum,
  maximumRows,
  type ScanOfDay,
  updateDayMaximum,
} from '../../../pipeline/swath/accumulate.ts';
import { DayMax } from '../../../schemas/tables/day-max.ts';
import { drawTenths } from '../../support/data/draw.ts';
import { DAY, DAY_MS } from '../../support/data/rows.ts';

const NO_COMPANIONS: CompanionValues = {
  posh_pct: null,
  vil_kg_m2: null,
  echo_top_18_km: null,
  echo_top_50_km: null,
  max_reflectivity_dbz: null,
};

/** A scan so many minutes into the day; sizes in tenths of a millimetre, confidence 0.01 per mm. */
function scan(minute: number, values: number[][], companions = NO_COMPANIONS): ScanOfDay {
  const mesh: HailField = drawTenths(values);
  const detections = values.flatMap((line, r) =>
    line.flatMap((tenths, c) =>
      tenths >= 100 ? [{ row: 1500 + r, col: 3500 + c, confidence: Math.min(1, tenths / 1000) }] : [],
    ),
  );
  return { scan_time: DAY_MS + minute * 60_000, mesh, companions, detections, filled: [] };
}

/** A scan without hail whose storms passed over some pixels. */
function filling(...filled: ScanOfDay['filled']): ScanOfDay {
  return { ...scan(0, [[0]]), filled };
}

function maximumOf(...scans: ScanOfDay[]): DayMaximum {
  const maximum = emptyMaximum();
  for (const one of scans) updateDayMaximum(maximum, one);
  return maximum;
}

const minute = (time: number | null) => (time === null ? null : (time - DAY_MS) / 60_000);

test('one row per pixel from 5 mm on, with its place on the lattice', (t) => {
  const rows = maximumRows(maximumOf(scan(0, [[49, 50, 100]])), DAY);
  t.deepEqual(
    rows.map(({ row, col, lat, lon, geohash5, max_mm }) => ({ row, col, lat, lon, geohash5, max_mm })),
    [
      { row: 1500, col: 3501, lat: 39.995, lon: -94.985, geohash5: '9zh7w', max_mm: 5 },
      { row: 1500, col: 3502, lat: 39.995, lon: -94.975, geohash5: '9zh7w', max_mm: 10 },
    ],
  );
  for (const row of rows) t.deepEqual(DayMax.parse(row), row);
});

test('the maximum keeps its time, confidence and companions; times widen and counts add up', (t) => {
  const posh = (value: number) => ({
    ...NO_COMPANIONS,
    posh_pct: Float32Array.of(value),
    vil_kg_m2: Float32Array.of(Number.NaN),
  });
  const rows = maximumRows(
    maximumOf(
      scan(2, [[120]], posh(10)),
      scan(4, [[250]], posh(60)),
      scan(6, [[190]], posh(30)),
      scan(8, [[60]], posh(0)),
    ),
    DAY,
  );
  t.is(rows.length, 1);
  const {
    max_mm,
    max_time,
    first_detected,
    last_detected,
    detection_scans,
    severe_scans,
    confidence,
    posh_pct,
    vil_kg_m2,
  } = rows[0] as DayMax;
  t.deepEqual([max_mm, minute(max_time), minute(first_detected), minute(last_detected)], [25, 4, 2, 6]);
  t.deepEqual([detection_scans, severe_scans, confidence, posh_pct, vil_kg_m2], [3, 2, 0.25, 60, null]);
});

test('below 10 mm there is no detection: no times, no counts, no confidence', (t) => {
  const [row] = maximumRows(maximumOf(scan(0, [[99]])), DAY) as [DayMax];
  t.deepEqual([row.first_detected, row.last_detected, row.detection_scans, row.confidence], [null, null, 0, null]);
});

test('the earliest of equal maxima counts, whichever came first', (t) => {
  const later = maximumOf(scan(6, [[200]]), scan(4, [[200]]));
  t.is(minute((maximumRows(later, DAY)[0] as DayMax).max_time), 4);
});

test('sizes above 150 mm are stored as 150', (t) => {
  t.is((maximumRows(maximumOf(scan(0, [[6800]])), DAY)[0] as DayMax).max_mm, 150);
});

test('a filled pixel is marked, and gone once a scan has seen as much', (t) => {
  const maximum = maximumOf(scan(0, [[80, 80]]));
  updateDayMaximum(
    maximum,
    filling(
      { row: 1500, col: 3500, mm: 30, time: DAY_MS + 60_000 },
      { row: 1500, col: 3501, mm: 8, time: DAY_MS + 60_000 },
    ),
  );
  const mark = (row: DayMax) => [row.col, row.max_mm, row.interpolated];
  t.deepEqual(maximumRows(maximum, DAY).map(mark), [
    [3500, 8, false],
    [3500, 30, true],
    [3501, 8, false],
  ]);
  updateDayMaximum(maximum, scan(10, [[310, 0]]));
  t.deepEqual(maximumRows(maximum, DAY).map(mark), [
    [3500, 31, false],
    [3501, 8, false],
  ]);
});

test('a filled pixel counts no scan and has no detection times', (t) => {
  const maximum = maximumOf(filling({ row: 1500, col: 3500, mm: 30, time: DAY_MS }));
  const [row] = maximumRows(maximum, DAY) as [DayMax];
  t.deepEqual([row.detection_scans, row.severe_scans, row.first_detected, row.confidence], [0, 0, null, null]);
});

test('rows come in squares of half a degree, then by row and column', (t) => {
  const places = [
    [49, 50],
    [0, 49],
    [50, 0],
    [49, 0],
  ] as const;
  const maximum = maximumOf(filling(...places.map(([row, col]) => ({ row, col, mm: 10, time: DAY_MS }))));
  t.deepEqual(
    maximumRows(maximum, DAY).map(({ row, col }) => [row, col]),
    [
      [0, 49],
      [49, 0],
      [49, 50],
      [50, 0],
    ],
  );
});
