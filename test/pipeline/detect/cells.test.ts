import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import fc from 'fast-check';
import weights from '../../../data/reference/hail-model.json' with { type: 'json' };
import { type CellShape, findCells, findObjects } from '../../../pipeline/detect/cells.ts';
import { detectionConfidence, findDetections } from '../../../pipeline/detect/detections.ts';
import { type DetectionHistory, emptyDetectionHistory } from '../../../pipeline/detect/history.ts';
import { labelComponents, labelHail } from '../../../pipeline/detect/label.ts';
import {
  cellPredictors,
  cellProbability,
  detectionPredictors,
  FEATURES,
  hailProbability,
  modelProbability,
  type Predictors,
  predictedSize,
} from '../../../pipeline/detect/predict.ts';
import { matchObjects, type ObjectMatch } from '../../../pipeline/detect/probsevere.ts';
import { placeQuality } from '../../../pipeline/detect/quality.ts';
import { latticeRows, measureShape } from '../../../pipeline/detect/shape.ts';
import { splitComponent } from '../../../pipeline/detect/split.ts';
import { BadInput } from '../../../pipeline/error.ts';
import type { CompanionValues, HailField, ScanInput } from '../../../pipeline/grid.ts';
import { hailField, readGrid } from '../../../pipeline/read/mrms.ts';
import { latRow, lonCol } from '../../../schemas/geo/lattice.ts';
import type { ProbSevereObject } from '../../../schemas/tables/radar.ts';
import { draw, drawTenths } from '../../support/data/draw.ts';
import { PROJECT, readDocument } from '../../support/data/markdown.ts';
import { NO_COMPANIONS, pluck } from '../../support/data/rows.ts';
import { sharedData, sharedTest } from '../../support/data/shared-data.ts';

/** What the cells of a scan were found by, as `processScan` hands it to `findDetections`. */
function foundCells(input: ScanInput, cells: readonly CellShape[] = findCells(input)) {
  const matches = matchObjects(input.mesh, cells, input.probsevere ?? [], input.scan_time);
  return { labels: labelHail(input.mesh), cells, matches };
}

const START = Date.UTC(2026, 4, 1, 20, 12);
const scan = (mesh: HailField, minute = 0, companions: Partial<CompanionValues> = {}): ScanInput => ({
  scan_time: START + minute * 60_000,
  simulated: false,
  mesh,
  companions: { ...NO_COMPANIONS, ...companions },
  uncovered: null,
  probsevere: null,
  products: ['MESH'],
});

test('a component becomes a cell when it reaches 15 mm over at least 4 km2', (t) => {
  const field = drawTenths([
    [60, 60, 60, 0, 149, 60, 60, 0, 150, 60],
    [60, 150, 0, 0, 60, 60, 0, 0, 60, 0],
  ]);
  // Five pixels with 15.0 mm; five with 14.9 mm; three, 2.8 km2, with 15.0 mm.
  const cells = findCells(scan(field));
  t.is(cells.length, 1);
  t.like(cells[0], { cell_index: 0, pixels: 5, estimated_size_mm: 15 });
});

test('cells grow down to 5.0 mm and not below', (t) => {
  const [cell] = findCells(scan(drawTenths([[49, 50, 150, 50, 50, 50, 49]])));
  t.deepEqual([cell?.col_min, cell?.col_max, cell?.pixels], [3501, 3505, 5]);
});

test('two storms in contact are two cells, numbered by first pixel', (t) => {
  const field = draw(`
    1 1 1 1 1 1 1 1 1 1 1 1 1
    1 3 3 3 1 1 1 1 1 4 4 4 1
    1 3 4 3 1 1 1 1 1 4 5 4 1
    1 3 3 3 1 1 1 1 1 4 4 4 1
    1 1 1 1 1 1 1 1 1 1 1 1 1`);
  const cells = findCells(scan(field));
  t.deepEqual(pluck(cells, 'cell_index'), [0, 1]);
  t.deepEqual(pluck(cells, 'estimated_size_mm'), [40, 50]);
});

test('a size above 150 mm is stored as 150 and flagged, above 110 mm only flagged', (t) => {
  const size = (tenths: number) => {
    const [cell] = findCells(scan(drawTenths([[tenths, 60, 60, 60, 60]])));
    return [cell?.estimated_size_mm, cell?.flag_extreme];
  };
  t.deepEqual(size(6805), [150, true]);
  t.deepEqual(size(1101), [110.1, true]);
  t.deepEqual(size(1100), [110, false]);
});

test('a companion is its largest known value over the cell, null without the product or any value', (t) => {
  const field = drawTenths([[200, 60, 60, 60, 60, 0, 90]]);
  const posh_pct = Float32Array.of(10, 30, Number.NaN, 20, 0, 90);
  const vil_kg_m2 = new Float32Array(6).fill(Number.NaN).fill(40, 5);
  const [cell] = findCells(scan(field, 0, { posh_pct, vil_kg_m2 }));
  t.deepEqual([cell?.posh_pct, cell?.vil_kg_m2, cell?.echo_top_18_km], [30, null, null]);
});

sharedTest('the real scan of 28 Feb 2024 has the five cells of the reference run', (t) => {
  const cells = findCells(scan(realField(SCAN)));
  const largest = cells.toSorted((a, b) => b.estimated_size_mm - a.estimated_size_mm);
  const areas_km2 = largest.map(({ area_km2 }) => Math.round(area_km2 * 10) / 10);
  t.deepEqual(areas_km2, [121.3, 66.5, 77.7, 59.9, 59.3]);
  t.deepEqual(pluck(largest, 'estimated_size_mm'), [20.8, 17.2, 16.1, 15.2, 15.1]);
  t.is(sum(pluck(cells, 'pixels')), 419);
  t.true(Math.abs(sum(pluck(cells, 'area_km2')) - 384.7036) < 1e-3);
});

