import { readFileSync } from 'node:fs';
import test from 'ava';
import fc from 'fast-check';
import { findCells, findObjects } from '../../../pipeline/detect/cells.ts';
import { type Labels, labelComponents } from '../../../pipeline/detect/label.ts';
import { latticeRows, measureShape } from '../../../pipeline/detect/shape.ts';
import { splitComponent } from '../../../pipeline/detect/split.ts';
import { BadInput } from '../../../pipeline/error.ts';
import type { CompanionValues, HailField, ScanInput } from '../../../pipeline/grid.ts';
import { hailField, readGrid } from '../../../pipeline/read/mrms.ts';
import { draw, drawTenths } from '../../support/data/draw.ts';
import { sharedData, sharedTest } from '../../support/data/shared-data.ts';
import fixture from './label.fixture.json' with { type: 'json' };

const NONE: CompanionValues = {
  posh_pct: null,
  vil_kg_m2: null,
  echo_top_18_km: null,
  echo_top_50_km: null,
  max_reflectivity_dbz: null,
};
const scan = (mesh: HailField, companions: Partial<CompanionValues> = {}): ScanInput => ({
  scan_time: Date.UTC(2026, 4, 1, 20, 12),
  simulated: false,
  mesh,
  companions: { ...NONE, ...companions },
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
  t.deepEqual(
    cells.map(({ cell_index, pixels, estimated_size_mm }) => [cell_index, pixels, estimated_size_mm]),
    [[0, 5, 15]],
  );
});

test('cells grow down to 5.0 mm and not below', (t) => {
  const [cell] = findCells(scan(drawTenths([[49, 50, 150, 50, 50, 50, 49]])));
  t.deepEqual([cell?.col_min, cell?.col_max, cell?.pixels], [3501, 3505, 5]);
});

test('two storms in contact are two cells, numbered by first pixel', (t) => {
  const cells = findCells(
    scan(
      draw(`
    1 1 1 1 1 1 1 1 1 1 1 1 1
    1 3 3 3 1 1 1 1 1 4 4 4 1
    1 3 4 3 1 1 1 1 1 4 5 4 1
    1 3 3 3 1 1 1 1 1 4 4 4 1
    1 1 1 1 1 1 1 1 1 1 1 1 1`),
    ),
  );
  t.deepEqual(
    cells.map(({ cell_index, estimated_size_mm }) => [cell_index, estimated_size_mm]),
    [
      [0, 40],
      [1, 50],
    ],
  );
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
  const [cell] = findCells(
    scan(field, {
      posh_pct: Float32Array.of(10, 30, Number.NaN, 20, 0, 90),
      vil_kg_m2: Float32Array.of(Number.NaN, Number.NaN, Number.NaN, Number.NaN, Number.NaN, 40),
    }),
  );
  t.deepEqual([cell?.posh_pct, cell?.vil_kg_m2, cell?.echo_top_18_km], [30, null, null]);
});

test('objects are plain components: no peak, area or split rule, only a number of pixels', (t) => {
  const field = draw('1 1 . 1 1 1 . 9');
  t.deepEqual(
    findObjects(field, 100, 2).map(({ cell_index, pixels, col_min, estimated_size_mm }) => [
      cell_index,
      pixels,
      col_min,
      estimated_size_mm,
    ]),
    [
      [0, 2, 3500, 10],
      [1, 3, 3503, 10],
    ],
  );
});

test('a scan without hail has no cell', (t) => {
  t.deepEqual(findCells(scan(draw('. . x'))), []);
});

