import test from 'ava';
import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import { CELL_LIMIT, CELLS_MAX, csvRows } from '../../../api/portfolio/csv.ts';
import { checkUpload } from '../../../api/portfolio/rows.ts';
import { findImpacts, type HailPixels, impactsPage, portfolioGaps } from '../../../api/queries/impacts.ts';
import { qualityAt } from '../../../api/rules/detection-quality.ts';
import { pixelKey } from '../../../api/rules/pixel-distance.ts';
import { radarCoverageOf } from '../../../api/rules/radar-coverage.ts';
import { destination, distanceKm } from '../../../schemas/geo/distance.ts';
import { colLon, rowLat } from '../../../schemas/geo/lattice.ts';
import type { Position } from '../../../schemas/geo/position.ts';
import { type PortfolioUpload, REJECTIONS } from '../../../schemas/resources/portfolio-upload.ts';
import { draw } from '../../support/data/draw.ts';

/** Cells of every row; the fault stands in for the cells of a bad one. */
function read(text: string): (readonly string[] | string)[] {
  return [...csvRows(text)].map(({ cells, fault }) => fault ?? cells);
}

test('reads cells verbatim, spaces and formulas included', (t) => {
  t.deepEqual(read('name,lat\n  Depot ,=1+1\n@x,-97'), [
    ['name', 'lat'],
    ['  Depot ', '=1+1'],
    ['@x', '-97'],
  ]);
});

test('takes LF and CRLF, mixed, with or without one at the end', (t) => {
  for (const text of ['a,b\r\nc,d\n', 'a,b\nc,d', 'a,b\r\nc,d\r\n'])
    t.deepEqual(read(text), [
      ['a', 'b'],
      ['c', 'd'],
    ]);
});

test('a byte order mark at the start is no part of the first cell', (t) => {
  t.deepEqual(read('\uFEFFname,lat\n\uFEFFx,1'), [
    ['name', 'lat'],
    ['\uFEFFx', '1'],
  ]);
});

test('a lone carriage return is part of its cell', (t) => {
  t.deepEqual(read('a\rb,c\n'), [['a\rb', 'c']]);
});

test('empty lines are no rows', (t) => {
  t.deepEqual(read('\n\na,b\n\r\n\nc,d\n\n'), [
    ['a', 'b'],
    ['c', 'd'],
  ]);
  t.deepEqual(read(''), []);
  t.deepEqual(read('\uFEFF'), []);
});

for (const [what, line, fault] of [
  ['a quote inside an unquoted cell', 'Joe "Red" Barn,41', 'a quote stands inside an unquoted cell'],
  ['text behind a closing quote', '"Barn" north,41', 'text stands behind a closing quote'],
] as const)
  test(`${what} spoils its row and none behind it`, (t) => {
    t.deepEqual(read(`name,lat\r\n${line}\r\ngood,42`), [['name', 'lat'], fault, ['good', '42']]);
  });

test('a quote that is never closed spoils the rest', (t) => {
  t.deepEqual(read('name,lat\n"open,41\nnext,42'), [['name', 'lat'], 'a quote is never closed']);
});

test('the cells before a fault are kept, to name the row', (t) => {
  t.deepEqual([...csvRows('loc_1,Depot,"x"y,3')][0]?.cells, ['loc_1', 'Depot']);
});

test('a cell may be as long as the limit and no longer', (t) => {
  const fits = 'x'.repeat(CELL_LIMIT);
  t.deepEqual(read(`${fits},1\n"${fits}",1\n${fits}x,2\n"${fits}x",3\nok,4`), [
    [fits, '1'],
    [fits, '1'],
    'a cell is over 65536 characters',
    'a cell is over 65536 characters',
    ['ok', '4'],
  ]);
});

test('a row may have as many cells as the limit and no more', (t) => {
  const commas = ','.repeat(CELLS_MAX - 1);
  t.deepEqual(read(`${commas}\n${commas},\nok`), [Array(CELLS_MAX).fill(''), 'the row has over 1000 cells', ['ok']]);
});