for (const [time, objects, large] of [
  ['000000', 373, 77],
  ['001800', 386, 79],
  ['003800', 293, 56],
] as const)
  sharedTest(`the rain rate of ${time} has ${objects} objects >= 50 mm/h, ${large} of them with 8 pixels`, (t) => {
    const path = sharedData('mrms-sequence', `PrecipRate_00.00_20190610-${time}.grib2`);
    const field = hailField(readGrid(readFileSync(path), path));
    t.deepEqual([findObjects(field, 500, 1).length, findObjects(field, 500, 8).length], [objects, large]);
  });

/** Storms of nine pixels, `across` beside each other in each of `down` rows. */
function storms(across: number, down: number): HailField {
  const line = (wet: boolean) => Array.from({ length: 4 * across }, (_, col) => (wet && col % 4 < 3 ? 200 : 0));
  return drawTenths(Array.from({ length: 4 * down }, (_, row) => line(row % 4 < 3)));
}

test('a thousand storm cells are taken, and more are refused: no weather has so many', (t) => {
  t.is(findCells(scan(storms(40, 25))).length, 1000);
  const error = t.throws(() => findCells(scan(storms(77, 13))), { instanceOf: BadInput });
  t.is(error.message, 'detect 20260501T201200Z: 1001 storm cells, expected at most 1000 in one scan');
});

test('components are numbered by first pixel and carry pixels, maximum and exact area', (t) => {
  const field = draw(`
    . . 2 .
    1 . 3 .
    1 . . .`);
  const labels = labelComponents(field, 100, 8);
  t.deepEqual([...labels.label], [0, 1, 0, 1]);
  t.deepEqual([...labels.pixels], [2, 2]);
  t.deepEqual([...labels.max_tenths], [300, 100]);
  // Rows 1500 to 1502 lie at 40 N, where a pixel has 0.948 km2.
  t.true(labels.area_km2.every((area) => Math.abs(area - 2 * 0.9482) < 0.001));
});

/** Slow and obvious: visits one pixel after the other. */
function floodFill(values: number[][], min: number, connectivity: 4 | 8): number[][] {
  const labels = values.map((row) => row.map(() => -1));
  let count = 0;
  values.forEach((row, r) => {
    row.forEach((_, c) => {
      const open: [number, number][] = [[r, c]];
      let used = false;
      for (let next = open.pop(); next; next = open.pop()) {
        const [y, x] = next;
        if ((values[y]?.[x] ?? 0) < min || labels[y]?.[x] !== -1) continue;
        (labels[y] as number[])[x] = count;
        used = true;
        for (let dy = -1; dy <= 1; dy++)
          for (let dx = -1; dx <= 1; dx++)
            if (connectivity === 8 || Math.abs(dx) + Math.abs(dy) === 1) open.push([y + dy, x + dx]);
      }
      if (used) count++;
    });
  });
  return labels;
}

const side = fc.integer({ min: 1, max: 9 });
const picture = fc.tuple(side, side).chain(([rows, cols]) => {
  const row = fc.array(fc.constantFrom(0, 0, 40, 60, 120), { minLength: cols, maxLength: cols });
  return fc.array(row, { minLength: rows, maxLength: rows });
});

test('labels equal those of a slow flood fill', (t) => {
  const property = fc.property(picture, fc.constantFrom(4 as const, 8 as const), (values, connectivity) => {
    const labels = labelComponents(drawTenths(values), 50, connectivity);
    const expected = floodFill(values, 50, connectivity);
    const wet = expected.flatMap((row, r) => row.filter((_, c) => values[r]?.[c] > 0));
    t.deepEqual([...labels.label], wet);
  });
  fc.assert(property, { numRuns: 300 });
});

const realField = (name: string): HailField => {
  const path = sharedData('mrms', name);
  return hailField(readGrid(readFileSync(path), path));
};
const SCAN = 'MRMS_MESH_00.50_20240228-025239.grib2';
const DAY = 'MRMS_MESH_Max_1440min_00.50_20240228-100000.grib2';

interface Row {
  readonly mm: number;
  readonly pixels: number;
  readonly area_km2: number;
  readonly objects8: number;
  readonly objects4: number;
  readonly largest_km2: number;
}
const rows = (lines: number[][]): Row[] =>
  lines.map(
    ([mm, pixels, area_km2, objects8, objects4, largest_km2]) =>
      ({ mm, pixels, area_km2, objects8, objects4, largest_km2 }) as Row,
  );

/** mm, pixels, area, components with 8 and 4 neighbours, largest with 8: measured with scipy and the ellipsoid. */
const REAL = {
  [SCAN]: rows([
    [5, 530, 486.8279, 12, 14, 121.2742],
    [10, 153, 140.5813, 8, 9, 30.5669],
    [15, 16, 14.715, 7, 8, 4.6321],
    [19, 2, 1.8528, 1, 1, 1.8528],
  ]),
  [DAY]: rows([
    [5, 57653, 53167.498, 2281, 2896, 10538.5568],
    [10, 18651, 17253.9653, 822, 1002, 5781.7647],
    [15, 6723, 6248.6422, 333, 410, 1854.1164],
    [19, 2746, 2554.3145, 157, 198, 876.5096],
    [25, 882, 820.3107, 44, 54, 215.4742],
    [38, 91, 84.9898, 12, 16, 26.8213],
    [63, 3, 2.8536, 2, 2, 1.7587],
    [69, 2, 1.7587, 1, 1, 1.7587],
  ]),
};

/** Equal up to one millionth and the four decimals of the expected figures. */
const near = (found: number, expected: number) => Math.abs(found - expected) <= 1e-6 * expected + 5.1e-5;
const sum = (values: Iterable<number>) => [...values].reduce((total, value) => total + value, 0);

for (const [name, expected] of Object.entries(REAL))
  sharedTest(`components of ${name} are those that scipy finds`, (t) => {
    const field = realField(name);
    for (const { mm, pixels, area_km2, objects8, objects4, largest_km2 } of expected) {
      const eight = labelComponents(field, mm * 10, 8);
      const four = labelComponents(field, mm * 10, 4);
      t.deepEqual([sum(eight.pixels), eight.count, four.count], [pixels, objects8, objects4], `${mm} mm`);
      t.true(near(sum(eight.area_km2), area_km2), `${mm} mm`);
      t.true(near(Math.max(...eight.area_km2), largest_km2), `${mm} mm`);
    }
  });