sharedTest('the real scan of 28 Feb 2024 has the five cells of the reference run', (t) => {
  const path = sharedData('mrms', 'MRMS_MESH_00.50_20240228-025239.grib2');
  const cells = findCells(scan(hailField(readGrid(readFileSync(path), path))));
  const largest = cells.toSorted((a, b) => b.estimated_size_mm - a.estimated_size_mm);
  t.deepEqual(
    largest.map(({ area_km2, estimated_size_mm }) => [Math.round(area_km2 * 10) / 10, estimated_size_mm]),
    [
      [121.3, 20.8],
      [66.5, 17.2],
      [77.7, 16.1],
      [59.9, 15.2],
      [59.3, 15.1],
    ],
  );
  t.is(
    cells.reduce((sum, cell) => sum + cell.pixels, 0),
    419,
  );
  t.true(Math.abs(cells.reduce((sum, cell) => sum + cell.area_km2, 0) - 384.7036) < 1e-3);
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

const counts = (picture: string, mm = 10) =>
  ([8, 4] as const).map((connectivity) => labelComponents(draw(picture), mm * 10, connectivity).count);

test('a corner joins pixels with 8 neighbours and not with 4', (t) => {
  t.deepEqual(
    counts(`
    1 .
    . 1`),
    [1, 2],
  );
});

test('a chessboard is one component with 8 neighbours and as many as its fields with 4', (t) => {
  t.deepEqual(
    counts(`
    1 . 1 . 1
    . 1 . 1 .
    1 . 1 . 1`),
    [1, 8],
  );
});

test('a spiral is one component', (t) => {
  t.deepEqual(
    counts(`
    1 1 1 1 1 1 1
    . . . . . . 1
    1 1 1 1 1 . 1
    1 . . . 1 . 1
    1 . 1 1 1 . 1
    1 . . . . . 1
    1 1 1 1 1 1 1`),
    [1, 1],
  );
});

test('the arms of a U are one component although they meet only at the bottom', (t) => {
  const labels = labelComponents(
    draw(`
    1 . . 1 . 2
    1 . . 1 . .
    1 1 1 1 . .`),
    100,
    4,
  );
  t.is(labels.count, 2);
  t.deepEqual([...labels.label], [0, 0, 1, 0, 0, 0, 0, 0, 0]);
});

test('a full row joins everything that hangs on it', (t) => {
  t.deepEqual(
    counts(`
    1 . 1 . 1 . 1
    1 1 1 1 1 1 1
    . 1 . 1 . 1 .`),
    [1, 1],
  );
});

test('a pixel below the threshold parts a row and keeps the label -1', (t) => {
  const labels = labelComponents(draw('3 1 3'), 200, 8);
  t.is(labels.count, 2);
  t.deepEqual([...labels.label], [0, -1, 1]);
});

test('columns on both sides of the window edge are not neighbours', (t) => {
  t.deepEqual(
    counts(`
    . . . 1
    1 . . .`),
    [2, 2],
  );
});

test('components are numbered by first pixel and carry pixels, maximum and exact area', (t) => {
  const labels = labelComponents(
    draw(`
    . . 2 .
    1 . 3 .
    1 . . .`),
    100,
    8,
  );
  t.deepEqual([...labels.label], [0, 1, 0, 1]);
  t.deepEqual([...labels.pixels], [2, 2]);
  t.deepEqual([...labels.max_tenths], [300, 100]);
  // Rows 1500 to 1502 lie at 40 N, where a pixel has 0.948 km2.
  t.true(labels.area_km2.every((area) => Math.abs(area - 2 * 0.9482) < 0.001));
});

test('a field without hail has no component', (t) => {
  t.is(labelComponents(draw('. x .'), 50, 8).count, 0);
});

for (const { p, mask, count4, count8, labels4, labels8 } of fixture.masks)
  test(`a random mask of density ${p} is labelled as by scipy`, (t) => {
    const field = drawTenths(mask.map((row) => [...row].map((mark) => (mark === '1' ? 100 : 0))));
    const four = labelComponents(field, 100, 4);
    const eight = labelComponents(field, 100, 8);
    t.deepEqual([four.count, eight.count], [count4, count8]);
    t.deepEqual([...four.label], labels4);
    t.deepEqual([...eight.label], labels8);
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

const picture = fc.tuple(fc.integer({ min: 1, max: 9 }), fc.integer({ min: 1, max: 9 })).chain(([rows, cols]) =>
  fc.array(fc.array(fc.constantFrom(0, 0, 40, 60, 120), { minLength: cols, maxLength: cols }), {
    minLength: rows,
    maxLength: rows,
  }),
);

test('labels equal those of a slow flood fill', (t) => {
  fc.assert(
    fc.property(picture, fc.constantFrom(4 as const, 8 as const), (values, connectivity) => {
      const labels = labelComponents(drawTenths(values), 50, connectivity);
      const expected = floodFill(values, 50, connectivity);
      t.deepEqual(
        [...labels.label],
        expected.flatMap((row, r) => row.filter((_, c) => values[r]?.[c] > 0)),
      );
    }),
    { numRuns: 300 },
  );
});

/** Sizes of the components, largest first. */
const sizes = (labels: Labels) => [...labels.pixels].sort((a, b) => b - a);
const turn = (values: number[][]) => (values[0] as number[]).map((_, c) => values.map((row) => row[c]).reverse());
const mirror = (values: number[][]) => values.map((row) => row.toReversed());

test('turning or mirroring a picture turns or mirrors its components', (t) => {
  fc.assert(
    fc.property(picture, fc.constantFrom(4 as const, 8 as const), (values, connectivity) => {
      const plain = sizes(labelComponents(drawTenths(values), 50, connectivity));
      t.deepEqual(sizes(labelComponents(drawTenths(turn(values)), 50, connectivity)), plain);
      t.deepEqual(sizes(labelComponents(drawTenths(mirror(values)), 50, connectivity)), plain);
    }),
    { numRuns: 100 },
  );
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

sharedTest('of 2281 real components 95 reach 15 mm and 91 of them have 4 km2', (t) => {
  const labels = labelComponents(realField(DAY), 50, 8);
  const peaks = [...labels.max_tenths.keys()].filter((n) => labels.max_tenths[n] >= 150);
  t.is(peaks.length, 95);
  t.is(peaks.filter((n) => labels.area_km2[n] >= 4).length, 91);
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
const TWO_STORMS = [
  [2, 48.52, 48.52, 0, 1],
  [2.5, 42.08, 36.63, 5.45, 1],
  [3, 40.47, 25.97, 14.5, 2],
  [4, 40.01, 10.83, 29.19, 2],
] as const;

for (const [sigmas, peak, saddle, depth, cells] of TWO_STORMS)
  test(`two storms of 40 mm ${sigmas} sigma apart, ${depth} mm above the saddle, are ${cells} cells`, (t) => {
    const { field, mm } = twoStorms(4 * sigmas);
    const highest = Math.max(...Array.from({ length: 2001 }, (_, n) => mm((n - 1000) / 50)));
    t.true(Math.abs(highest - peak) < 0.006);
    t.true(Math.abs(mm(0) - saddle) < 0.006);
    t.true(Math.abs(highest - mm(0) - depth) < 0.011);
    t.is(splitComponent(field, everything(field)).length, cells);
  });

test('two peaks with a deep saddle are two cells, by first pixel', (t) => {
  const field = draw(`
    1 1 1 1 1 1 1 1 1 1 1 1 1
    1 3 4 3 1 1 1 1 1 3 3 3 1
    1 4 5 4 1 1 1 1 1 3 4 3 1
    1 3 4 3 1 1 1 1 1 3 3 3 1
    1 1 1 1 1 1 1 1 1 1 1 1 1`);
  const cells = splitComponent(field, everything(field));
  t.deepEqual(peaks(field, cells), [50, 40]);
  t.is((cells[0]?.length ?? 0) + (cells[1]?.length ?? 0), 65);
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
  t.deepEqual(
    splitComponent(field, pixels).map((cell) => cell.length),
    [28],
  );
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
  fc.assert(
    fc.property(rough, (values) => {
      const field = drawTenths(values);
      const cells = splitComponent(field, everything(field));
      if (cells.length > 1) split++;
      t.deepEqual(
        cells.flatMap((cell) => [...cell]).sort((a, b) => a - b),
        [...field.tenths.keys()],
      );
      for (const cell of cells) {
        const alone = new Set(cell);
        const kept = values.map((row, r) => row.map((value, c) => (alone.has(r * 42 + c) ? value : 0)));
        t.is(labelComponents(drawTenths(kept), 1, 8).count, 1);
      }
      if (cells.length > 1) t.true(peaks(field, cells).every((mm) => mm >= 15));
    }),
    { numRuns: 60 },
  );
  t.true(split > 10);
});

test('a mirrored picture without equal values has mirrored cells', (t) => {
  // The second storm is weaker, and every pixel gets a value of its own.
  const values = Array.from({ length: 9 }, (_, r) =>
    Array.from({ length: 24 }, (_, c) => {
      const first = 4000 * Math.exp(-((r - 4) ** 2 + (c - 6) ** 2) / 12);
      const second = 3000 * Math.exp(-((r - 4) ** 2 + (c - 16) ** 2) / 12);
      return Math.round(first + second) + 500 + ((r * 24 + c) % 97);
    }),
  );
  const columns = (mirrored: boolean) => {
    const field = drawTenths(mirrored ? values.map((row) => row.toReversed()) : values);
    return splitComponent(field, everything(field))
      .map((cell) => Array.from(cell, (n) => (mirrored ? 23 - (n % 24) : n % 24) + 24 * Math.floor(n / 24)))
      .map((cell) => cell.sort((a, b) => a - b))
      .sort((a, b) => a[0] - b[0]);
  };
  t.is(columns(false).length, 2);
  t.deepEqual(columns(true), columns(false));
});

sharedTest('the 91 cells of a real day split into 145, in the order of the reference run of about 150', (t) => {
  const path = sharedData('mrms', 'MRMS_MESH_Max_1440min_00.50_20240228-100000.grib2');
  const field = hailField(readGrid(readFileSync(path), path));
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
  t.is(shape.peakIndex, 1);
  t.is(shape.max_tenths, 300);
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

test('one pixel has the axes of its own rectangle', (t) => {
  const { major_axis_km, minor_axis_km } = measure(draw('2'));
  t.true(Math.abs(major_axis_km - (4 * 1.1113) / Math.sqrt(12)) < 1e-9);
  t.true(minor_axis_km > 0.98 && minor_axis_km < 0.99);
});