// In more than linear time these would take hours; how long they do take is the bench's to say.
for (const [what, unit] of [
  ['quotes in an unquoted cell', (n: number) => `a${'"'.repeat(n)}`],
  ['doubled quotes', (n: number) => `"${'""'.repeat(n / 2)}"`],
  ['quotes and letters', (n: number) => '"a'.repeat(n / 2)],
  ['lines of one quote', (n: number) => '"\n'.repeat(n / 2)],
  ['lines of an odd quote', (n: number) => 'a"\n'.repeat(n / 3)],
  ['commas', (n: number) => ','.repeat(n)],
  ['carriage returns', (n: number) => '\r'.repeat(n)],
  ['empty lines', (n: number) => '\n'.repeat(n)],
] as const)
  test(`5 MB of ${what} are read to their end`, (t) => {
    t.true([...csvRows(unit(5_000_000))].every((row) => Array.isArray(row.cells) || row.fault !== null));
  });

const cell = fc.string({ unit: fc.constantFrom('a', 'ß', '😀', ' ', ',', '"', '\n', '\r\n', '|', '='), maxLength: 8 });
const table = fc.array(fc.array(cell, { minLength: 2, maxLength: 4 }), { minLength: 1, maxLength: 6 });

test('what was quoted is read back, as csv-parse reads it too', (t) => {
  fc.assert(
    fc.property(table, fc.constantFrom('\n', '\r\n'), (rows, end) => {
      const text = rows.map((row) => row.map((one) => `"${one.replaceAll('"', '""')}"`).join(',')).join(end);
      t.deepEqual(read(text), rows);
      t.deepEqual(read(text), parse(text, { relax_column_count: true, record_delimiter: ['\r\n', '\n'] }));
    }),
  );
});

test('any text gives rows that end, whatever is wrong with it', (t) => {
  const text = fc.string({ unit: fc.constantFrom('a', ',', '"', '\n', '\r'), maxLength: 60 });
  fc.assert(
    fc.property(text, (given) => {
      const lines = given.split(/\r?\n/).filter((line) => line !== '').length;
      t.true([...csvRows(given)].length <= Math.max(lines, 1));
    }),
  );
});

const GOOD = { name: 'Depot', lat: 41.5, lon: -97.25 };

/** The only row of a JSON upload, checked. */
async function checked(row: unknown) {
  const data = [row] as Extract<PortfolioUpload, { format: 'json' }>['data'];
  return (await checkUpload({ format: 'json', data }))[0] ?? { reason: '' };
}

const checkedCsv = (data: string) => checkUpload({ format: 'csv', data });

test('a row needs a name and coordinates, no more', async (t) => {
  t.deepEqual(await checked(GOOD), { row_index: 0, id: null, ...GOOD, address: null, tags: null });
});

test('null in a JSON row means absent', async (t) => {
  t.deepEqual(await checked({ ...GOOD, id: null, address: null, tags: null }), await checked(GOOD));
});

test('an empty address and an empty list of tags are given, not absent', async (t) => {
  t.like(await checked({ ...GOOD, address: '', tags: [] }), { address: '', tags: [] });
});

test('fields that the service sets, and those that begin with _, are ignored', async (t) => {
  t.deepEqual(await checked({ ...GOOD, _owner: 'x', created_at: 'x', updated_at: 'y' }), await checked(GOOD));
});

