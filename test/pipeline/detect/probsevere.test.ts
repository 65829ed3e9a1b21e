import test from 'ava';
import { type CellShape, findCells, findObjects } from '../../../pipeline/detect/cells.ts';
import { matchObjects } from '../../../pipeline/detect/probsevere.ts';
import { type HailField, scanOfMesh } from '../../../pipeline/grid.ts';
import type { ProbSevereObject } from '../../../schemas/tables/probsevere.ts';
import { draw } from '../../support/data/draw.ts';

const SCAN_TIME = Date.UTC(2026, 4, 1, 20, 12);

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
    scan_time: SCAN_TIME,
    valid_time: SCAN_TIME,
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
  matchObjects(field, cellsOf(field), objects, SCAN_TIME).map((match) => match?.probsevere_id ?? null);

test('a cell belongs to the object that holds it, with its probability', (t) => {
  const matches = matchObjects(FIELD, cellsOf(FIELD), [object('7', [1499, 3499, 1502, 3507])], SCAN_TIME);
  t.like(matches[0], { probsevere_id: '7', probability: 0.4, capped: false });
  t.is(matches[0]?.object.melting_level_km, 3.5);
  t.is(matches[1], null);
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

test('several cells may share one object', (t) => {
  t.deepEqual(ids([object('1', [1490, 3490, 1510, 3530])]), ['1', '1']);
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
    valid_time: SCAN_TIME - 3 * 60_000,
    speed_kmh: 60,
    direction_deg: 0,
  });
  t.is(ids([moving])[0], '1');
  t.is(ids([{ ...moving, direction_deg: 180 }])[0], null);
  t.is(ids([{ ...moving, speed_kmh: null }])[0], null);
});

test('objects more than 5 minutes from the scan are not used', (t) => {
  const at = (minutes: number) =>
    ids([object('1', [1490, 3490, 1510, 3510], { valid_time: SCAN_TIME - minutes * 60_000 })])[0];
  t.deepEqual([at(5), at(5.1), at(-5), at(-5.1)], ['1', null, '1', null]);
});

test('a cell below half of the MESH of its object is capped', (t) => {
  const capped = (mesh_mm: number | null) =>
    matchObjects(FIELD, cellsOf(FIELD), [object('1', [1490, 3490, 1510, 3510], { mesh_mm })], SCAN_TIME)[0]?.capped;
  t.deepEqual([capped(60), capped(60.3), capped(null)], [false, true, false]);
});

test('without objects no cell has one', (t) => {
  t.deepEqual(ids([]), [null, null]);
  t.deepEqual(matchObjects(FIELD, [], [object('1', [1490, 3490, 1510, 3510])], SCAN_TIME), []);
});

test('storm cells match like plain objects', (t) => {
  const input = scanOfMesh(SCAN_TIME, FIELD, false);
  const cells = findCells(input);
  t.is(matchObjects(FIELD, cells, [object('9', [1490, 3518, 1510, 3530])], SCAN_TIME)[1]?.probsevere_id, '9');
});