const LAT = 40;
const KM_PER_ROW = 1.1104;
const KM_PER_COL = 1.1132 * Math.cos((LAT * Math.PI) / 180) * 1.0014;

const everything = (field: HailField) => Uint32Array.from(field.tenths.keys());
/** Largest MESH of each cell, mm. */
const peaks = (field: HailField, cells: readonly Uint32Array[]) =>
  cells.map((cell) => Math.max(...Array.from(cell, (pixel) => field.tenths[pixel])) / 10);

/** Two round storms of 40 mm and sigma 4 km side by side near 40 N, values from 5 mm. */
function twoStorms(distance_km: number): { field: HailField; mm: (east_km: number) => number } {
  const storm = (east: number, north: number) => 40 * Math.exp(-(east ** 2 + north ** 2) / (2 * 4 ** 2));
  const at = (east: number, north: number) =>
    storm(east - distance_km / 2, north) + storm(east + distance_km / 2, north);
  const values = Array.from({ length: 31 }, (_, r) =>
    Array.from({ length: 51 }, (_, c) => {
      const tenths = Math.round(10 * at((c - 25) * KM_PER_COL, (r - 15) * KM_PER_ROW));
      return tenths >= 50 ? tenths : 0;
    }),
  );
  return { field: drawTenths(values, { row0: 1485 }), mm: (east) => at(east, 0) };
}

/** Distance in sigma; peak, saddle and depth in mm; cells. */
for (const [sigmas, peak, saddle, depth, cells] of [
  [2, 48.52, 48.52, 0, 1],
  [2.5, 42.08, 36.63, 5.45, 1],
  [3, 40.47, 25.97, 14.5, 2],
  [4, 40.01, 10.83, 29.19, 2],
] as const)
  test(`two storms of 40 mm ${sigmas} sigma apart, ${depth} mm above the saddle, are ${cells} cells`, (t) => {
    const { field, mm } = twoStorms(4 * sigmas);
    const highest = Math.max(...Array.from({ length: 2001 }, (_, n) => mm((n - 1000) / 50)));
    t.true(Math.abs(highest - peak) < 0.006);
    t.true(Math.abs(mm(0) - saddle) < 0.006);
    t.true(Math.abs(highest - mm(0) - depth) < 0.011);
    t.is(splitComponent(field, everything(field)).length, cells);
  });

test('two peaks less than 5 km apart are one cell however deep the saddle', (t) => {
  const field = draw(`
    1 1 1 1 1 1 1 1
    1 5 5 1 1 5 5 1       4 columns are 3.4 km
    1 5 5 1 1 5 5 1
    1 5 5 1 1 5 5 1
    1 1 1 1 1 1 1 1`);
  t.is(splitComponent(field, everything(field)).length, 1);
});

test('a peak with a foot below 6 km2 does not stand apart', (t) => {
  const field = draw(`
    4 4 4 1 1 1 1 1 1 1 1
    4 5 4 1 1 1 1 1 1 1 1
    4 4 4 1 1 1 1 1 1 1 9       the mean of four pixels, 3.8 km2, feels the 90 mm`);
  t.is(splitComponent(field, everything(field)).length, 1);
});

test('a second peak that never reaches 15 mm stays part of its neighbour', (t) => {
  const rows = (second: number) =>
    Array.from({ length: 7 }, (_, r) =>
      Array.from({ length: 19 }, (_, c) => {
        const inCore = r > 0 && r < 6;
        if (inCore && c > 0 && c < 6) return 400;
        return inCore && c > 12 && c < 18 ? second : 50;
      }),
    );
  const weak = drawTenths(rows(149));
  const strong = drawTenths(rows(150));
  t.is(splitComponent(weak, everything(weak)).length, 1);
  t.is(splitComponent(strong, everything(strong)).length, 2);
});

test('one flickering pixel does not split a core', (t) => {
  const field = draw(`
    2 2 2 2 2 2 2 2 2
    2 3 3 3 3 3 3 3 2
    2 3 5 3 3 3 5 3 2
    2 3 3 3 3 3 3 3 2
    2 2 2 2 2 2 2 2 2`);
  t.is(splitComponent(field, everything(field)).length, 1);
});

test('pixels below the cell threshold that touch a pixel count in its mean', (t) => {
  // The saddle stands in 4 mm of weak echo: with it 6 x 10 + 3 x 4 over 9, without it 6 x 10 over 9.
  const field = draw(
    `
    4 4 4 4 4 4 4 4 4 4 4 4 4 4
    9 9 9 8 8 8 8 8 8 8 9 9 9 9
    9 9 9 8 8 8 8 8 8 8 9 9 9 9
    4 4 4 4 4 4 4 4 4 4 4 4 4 4`,
    { mm_per_digit: 1 },
  );
  const labels = labelComponents(field, 50, 8);
  const pixels = Uint32Array.from([...labels.label.keys()].filter((n) => labels.label[n] >= 0));
  t.is(pixels.length, 28);
  t.deepEqual(pluck(splitComponent(field, pixels), 'length'), [28]);
});

const rough = fc
  .array(fc.array(fc.integer({ min: 50, max: 600 }), { minLength: 14, maxLength: 14 }), { minLength: 9, maxLength: 9 })
  .map((coarse) =>
    // Three pixels to a value, so that peaks have room.
    Array.from({ length: 27 }, (_, r) =>
      Array.from({ length: 42 }, (_, c) => (coarse[Math.floor(r / 3)] as number[])[Math.floor(c / 3)]),
    ),
  );