for (const [row, reason] of [
  [17, 'malformed_row: the row is 17, expected an object'],
  [null, 'malformed_row: the row is null, expected an object'],
  [[1], 'malformed_row: the row is a list, expected an object'],
  [{ ...GOOD, adress: 'x' }, 'malformed_row: adress is not a field of a row, did you mean address?'],
  [{ ...GOOD, id: 5 }, 'malformed_row: id is 5, expected a text'],
  [{ ...GOOD, name: true }, 'malformed_row: name is true, expected a text'],
  [{ ...GOOD, address: {} }, 'malformed_row: address is an object, expected a text'],
  [{ lat: 41, lon: -97 }, 'missing_name: name is missing or blank'],
  [{ ...GOOD, name: ' \t ' }, 'missing_name: name is missing or blank'],
  [{ ...GOOD, name: 'x'.repeat(201) }, 'name_too_long: name is over 200 characters'],
  [{ name: 'a', lon: -97 }, 'invalid_coordinates: lat is missing'],
  [{ name: 'a', lat: 41, lng: -97 }, 'invalid_coordinates: lon is missing, use lon instead of lng'],
  [{ ...GOOD, lat: '41.5' }, "invalid_coordinates: lat is '41.5', expected a number from -90 to 90"],
  [{ ...GOOD, lat: 90.1 }, 'invalid_coordinates: lat is 90.1, expected a number from -90 to 90'],
  [{ ...GOOD, lon: -180.5 }, 'invalid_coordinates: lon is -180.5, expected a number from -180 to 180'],
  [{ ...GOOD, lon: [] }, 'invalid_coordinates: lon is a list, expected a number from -180 to 180'],
  [
    { name: 'a', lat: -97.25, lon: 41.5 },
    'invalid_coordinates: lat is -97.25, expected a number from -90 to 90, lat and lon look swapped',
  ],
  [{ name: 'a', lat: -80, lon: 41.5 }, 'outside_conus: lat is -80, expected 24 to 50, lat and lon look swapped'],
  [{ ...GOOD, lat: 50.001 }, 'outside_conus: lat is 50.001, expected 24 to 50'],
  [{ ...GOOD, lon: -65.999 }, 'outside_conus: lon is -65.999, expected -125 to -66'],
  [
    { ...GOOD, lon: 97.25 },
    'outside_conus: lon is 97.25, expected -125 to -66, longitudes west of Greenwich are negative',
  ],
  [{ ...GOOD, address: 'x'.repeat(501) }, 'address_too_long: address is over 500 characters'],
  [{ ...GOOD, tags: 'roof' }, "invalid_tags: tags are 'roof', expected a list of texts"],
  [{ ...GOOD, tags: ['a', 3] }, 'invalid_tags: tag 1 is 3, expected a text'],
  [{ ...GOOD, tags: ['a', ''] }, 'invalid_tags: tag 1 is empty'],
  [{ ...GOOD, tags: ['x'.repeat(65)] }, 'invalid_tags: tag 0 is over 64 characters'],
  [{ ...GOOD, tags: Array(21).fill('x') }, 'invalid_tags: there are 21 tags, expected at most 20'],
] as const)
  test(`rejects ${JSON.stringify(row).slice(0, 60)}: ${reason}`, async (t) => {
    t.like(await checked(row), { row_index: 0, reason });
    t.true(REJECTIONS.some((word) => reason.startsWith(`${word}: `)));
  });

test('the edges of CONUS belong to it', async (t) => {
  for (const lat of [24, 50])
    for (const lon of [-125, -66]) t.false('reason' in (await checked({ name: 'a', lat, lon })));
});

test('limits count characters, not UTF-16 units', async (t) => {
  t.false('reason' in (await checked({ ...GOOD, name: '🏠'.repeat(200) })));
  t.true('reason' in (await checked({ ...GOOD, name: '🏠'.repeat(201) })));
  t.false('reason' in (await checked({ ...GOOD, address: 'x'.repeat(500), tags: Array(20).fill('é'.repeat(64)) })));
});

test('a rejected row carries the text found as its name, or null', async (t) => {
  t.like(await checked({ name: 'Barn' }), { name: 'Barn' });
  t.like(await checked({ name: 9 }), { name: null });
  t.like(await checked([]), { name: null });
});

test('columns of a CSV are found in any case and order, others are ignored', async (t) => {
  t.deepEqual(await checkedCsv('Owner,LON,Lat, NAME \nme,-97.25,41.5,Depot'), [await checked(GOOD)]);
});

test('a column that a CSV lacks is absent, an empty cell is empty', async (t) => {
  t.like((await checkedCsv('name,lat,lon\nDepot,41.5,-97.25'))[0], { id: null, address: null, tags: null });
  t.like((await checkedCsv('id,name,lat,lon,address,tags\n,Depot,41.5,-97.25,,'))[0], {
    id: null,
    address: '',
    tags: [],
  });
});

test('tags of a CSV cell are separated by vertical bars', async (t) => {
  t.like((await checkedCsv('name,lat,lon,tags\nDepot,41.5,-97.25,roof|flat, metal'))[0], {
    reason: 'malformed_row: the row has 5 cells, expected 4',
  });
  t.like((await checkedCsv('name,lat,lon,tags\nDepot,41.5,-97.25,"roof|flat, metal"'))[0], {
    tags: ['roof', 'flat, metal'],
  });
});

