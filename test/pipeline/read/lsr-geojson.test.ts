import { readFileSync } from 'node:fs';
import test from 'ava';
import { BadInput } from '../../../pipeline/error.ts';
import { readLsrGeoJson } from '../../../pipeline/read/lsr-geojson.ts';
import type { FileReport } from '../../../schemas/tables/ground-reports.ts';
import { feedFigures } from '../../support/data/feed-figures.ts';
import { sharedData, sharedTest } from '../../support/data/shared-data.ts';

const NOW = Date.parse('2025-06-07T00:00:00Z');
const PROPERTIES: Readonly<Record<string, unknown>> = {
  valid: '2025-06-05T23:32:00Z',
  magnitude: 3,
  city: '2 ESE Tatum',
  county: 'Lea',
  state: 'NM',
  remark: 'Corrects previous hail report from 2 ESE Tatum. Hail measured up to 3.5 inches in diameter.',
  wfo: 'MAF',
  typetext: 'HAIL',
  product_id: '202506060013-KMAF-NWUS54-LSRMAF',
  unit: 'Inch',
  qualifier: 'E',
};

function file(...features: unknown[]): Buffer {
  return Buffer.from(JSON.stringify({ type: 'FeatureCollection', features }));
}

function feature(
  properties: Record<string, unknown> = {},
  geometry: unknown = { type: 'Point', coordinates: [-103.28, 33.24] },
) {
  return { type: 'Feature', properties: { ...PROPERTIES, ...properties }, geometry };
}

sharedTest('the archive file of 5 June 2025 gives its four hail rows and counts the other events', (t) => {
  const name = 'iem_lsrs_by_point_20250605_trimmed.geojson';
  const figures = feedFigures().reports.iem_lsr[name]!;
  const { rows, set_aside, others } = readLsrGeoJson(readFileSync(sharedData('reports', 'lsr', name)), name, NOW);
  const { HAIL, ...rest } = figures.by_type;
  t.deepEqual(set_aside, []);
  t.is(rows.length, HAIL);
  t.is(rows.length, figures.hail_rows);
  t.deepEqual(Object.fromEntries(others), rest);
  t.deepEqual(
    rows.map(({ time, size_mm, place, state, lon, lat, product_id }) => ({
      utc: `${new Date(time).toISOString().slice(0, 19)}Z`,
      inch: Math.round((100 * size_mm) / 25.4) / 100,
      qualifier: 'E',
      city: place,
      state,
      lon,
      lat,
      product_id,
    })),
    figures.hail.map((row) => ({ ...row, qualifier: 'E' })),
  );
  t.deepEqual(
    rows.map(({ corrects_place }) => corrects_place),
    [null, '2 ESE Tatum', null, null],
  );
});

test('a feature becomes a report in our units, with its product and what it corrects', (t) => {
  t.deepEqual(readLsrGeoJson(file(feature()), 'x', NOW).rows, [
    {
      report_id: 'lsr:MAF:2025-06-05T23:32:00Z:33.240,-103.280',
      source: 'lsr',
      time: Date.parse('2025-06-05T23:32:00Z'),
      lat: 33.24,
      lon: -103.28,
      size_mm: 76.2,
      is_measured: false,
      place: '2 ESE Tatum',
      county: 'Lea',
      state: 'NM',
      office: 'MAF',
      remark: PROPERTIES.remark as string,
      product_id: '202506060013-KMAF-NWUS54-LSRMAF',
      issued_at: Date.parse('2025-06-06T00:13:00Z'),
      data_source: 'observed',
      is_correction: true,
      corrects_place: '2 ESE Tatum',
    } satisfies FileReport,
  ]);
});

test('a report of the simulated office is simulated, the next one is not', (t) => {
  const { rows } = readLsrGeoJson(file(feature({ wfo: 'SIM' }), feature()), 'x', NOW);
  t.deepEqual(
    rows.map(({ data_source }) => data_source),
    ['simulated', 'observed'],
  );
});

for (const [title, properties, reason] of [
  ['no size', { magnitude: null }, "magnitude is 'null', expected inches above 0 and up to 10"],
  ['a size of 0', { magnitude: 0 }, "magnitude is '0', expected inches above 0 and up to 10"],
  ['an impossible size', { magnitude: 12.5 }, "magnitude is '12.5', expected inches above 0 and up to 10"],
  ['another unit', { unit: 'MPH' }, "unit is 'MPH', expected Inch"],
  [
    'a time that does not exist',
    { valid: '2025-06-31T23:32:00Z' },
    "valid is '2025-06-31T23:32:00Z', expected a UTC time",
  ],
  ['a local time', { valid: '2025-06-05T23:32:00' }, "valid is '2025-06-05T23:32:00', expected a UTC time"],
  ['a time in the future', { valid: '2025-06-07T00:11:00Z' }, 'valid 2025-06-07T00:11:00Z lies in the future'],
  ['no product', { product_id: 'x' }, "product_id is 'x', expected YYYYMMDDHHMM-office-…"],
  ['no office', { wfo: undefined }, 'properties.wfo: invalid input: expected string, received undefined'],
] as const)
  test(`hail with ${title} is set aside, the one beside it is kept`, (t) => {
    const { rows, set_aside } = readLsrGeoJson(file(feature(properties), feature()), 'x', NOW);
    t.is(rows.length, 1);
    t.deepEqual(set_aside, [{ item: 'feature 1', reason }]);
  });

for (const [title, geometry] of [
  ['null', null],
  ['a line', { type: 'LineString', coordinates: [[1, 2]] }],
  ['off the globe', { type: 'Point', coordinates: [-103.28, 133.24] }],
  ['at the origin', { type: 'Point', coordinates: [0, 0] }],
] as const)
  test(`hail whose geometry is ${title} is set aside`, (t) => {
    const { rows, set_aside } = readLsrGeoJson(file(feature({}, geometry), feature()), 'x', NOW);
    t.is(rows.length, 1);
    t.is(set_aside.length, 1);
  });

test('size as text and hail over water are read', (t) => {
  const { rows } = readLsrGeoJson(
    file(feature({ magnitude: '1.75', typetext: 'MARINE HAIL', qualifier: 'M' })),
    'x',
    NOW,
  );
  t.is(rows[0]?.size_mm, 44.45);
  t.is(rows[0]?.is_measured, true);
});

for (const [title, text] of [
  ['an error page', '<!doctype html><html></html>'],
  ['cut json', '{"type": "FeatureCollection", "features": [{"type"'],
  ['json of something else', '{"error": "busy"}'],
] as const)
  test(`${title} is refused as a whole`, (t) => {
    t.throws(() => readLsrGeoJson(Buffer.from(text), 'x', NOW), { instanceOf: BadInput });
  });