test('every pixel belongs to exactly one cell, cells are connected and reach 15 mm', (t) => {
  let split = 0;
  const property = fc.property(rough, (values) => {
    const field = drawTenths(values);
    const cells = splitComponent(field, everything(field));
    if (cells.length > 1) split++;
    const pixels = cells.flatMap((cell) => [...cell]).sort((a, b) => a - b);
    t.deepEqual(pixels, [...field.tenths.keys()]);
    for (const cell of cells) {
      const alone = new Set(cell);
      const kept = values.map((row, r) => row.map((value, c) => (alone.has(r * 42 + c) ? value : 0)));
      t.is(labelComponents(drawTenths(kept), 1, 8).count, 1);
    }
    if (cells.length > 1) t.true(peaks(field, cells).every((mm) => mm >= 15));
  });
  fc.assert(property, { numRuns: 60 });
  t.true(split > 10);
});

sharedTest('the 91 cells of a real day split into 145, in the order of the reference run of about 150', (t) => {
  const field = realField(DAY);
  const labels = labelComponents(field, 50, 8);
  const members = Map.groupBy(labels.label.keys(), (pixel) => labels.label[pixel]);
  let cells = 0;
  for (const [component, pixels] of members) {
    if (component < 0 || labels.max_tenths[component] < 150) continue;
    const area_km2 = labels.area_km2[component];
    if (area_km2 < 4) continue;
    cells += area_km2 < 30 ? 1 : splitComponent(field, Uint32Array.from(pixels)).length;
  }
  t.is(cells, 145);
});

const measure = (field: HailField) => {
  const pixels = Uint32Array.from(field.tenths.keys());
  return measureShape(field, pixels, latticeRows(field, pixels));
};

test('rows of pixels are found across empty rows', (t) => {
  const field = draw(`
    . .
    1 1
    . .
    . 1`);
  t.deepEqual([...latticeRows(field, Uint32Array.of(0, 1, 2))], [1501, 1501, 1503]);
  t.deepEqual([...latticeRows(field, Uint32Array.of(2))], [1503]);
  t.deepEqual([...latticeRows(field, Uint32Array.of())], []);
});

test('the centroid weighs pixels with their size, the position only those of the core', (t) => {
  const shape = measure(draw('1 . . 5 5'));
  // Row 1500 lies at 39.995 N, column 3500 at 94.995 W.
  t.deepEqual(shape.centroid, { lat: 39.995, lon: -94.995 + 0.031818 });
  t.deepEqual(shape.core, { lat: 39.995, lon: -94.96 });
});

test('a pixel of exactly 70 % of the maximum belongs to the core, one below does not', (t) => {
  t.is(measure(drawTenths([[100, 70]])).core.lon, -94.990882);
  t.is(measure(drawTenths([[100, 69]])).core.lon, -94.995);
});

test('the largest pixel is the first of equals', (t) => {
  const shape = measure(draw('1 3 2 3'));
  t.like(shape, { peakIndex: 1, max_tenths: 300 });
});

test('the 90th percentile lies between ranks', (t) => {
  t.is(measure(drawTenths([[10, 20, 30, 40, 50, 60]])).p90_tenths, 55);
  t.is(measure(drawTenths([[70]])).p90_tenths, 70);
});

test('a round patch has the axes of a circle of its area', (t) => {
  const values = Array.from({ length: 41 }, (_, r) =>
    Array.from({ length: 41 }, (_, c) => (((r - 20) * 1.1113) ** 2 + ((c - 20) * 0.853) ** 2 <= 15 ** 2 ? 100 : 0)),
  );
  const { major_axis_km, minor_axis_km, area_km2 } = measure(drawTenths(values));
  t.true(Math.abs(major_axis_km - 30) < 0.6);
  t.true(Math.abs(minor_axis_km - 30) < 0.6);
  t.true(Math.abs(area_km2 / (Math.PI * 15 ** 2) - 1) < 0.02);
});

const line = (mark: (k: number, at: number) => boolean) =>
  drawTenths(Array.from({ length: 21 }, (_, r) => Array.from({ length: 21 }, (_, c) => (mark(r, c) ? 100 : 0))));

for (const [words, mark, direction_deg] of [
  ['north to south', (_: number, c: number) => c === 10, 0],
  ['west to east', (r: number) => r === 10, 90],
  // A pixel is 1.11 km high and 0.85 km wide at 40 N, so the diagonal runs 37.5 degrees from north.
  ['north-east', (r: number, c: number) => r + c === 20, 37.5],
  ['north-west', (r: number, c: number) => r === c, 142.5],
] as const)
  test(`a line from ${words} is oriented ${direction_deg} degrees`, (t) => {
    const { orientation_deg, major_axis_km, minor_axis_km } = measure(line(mark));
    const turned = Math.abs(orientation_deg - direction_deg);
    t.true(Math.min(turned, 180 - turned) < 0.3, `${orientation_deg}`);
    t.true(orientation_deg >= 0 && orientation_deg < 180);
    t.true(major_axis_km > 10 * minor_axis_km);
  });

const detect = (input: ScanInput, history: DetectionHistory = emptyDetectionHistory) =>
  findDetections(input, foundCells(input), history, null);
/** The last of some scans, two minutes apart, each with the history of the one before. */
function inTurn(fields: readonly HailField[], every_min = 2) {
  let history = emptyDetectionHistory;
  let last = detect(scan(draw('.')));
  fields.forEach((field, n) => {
    last = detect(scan(field, n * every_min), history);
    history = last.history;
  });
  return last;
}
const DRY = draw('. . . . . . . . .');

test('every pixel of at least 10.0 mm is one detection, in rows from north', (t) => {
  const field = drawTenths([
    [0, 99, 100],
    [250, 0, 50],
  ]);
  const { detections } = detect(scan(field));
  t.deepEqual(
    detections.map(({ row, col, lat, lon, estimated_size_mm: mm, geohash5 }) => [row, col, lat, lon, mm, geohash5]),
    [
      [1500, 3502, 39.995, -94.975, 10, '9zh7w'],
      [1501, 3500, 39.985, -94.995, 25, '9zh7q'],
    ],
  );
});