for (const [row, reason] of [
  ['Depot,41.5', 'malformed_row: the row has 2 cells, expected 3'],
  ['Depot,41.5,-97,9', 'malformed_row: the row has 4 cells, expected 3'],
  ['De"pot,41.5,-97', 'malformed_row: a quote stands inside an unquoted cell'],
  ['Depot,,-97', 'invalid_coordinates: lat is missing'],
  ['Depot, 41.5,-97', "invalid_coordinates: lat is ' 41.5', expected a number from -90 to 90"],
  ['Depot,0x29,-97', "invalid_coordinates: lat is '0x29', expected a number from -90 to 90"],
  ['Depot,"41,5",-97', "invalid_coordinates: lat is '41,5', expected a number from -90 to 90"],
  ['Depot,NaN,-97', "invalid_coordinates: lat is 'NaN', expected a number from -90 to 90"],
  [',41.5,-97', 'missing_name: name is missing or blank'],
] as const)
  test(`rejects the CSV row ${row}: ${reason}`, async (t) => {
    t.like((await checkedCsv(`name,lat,lon\n${row}`))[0], { row_index: 0, reason });
  });

/** One detection in every pixel of a picture near 40 N, 95 W. */
function hail(picture: string): HailPixels {
  const { window, rowStart, col, tenths } = draw(picture);
  const pixels = new Map<number, { max_mm: number; detections: number }>();
  for (let row = 0; row < window.rows; row++)
    for (let k = rowStart[row]; k < rowStart[row + 1]; k++)
      pixels.set(pixelKey(window.row0 + row, col[k]), { max_mm: tenths[k] / 10, detections: 1 });
  return pixels;
}

/** Middle of the pixel in a row and column of the picture. */
function middle(row: number, col: number): Position {
  return { lat: rowLat(1500 + row), lon: colLon(3500 + col) };
}

/** The impact of a location at a position; null without one. */
async function impactOf(position: Position, pixels: HailPixels) {
  return (await findImpacts([{ id: 'loc_1', name: 'Depot', ...position }], pixels)).at(0) ?? null;
}

test('a location inside a pixel with a detection is 0 m from it', async (t) => {
  t.deepEqual(await impactOf(middle(1, 1), hail('. . .\n. 2 .\n. . .')), {
    location: { id: 'loc_1', name: 'Depot', ...middle(1, 1) },
    nearest_m: 0,
    max_mm: 20,
    detections: 1,
  });
});

test('size and detections are of all pixels within the mile, and of none beyond', async (t) => {
  const around = hail(`
    9 . . . . . .   the corners lie 1.9 km away or more,
    . . . 3 . . .   a pixel is 1.11 km high and 0.85 km wide
    . . 1 2 1 . .
    . . . 1 . . .
    9 . . . . . 9`);
  t.like(await impactOf(middle(2, 3), around), { max_mm: 30, detections: 5 });
});

test('a pixel reached only at its corner counts', async (t) => {
  const corner = { lat: rowLat(1500) - 0.005, lon: colLon(3500) + 0.005 };
  const inside = destination(corner, 135, 1.6093);
  const outside = destination(corner, 135, 1.6094);
  t.like(await impactOf(inside, hail('2')), { detections: 1 });
  t.is(Math.round((await impactOf(inside, hail('2')))?.nearest_m ?? 0), 1609);
  t.is(await impactOf(outside, hail('2')), null);
});

test('exactly a mile is within it, a millimetre more is not', async (t) => {
  const edge = { lat: rowLat(1500) - 0.005, lon: colLon(3500) };
  const at = (metres: number) => destination(edge, 180, metres / 1000);
  t.true(Math.abs(1000 * distanceKm(edge, at(1609.344)) - 1609.344) < 1e-6);
  t.not(await impactOf(at(1609.3439), hail('2')), null);
  t.is(await impactOf(at(1609.345), hail('2')), null);
});

test('pixels on the other side of the lattice are never near', async (t) => {
  const pixels = new Map([[pixelKey(1500, 0), { max_mm: 30, detections: 2 }]]);
  t.is(await impactOf({ lat: rowLat(1499), lon: colLon(6999) }, pixels), null);
});

test('locations without hail are left out, the others keep their order', async (t) => {
  const pixels = hail('2 . . . . . . . . 3');
  const locations = [9, 5, 0, 4].map((col, index) => ({ id: `loc_${index}`, name: 'Depot', ...middle(0, col) }));
  t.deepEqual(
    (await findImpacts(locations, pixels)).map(({ location }) => location.id),
    ['loc_0', 'loc_2'],
  );
  t.deepEqual(await findImpacts(locations, new Map()), []);
});