test('a detection knows its cell, and has none outside any', (t) => {
  const { detections } = detect(scan(drawTenths([[200, 60, 60, 60, 60, 0, 120]])));
  t.deepEqual(pluck(detections, 'cell_index'), [0, null]);
});

test('the confidence of a cell is that of its largest pixel', (t) => {
  const input = scan(draw('2 3 4 3 2 . . 2 2 2 3 2'));
  const { detections, cellConfidence } = detect(input);
  t.deepEqual(cellConfidence, [detections[2]?.confidence, detections[8]?.confidence]);
  t.true(cellConfidence[0] > cellConfidence[1]);
});

test('companions are those of the pixel; missing products and unknown values are null', (t) => {
  const [detection] = detect(
    scan(draw('2'), 0, { posh_pct: Float32Array.of(40), vil_kg_m2: Float32Array.of(Number.NaN) }),
  ).detections;
  t.deepEqual([detection?.posh_pct, detection?.vil_kg_m2, detection?.echo_top_18_km], [40, null, null]);
});

test('without a POSH product the row says null and the confidence still counts on SHI', (t) => {
  const [computed] = detect(scan(draw('5'))).detections;
  const [none] = detect(scan(draw('5'), 0, { posh_pct: Float32Array.of(0) })).detections;
  t.is(computed?.posh_pct, null);
  t.true((computed?.confidence as number) > (none?.confidence as number));
});

test('a size above 150 mm is stored as 150; above 110 mm it is flagged', (t) => {
  const { detections } = detect(scan(drawTenths([[6805, 1101, 1100]])));
  t.deepEqual(pluck(detections, 'estimated_size_mm'), [150, 110.1, 110]);
  t.deepEqual(pluck(detections, 'flag_extreme'), [true, true, false]);
});

for (const [words, rows, small] of [
  ['three pixels below 15 mm', [[60, 149, 60]], true],
  ['three pixels with 15 mm', [[60, 150, 60]], false],
  ['four pixels', [[60, 149, 60, 60]], false],
  ['three pixels and weaker echo around them', [[49, 60, 149, 60, 49]], true],
] as const)
  test(`a component of ${words} is ${small ? '' : 'not '}small`, (t) => {
    const [detection] = detect(scan(drawTenths(rows))).detections;
    t.is(detection?.flag_small, small);
  });

for (const [words, before, single] of [
  ['no echo before', [DRY, DRY], true],
  ['an echo 3 pixels away in the last scan', [DRY, draw('1 . . . . . . . .')], false],
  ['an echo 3 pixels away two scans ago', [draw('1 . . . . . . . .'), DRY], false],
  ['an echo 4 pixels away', [DRY, draw('. . . . . . . . 1')], true],
  ['an echo three scans ago', [draw('. . . 1'), DRY, DRY], true],
  ['an echo below 5 mm before', [DRY, drawTenths([[0, 0, 0, 49]])], true],
] as const)
  test(`an echo with ${words} is ${single ? '' : 'not '}flagged as seen in a single scan`, (t) => {
    const { detections } = inTurn([...before, draw('. . . 1 1 . . . .')]);
    t.deepEqual(pluck(detections, 'flag_single_scan'), [single, single]);
  });

test('an echo 3 rows away in the last scan counts, one 4 rows away does not', (t) => {
  const now = draw(`
    .
    .
    .
    .
    1`);
  const flags = ([3, 4] as const).map((rows) => {
    const before = drawTenths(Array.from({ length: 5 }, (_, r) => [r === 4 - rows ? 100 : 0]));
    return inTurn([DRY, before, now]).detections[0]?.flag_single_scan;
  });
  t.deepEqual(flags, [false, true]);
});

test('an echo of 19 mm is believed in its first scan, with all its weaker pixels', (t) => {
  const { detections } = inTurn([DRY, DRY, drawTenths([[120, 190]])]);
  t.true(detections.every(({ flag_single_scan }) => !flag_single_scan));
});

test('without an earlier scan in the last ten minutes nothing is held against an echo', (t) => {
  t.false(inTurn([draw('1')]).detections[0]?.flag_single_scan);
  t.false(inTurn([DRY, DRY, draw('1')], 11).detections[0]?.flag_single_scan);
  t.true(inTurn([DRY, DRY, draw('1')], 10).detections[0]?.flag_single_scan);
});

test('scan_count counts the scans with a detection in the same geohash5, this one included', (t) => {
  // Pixels 0 and 1 share a geohash5, pixel 8 lies in the next one.
  const { detections } = inTurn([draw('1'), draw('. 1'), DRY, draw('1 . . . . . . . 1')]);
  t.deepEqual(pluck(detections, 'scan_count'), [3, 1]);
});

test('a scan with several detections in one geohash5 counts once', (t) =>
  t.is(inTurn([draw('1 1 1'), draw('1')]).detections[0]?.scan_count, 2));

test('history stays bounded: four scans, and places of the last 30 minutes', (t) => {
  const fields = Array.from({ length: 40 }, (_, n) => drawTenths([[100 + n]], { col0: 3000 + 10 * n }));
  const { history } = inTurn(fields);
  t.is(history.scans.length, 4);
  // 30 minutes and both ends are 16 scans; two neighbouring ones may share a place.
  t.true(Object.keys(history.places).length <= 16);
});

test('history that went through a JSON checkpoint gives the same detections', (t) => {
  const fields = [draw('1 . . 2'), draw('. 1 . 2'), draw('. 1 . . . . 2')];
  const plain = inTurn(fields);
  let history: DetectionHistory = emptyDetectionHistory;
  let last = detect(scan(DRY));
  fields.forEach((field, n) => {
    last = detect(scan(field, 2 * n), JSON.parse(JSON.stringify(history)) as DetectionHistory);
    history = last.history;
  });
  t.deepEqual(last.detections, plain.detections);
  t.is(JSON.stringify(last.history), JSON.stringify(plain.history));
});

test('the history handed in is left as it was', (t) => {
  const first = detect(scan(draw('1'))).history;
  const before = JSON.stringify(first);
  detect(scan(draw('1 2'), 2), first);
  t.is(JSON.stringify(first), before);
});

sharedTest('the real scan of 28 Feb 2024 has 153 detections, two of them of 19 mm', (t) => {
  const { detections } = detect(scan(realField(SCAN)));
  t.is(detections.length, 153);
  t.is(detections.filter(({ estimated_size_mm }) => estimated_size_mm >= 19).length, 2);
  const largest = detections.reduce((a, b) => (b.estimated_size_mm > a.estimated_size_mm ? b : a));
  t.like(largest, { row: 1343, col: 4230, lat: 41.565, lon: -87.695, estimated_size_mm: 20.8 });
  t.true(detections.every(({ confidence }) => confidence > 0 && confidence < 1));
});

test('a few extreme pixels where it was dry have less confidence than where an echo lasts, or a wide one', (t) => {
  const confidence = (...fields: readonly HailField[]) => inTurn(fields).detections[0]?.confidence ?? Number.NaN;
  const spike = draw('. . . . 9');
  const dry = confidence(DRY, DRY, spike);
  t.true(dry < 0.5, `${dry}`);
  t.true(confidence(DRY, draw('. . . . 1'), spike) > dry + 0.3);
  t.true(confidence(DRY, DRY, draw('. . 9 9 9 9 9')) > dry + 0.3);
  t.true(confidence(spike) > dry + 0.3, 'without an earlier scan nothing is held against an echo');
});

for (const [mesh_mm, size_mm] of [
  [10, 13.6],
  [19, 20.2],
  [25, 23.9],
  [38, 31],
  [50, 36.8],
  [63, 42.5],
  [75, 47.3],
  [100, 56.6],
] as const)
  test(`a MESH of ${mesh_mm} mm predicts a report of ${size_mm} mm`, (t) => t.is(predictedSize(mesh_mm), size_mm));

test('predicted sizes stay within 5 and 120 mm, and MESH counts up to 150 mm', (t) => {
  t.is(predictedSize(0.8), 5);
  t.is(predictedSize(680), predictedSize(150));
  t.true(predictedSize(680) <= 120);
});

const UNKNOWN = { posh_pct: null, area_km2: null, growth_mm_per_min: null, duration_min: null };
const ALONE: Predictors = { mesh_mm: 25.4, echo_top_50_above_freezing_km: null, ...UNKNOWN };

const between = (min: number, max: number) => fc.double({ min, max, noNaN: true });
const maybe = (min: number, max: number) => fc.option(between(min, max), { nil: null });
const others = fc.record({
  posh_pct: maybe(0, 100),
  echo_top_50_above_freezing_km: maybe(-5, 15),
  area_km2: maybe(1, 5000),
  growth_mm_per_min: maybe(-10, 10),
  duration_min: maybe(0, 500),
});

test('the probability never falls when MESH rises, whatever else is known or missing', (t) => {
  const property = fc.property(others, between(1, 150), between(1, 150), (rest, a, b) => {
    const { probability: low } = hailProbability({ ...rest, mesh_mm: Math.min(a, b) });
    const { probability: high } = hailProbability({ ...rest, mesh_mm: Math.max(a, b) });
    t.true(low <= high);
    t.true(low >= 0.005 && high <= 0.995);
  });
  fc.assert(property, { numRuns: 500 });
});

test('with MESH alone the model stays within .16 of the one-variable law of ProbHail', (t) => {
  for (const mesh_mm of [10, 15, 19, 25.4, 30, 38, 50, 63]) {
    const law = 1 / (1 + Math.exp(0.26 - 3.63 * Math.log(mesh_mm / 25.4)));
    const { probability, out_of_range } = hailProbability({ ...ALONE, mesh_mm });
    t.true(Math.abs(probability - law) < 0.16, `${mesh_mm} mm: ${probability}, law ${law}`);
    t.false(out_of_range);
  }
});

test('a predictor outside what the model was fitted on is held at the edge and flagged', (t) => {
  const edge = hailProbability({ ...ALONE, area_km2: Math.exp(weights.terms.ln_area.high) });
  const far = hailProbability({ ...ALONE, area_km2: 1e6 });
  t.true(far.out_of_range);
  t.is(far.probability, edge.probability);
});

test('a missing predictor is taken at its mean at such a MESH, and its shift is added', (t) => {
  const term = { weight: 0, mean: 0, scale: 1, low: -100, high: 100, missing: { base: 0, slope: 0, shift: 0 } };
  const model: Parameters<typeof modelProbability>[0] = {
    version: 'test',
    intercept: 0,
    terms: {
      ...(Object.fromEntries(FEATURES.map((feature) => [feature, term])) as typeof weights.terms),
      echo_top_50_above_freezing: { ...term, weight: 1, missing: { base: 0.5, slope: 2, shift: -1.25 } },
    },
    curve: { score: [0, 10], probability: [0, 1] },
  };
  const expected = 0.5 + 2 * Math.log(25.4) - 1.25;
  t.is(modelProbability(model, ALONE).probability, Math.round(expected * 1000) / 10_000);
  t.is(modelProbability(model, { ...ALONE, echo_top_50_above_freezing_km: 3 }).probability, 0.3);
});

const match = (probability: number, capped: boolean): ObjectMatch => ({
  probsevere_id: '1',
  probability,
  capped,
  object: { model: 'probsevere-3' } as ProbSevereObject,
});

test('a cell with a ProbSevere object takes its probability and its model version', (t) =>
  t.deepEqual(cellProbability(ALONE, match(0.07, false)), {
    probability: 0.07,
    model_version: 'probsevere-3',
    out_of_range: false,
  }));

test('a capped cell takes the smaller of its object and of the small model', (t) => {
  t.deepEqual(cellProbability(ALONE, match(0.99, true)), hailProbability(ALONE));
  t.is(cellProbability(ALONE, match(0.01, true)).model_version, 'probsevere-3');
});