test('thousands of locations leave the event loop free every few milliseconds', async (t) => {
  const pixels = hail(Array(40).fill('2'.repeat(60)).join('\n'));
  const locations = Array.from({ length: 10_000 }, (_, k) => ({ id: `${k}`, name: '', ...middle(k % 40, k % 60) }));
  let turns = 0;
  const count = () => {
    turns++;
    timer = setImmediate(count);
  };
  let timer = setImmediate(count);
  t.is((await findImpacts(locations, pixels)).length, 10_000);
  clearImmediate(timer);
  t.true(turns >= 19);
});

const HIT = { nearest_m: 412.6, max_mm: 50.04, detections: 10 };
const impactsOf = (count: number) =>
  Array.from({ length: count }, (_, k) => ({
    location: { id: `loc_${k}`, name: `asset ${k}`, lat: 35.3, lon: -97.3 },
    ...HIT,
  }));

test('a page shows whole metres, tenths of a millimetre and the confidence of methodology 1.0.0', async (t) => {
  const { hdqi } = qualityAt({ lat: 35.3, lon: -97.3 }, 5, null).block;
  const sum = -1.2 + 1.6 * Math.log(50.04 / 19) + 0.25 * Math.log(11) + 0.8 * (hdqi - 0.5);
  t.deepEqual(await impactsPage(impactsOf(1), '2026-05-01', null, 50, null), {
    impacts: [
      {
        asset_id: 'loc_0',
        name: 'asset 0',
        nearest_detection_m: 413,
        max_size_mm: 50,
        ml_confidence: Math.round(1000 / (1 + Math.exp(-sum))) / 1000,
        n_detections: 10,
      },
    ],
    next_cursor: null,
  });
});

test('a page begins behind its cursor, whether or not that had an impact, and is never empty but for the first', async (t) => {
  const page = async (cursor: string | null, limit: number) => {
    const { impacts, next_cursor } = await impactsPage(impactsOf(3), '2026-05-01', cursor, limit, null);
    return [...impacts.map(({ name }) => name), next_cursor];
  };
  t.deepEqual(await page(null, 2), ['asset 0', 'asset 1', 'loc_1']);
  t.deepEqual(await page('loc_1', 2), ['asset 2', null]);
  t.deepEqual(await page('loc_00', 3), ['asset 1', 'asset 2', null]);
  t.deepEqual(await page(null, 3), ['asset 0', 'asset 1', 'asset 2', null]);
  t.deepEqual(await page('loc_2', 3), [null]);
});

test('terrain that blocks every beam lowers the confidence of an impact, and nothing else', async (t) => {
  const mountains = { radars: new Set<string>(), blocked: () => 0.4 };
  const [free] = (await impactsPage(impactsOf(1), '2026-05-01', null, 50, null)).impacts;
  const [behind] = (await impactsPage(impactsOf(1), '2026-05-01', null, 50, mountains)).impacts;
  t.true((behind?.ml_confidence ?? 1) < (free?.ml_confidence ?? 0));
  t.deepEqual({ ...behind, ml_confidence: 0 }, { ...free, ml_confidence: 0 });
});

const DATE = '2026-05-01';
const DAY_MS = Date.parse(`${DATE}T00:00:00Z`);

test('a location that the only scan of a running date did not see is unseen, though no minute of the date is over', async (t) => {
  const only = { from_ms: DAY_MS, to_ms: DAY_MS };
  const scanThatSees = (seen: number) =>
    new Map([[DATE, radarCoverageOf({ times: [DAY_MS], seen: [seen] }, only, null, true)]]);
  const [seen, blind] = [scanThatSees(1), scanThatSees(0)];
  const locations = [
    { id: 'covered', lat: 35, lon: -97 },
    { id: 'beyond', lat: 48, lon: -97 },
  ];
  const gaps = await portfolioGaps(locations, DATE, [], ({ lat }) => (lat < 40 ? seen : blind));
  t.like(gaps, { until: `${DATE}T00:00:00Z`, assets_seen_in_part: 1, assets_unseen: 1 });
  t.deepEqual(gaps.seen_in_part, [{ share: 0, gap_count: 0, gaps: [], asset_count: 1, asset_ids: ['beyond'] }]);
});