test('a cell without an object takes the small model, and the version says so', (t) => {
  const found = cellProbability(ALONE, null);
  t.deepEqual(found, hailProbability(ALONE));
  t.regex(found.model_version, /^hail-lr-\d/);
});

test('the weights are a small file with version, hash, seed and scores, and a curve of at most 30 knots; the card names them', (t) => {
  t.true(statSync(join(PROJECT, 'data/reference/hail-model.json')).size < 10_000);
  t.regex(weights.training.training_sha256, /^[0-9a-f]{64}$/);
  const card = readDocument('data/reference/model-card.md');
  t.true(card.includes(`# Model card: ${weights.version}\n`) && card.includes(weights.training.training_sha256));
  t.is(weights.training.version, weights.version);
  t.true(Number.isInteger(weights.training.seed));
  t.true(weights.curve.score.length <= 30);
  for (const metrics of Object.values(weights.training.held_out)) t.true(metrics.ece <= 0.05);
});

const SCAN_TIME = Date.UTC(2026, 5, 1, 20, 12);
const pixels = (value: number) => Float32Array.of(value, value, value, value, value);
const INPUT: ScanInput = {
  scan_time: SCAN_TIME,
  simulated: false,
  mesh: draw('3 3 3 3 3'),
  companions: {
    posh_pct: pixels(60),
    vil_kg_m2: pixels(42),
    echo_top_18_km: pixels(12),
    echo_top_50_km: pixels(9),
    max_reflectivity_dbz: null,
  },
  uncovered: null,
  probsevere: null,
  products: ['MESH'],
};

test('predictors of a cell are its companions, its area and what its track knows', (t) => {
  const [cell] = findCells(INPUT);
  if (!cell) return t.fail('no cell');
  const predictors = cellPredictors(cell, SCAN_TIME, { growth_mm_per_min: 0.5, duration_min: 12 });
  t.like(predictors, { mesh_mm: 30, posh_pct: 60, growth_mm_per_min: 0.5, duration_min: 12 });
  t.is(predictors.area_km2, cell.area_km2);
  // June at 40 N: 4.2 km, and 0.2 km more on a hail day.
  t.true(Math.abs((predictors.echo_top_50_above_freezing_km ?? 0) - (9 - 4.4)) < 0.02);
});

test('a detection outside every cell has the area of its component and no past', (t) => {
  const { detections, component_area_km2 } = findDetections(INPUT, foundCells(INPUT, []), emptyDetectionHistory, null);
  const [detection] = detections;
  const [area_km2] = component_area_km2;
  if (!detection || area_km2 === undefined) return t.fail('no detection');
  t.true(Math.abs(area_km2 - 5 * 0.949) < 0.02, `${area_km2} km2`); // five pixels at 40 N
  t.like(detectionPredictors(detection, area_km2), {
    mesh_mm: 30,
    posh_pct: 60,
    area_km2,
    growth_mm_per_min: null,
    duration_min: null,
  });
});

test('predictors of missing products are null', (t) => {
  const companions = { ...INPUT.companions, posh_pct: null, echo_top_50_km: null };
  const [cell] = findCells({ ...INPUT, companions });
  if (!cell) return t.fail('no cell');
  const predictors = cellPredictors(cell, SCAN_TIME, { growth_mm_per_min: null, duration_min: null });
  t.deepEqual([predictors.posh_pct, predictors.echo_top_50_above_freezing_km], [null, null]);
});

test('without POSH the melting level of the matched ProbSevere object goes into the confidence', (t) => {
  const confidence = (melting_level_km: number) => {
    const object = {
      valid_time: SCAN_TIME,
      probsevere_id: '1',
      lat: 40,
      lon: -95,
      prob_hail: 0.5,
      mesh_mm: 30,
      speed_kmh: null,
      direction_deg: null,
      melting_level_km,
      geometry: 'POLYGON ((-95.1 39.9, -94.8 39.9, -94.8 40.1, -95.1 40.1, -95.1 39.9))',
    } as ProbSevereObject;
    const input = { ...INPUT, companions: { ...INPUT.companions, posh_pct: null }, probsevere: [object] };
    return findDetections(input, foundCells(input), emptyDetectionHistory, null).cellConfidence[0];
  };
  t.true(confidence(2.5) > confidence(4.5));
});

test('the probability of a detection outside every cell is that of a cell of the same size, not of a large one', (t) => {
  const { detections, component_area_km2 } = findDetections(INPUT, foundCells(INPUT, []), emptyDetectionHistory, null);
  const [cell] = findCells(INPUT);
  const [detection] = detections;
  if (!detection || !cell) return t.fail('no detection');
  const alone = hailProbability(detectionPredictors(detection, component_area_km2[0])).probability;
  const past = { growth_mm_per_min: null, duration_min: null };
  t.is(alone, hailProbability(cellPredictors(cell, SCAN_TIME, past)).probability);
});

const PROBSEVERE_SCAN_TIME = Date.UTC(2026, 4, 1, 20, 12);

/** Object with a rectangular polygon in lattice rows and columns, edges on whole hundredths. */
function object(
  id: string,
  [row0, col0, row1, col1]: readonly [number, number, number, number],
  more: Partial<ProbSevereObject> = {},
): ProbSevereObject {
  const [north, west, south, east] = [55 - row0 / 100, -130 + col0 / 100, 55 - row1 / 100, -130 + col1 / 100];
  const ring = [west, east, east, west, west].map((lon, n) => `${lon} ${[south, south, north, north, south][n]}`);
  return {
    storm_date: '2026-05-01',
    scan_time: PROBSEVERE_SCAN_TIME,
    valid_time: PROBSEVERE_SCAN_TIME,
    probsevere_id: id,
    lat: (north + south) / 2,
    lon: (west + east) / 2,
    prob_hail: 0.4,
    prob_wind: null,
    prob_tornado: null,
    mesh_mm: 30,
    vil_density_g_m3: null,
    mucape_j_kg: null,
    effective_shear_kt: null,
    melting_level_km: 3.5,
    flash_rate_per_min: null,
    size_px: null,
    speed_kmh: null,
    direction_deg: null,
    flag_distrusted: false,
    flag_stale: false,
    model: 'probsevere-2',
    geometry: `POLYGON ((${ring.join(', ')}))`,
    ...more,
  };
}

const FIELD = draw('3 3 3 3 3 3 . . . . . . . . . . . . . . 2 2 2 2 2');
const cellsOf = (field: HailField): CellShape[] => findObjects(field, 50, 1);
const ids = (objects: readonly ProbSevereObject[], field = FIELD) =>
  matchObjects(field, cellsOf(field), objects, PROBSEVERE_SCAN_TIME).map((match) => match?.probsevere_id ?? null);

test('a cell belongs to the object that holds it, with its probability', (t) => {
  const matches = matchObjects(FIELD, cellsOf(FIELD), [object('7', [1499, 3499, 1502, 3507])], PROBSEVERE_SCAN_TIME);
  t.like(matches[0], { probsevere_id: '7', probability: 0.4, capped: false });
  t.deepEqual([matches[0]?.object.melting_level_km, matches[1]], [3.5, null]);
});

test('the object with the largest share of the pixels wins, whatever their order', (t) => {
  // Polygons grow by one pixel: columns 3500-3501 and one more against 3503-3505 and one more.
  const small = object('small', [1500, 3500, 1501, 3502]);
  const large = object('large', [1500, 3503, 1501, 3506]);
  t.is(ids([small, large])[0], 'large');
  t.is(ids([large, small])[0], 'large');
});

test('pixels just outside the ring count: rings run through the outer pixels', (t) => {
  // The ring ends half a pixel short of the cell's first column.
  t.is(ids([object('1', [1490, 3490, 1510, 3500])])[0], '1');
});

test('a cell outside every object takes the nearest one whose edge is within 5 km', (t) => {
  // 1.11 km a row: the edges are 3.9 and 5.0 km south of the row's centre, then 6.1 km.
  const at = (id: string, row: number) => object(id, [row, 3495, row + 10, 3510]);
  t.is(ids([at('far', 1505), at('near', 1504)])[0], 'near');
  t.is(ids([at('far', 1506)])[0], null);
});

test('an object is moved by its own motion to the time of the scan', (t) => {
  // 60 km/h towards the north for three minutes are 3 km, 2.7 rows.
  const moving = object('1', [1507, 3495, 1517, 3510], {
    valid_time: PROBSEVERE_SCAN_TIME - 3 * 60_000,
    speed_kmh: 60,
    direction_deg: 0,
  });
  t.is(ids([moving])[0], '1');
  t.is(ids([{ ...moving, direction_deg: 180 }])[0], null);
  t.is(ids([{ ...moving, speed_kmh: null }])[0], null);
});

test('objects more than 5 minutes from the scan are not used', (t) => {
  const at = (minutes: number) =>
    ids([object('1', [1490, 3490, 1510, 3510], { valid_time: PROBSEVERE_SCAN_TIME - minutes * 60_000 })])[0];
  t.deepEqual([at(5), at(5.1), at(-5), at(-5.1)], ['1', null, '1', null]);
});

test('a cell below half of the MESH of its object is capped', (t) => {
  const capped = (mesh_mm: number | null) =>
    matchObjects(FIELD, cellsOf(FIELD), [object('1', [1490, 3490, 1510, 3510], { mesh_mm })], PROBSEVERE_SCAN_TIME)[0]
      ?.capped;
  t.deepEqual([capped(60), capped(60.3), capped(null)], [false, true, false]);
});

const JUNE = Date.UTC(2026, 5, 15);
const at = (lat: number, lon: number, time_ms = JUNE) => placeQuality(latRow(lat), lonCol(lon), time_ms, null);

test('pixels of one 0.1 degree block share their quality', (t) => {
  t.is(at(35.5, -97.3), at(35.45, -97.25));
  t.not(at(35.5, -97.3), at(35.5, -97.45));
});

test('60 km from the radar of Oklahoma City detection is better than far out at sea', (t) => {
  t.true(at(35.33, -96.6).hdqi > 0.8);
  t.is(at(31, -125).hdqi, 0);
});

test('the freezing level follows the month, on a hail day', (t) => {
  t.true(Math.abs(at(39.95, -95, Date.UTC(2026, 0, 1)).freezing_level_km - (1.5 + 0.011 + 0.4)) < 0.02);
  t.true(Math.abs(at(39.95, -95, JUNE).freezing_level_km - (4.2 + 0.2)) < 0.02);
});

test('over high ground the freezing level is close to the ground: about 2.5 km at Denver in June', (t) => {
  const { freezing_above_ground_km } = at(39.8, -104.6);
  t.true(freezing_above_ground_km > 2.4 && freezing_above_ground_km < 2.9, `${freezing_above_ground_km}`);
});

const EVIDENCE = { mesh_mm: 25, scan_count: 2, posh_pct: 50, hdqi: 0.7, small: false, spike: false };

for (const more of [{ mesh_mm: 26 }, { scan_count: 3 }, { posh_pct: 60 }, { hdqi: 0.8 }] as const)
  test(`confidence rises with ${Object.keys(more)[0]}`, (t) =>
    t.true(detectionConfidence({ ...EVIDENCE, ...more }) > detectionConfidence(EVIDENCE)));

test('scans beyond the fifth add nothing', (t) =>
  t.is(detectionConfidence({ ...EVIDENCE, scan_count: 9 }), detectionConfidence({ ...EVIDENCE, scan_count: 5 })));

test('a small echo has odds lower by the factor e', (t) => {
  const odds = (p: number) => p / (1 - p);
  const plain = odds(detectionConfidence(EVIDENCE));
  t.true(Math.abs(plain / odds(detectionConfidence({ ...EVIDENCE, small: true })) - Math.E) < 1e-9);
});
