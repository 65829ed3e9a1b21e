import { readFileSync } from 'node:fs';
import test from 'ava';
import { BadInput } from '../../../pipeline/error.ts';
import { convectiveDateOf, readLsrGeoJson, readSpcReports } from '../../../pipeline/read/reports.ts';
import type { FileReport } from '../../../schemas/tables/feeds.ts';
import { utcDate } from '../../../schemas/time.ts';
import { feedFigures, minuteOf, tally } from '../../support/data/feed-figures.ts';
import { sharedData, sharedTest } from '../../support/data/shared-data.ts';

const HEADER = 'Time,Size,Location,County,State,Lat,Lon,Comments';
const ROW = '1336,175,7 E AMSTERDAM,BATES,MO,38.35,-94.46,(EAX)';
const NOW = Date.parse('2013-05-21T18:00:00Z');

function read(...lines: string[]) {
  return readSpcReports(Buffer.from(lines.join('\n')), 'x', {
    convective_date: '2013-05-20',
    list: 'filtered',
    now_ms: NOW,
  });
}

function only(line: string): FileReport {
  return read(HEADER, line).rows[0] as FileReport;
}

function reasonOf(line: string): string | undefined {
  const { rows, set_aside } = read(HEADER, ROW, line);
  return rows.length === 1 && set_aside[0]?.item === 'line 3' ? set_aside[0].reason : undefined;
}

const SPC_FILES = [
  '0530_hail.csv',
  '0530_torn.csv',
  '0530_wind.csv',
  '20_hail.csv',
  '20_torn.csv',
  '20_wind.csv',
  'today.csv',
];
for (const name of SPC_FILES)
  sharedTest(`${name} gives the rows, times, states, sizes and positions counted by others`, (t) => {
    const figures = feedFigures().reports.spc[name];
    t.truthy(figures);
    const { rows, set_aside, others } = readSpcReports(readFileSync(sharedData('reports', 'spc', name)), name, {
      convective_date: figures!.convective_day,
      list: 'filtered',
      now_ms: NOW + 30 * 86_400_000,
    });
    const { hail, ...rest } = figures!.sections;
    t.deepEqual(set_aside, []);
    t.deepEqual(
      Object.fromEntries(others),
      Object.fromEntries(Object.entries(rest).map(([kind, of]) => [kind, of.rows])),
    );
    t.is(rows.length, hail?.rows ?? 0);
    if (hail === undefined) return;
    t.is(minuteOf(rows[0]!.time), hail.first_utc);
    t.is(minuteOf(rows.at(-1)!.time), hail.last_utc);
    t.deepEqual(tally(rows.map(({ time }) => utcDate(time))), { ...hail.per_utc_date });
    t.deepEqual(tally(rows.map(({ state }) => state)), { ...hail.states });
    t.deepEqual(tally(rows.map(({ size_mm }) => Math.round((100 * size_mm) / 25.4))), { ...hail.size_counts });
    t.is(Math.max(...rows.map(({ size_mm }) => size_mm)), hail.largest_mm);
    t.deepEqual(
      rows
        .filter(({ size_mm }) => size_mm === hail.largest_mm)
        .map(({ time, place, county, state, lat, lon }) => ({
          utc: minuteOf(time),
          location: place,
          county,
          state,
          lat,
          lon,
        })),
      [...hail.largest_at],
    );
    const [lats, lons] = [rows.map(({ lat }) => lat), rows.map(({ lon }) => lon)];
    t.deepEqual([Math.min(...lons), Math.min(...lats), Math.max(...lons), Math.max(...lats)], [...hail.bbox]);
    t.true(rows.every(({ data_source }) => data_source === 'observed'));
  });

test('a time from 1200 on belongs to the date of the file, an earlier one to the next', (t) => {
  const at = (time: string) => minuteOf(only(`${time},175,A,B,MO,38.35,-94.46,`).time);
  t.deepEqual(['1200', '2359', '0000', '0030', '1159'].map(at), [
    '2013-05-20T12:00Z',
    '2013-05-20T23:59Z',
    '2013-05-21T00:00Z',
    '2013-05-21T00:30Z',
    '2013-05-21T11:59Z',
  ]);
});

test('a row becomes a report in our units, with the office of its remark', (t) => {
  t.deepEqual(only('1828,175,RODNEY,MECOSTA,MI,43.67,-85.33,"LARGE", MEASURED, BY WZZM13. (GRR)'), {
    report_id: 'spc:GRR:2013-05-20T18:28:00Z:43.670,-85.330',
    source: 'spc',
    time: Date.parse('2013-05-20T18:28:00Z'),
    lat: 43.67,
    lon: -85.33,
    size_mm: 44.45,
    is_measured: null,
    place: 'RODNEY',
    county: 'MECOSTA',
    state: 'MI',
    office: 'GRR',
    remark: '"LARGE", MEASURED, BY WZZM13.',
    product_id: null,
    issued_at: null,
    data_source: 'observed',
    is_correction: false,
    corrects_place: null,
    list: 'filtered',
  });
});

test('a line of the simulated office is a simulated report, the next one is not', (t) => {
  const { rows } = read(HEADER, '1336,175,A,SIMULATED,XX,38.35,-94.46,SIMULATED REPORT. (SIM)', ROW);
  t.deepEqual(
    rows.map(({ data_source }) => data_source),
    ['simulated', 'observed'],
  );
});

for (const [line, reason] of [
  ['1336,175,A,B,MO,38.35', '6 cells, expected 8'],
  ['2560,175,A,B,MO,38.35,-94.46,', "time is '2560', expected HHMM"],
  ['930,175,A,B,MO,38.35,-94.46,', "time is '930', expected HHMM"],
  ['1336,UNK,A,B,MO,38.35,-94.46,', "size is 'UNK', expected hundredths of an inch from 1 to 1000"],
  ['1336,0,A,B,MO,38.35,-94.46,', "size is '0', expected hundredths of an inch from 1 to 1000"],
  ['1336,1001,A,B,MO,38.35,-94.46,', "size is '1001', expected hundredths of an inch from 1 to 1000"],
  ['1336,-175,A,B,MO,38.35,-94.46,', "size is '-175', expected hundredths of an inch from 1 to 1000"],
  ['1336,175,A,B,MO,98.35,-94.46,', "position is '98.35,-94.46', expected degrees of latitude and longitude"],
  ['1336,175,A,B,MO,0,0,', "position is '0,0', expected degrees of latitude and longitude"],
  ['1336,175,A,B,MO,,-94.46,', "position is ',-94.46', expected degrees of latitude and longitude"],
  ['<html>,<body>', '2 cells, expected 8'],
] as const)
  test(`the row '${line}' is set aside, the one beside it is kept`, (t) => t.is(reasonOf(line), reason));

test('a report later than the clock is set aside', (t) => {
  const { rows, set_aside } = readSpcReports(Buffer.from(`${HEADER}\n${ROW}\n1347,175,A,B,MO,38.35,-94.46,`), 'x', {
    convective_date: '2013-05-20',
    list: 'filtered',
    now_ms: Date.parse('2013-05-20T13:36:00Z'),
  });
  t.is(rows.length, 1);
  t.deepEqual(set_aside, [{ item: 'line 3', reason: 'time 2013-05-20T13:47:00Z lies in the future' }]);
});

for (const [title, text, reason] of [
  ['an error page', '<!DOCTYPE html>\n<html><body>404</body></html>', 'an html or xml page, expected the report list'],
  ['an empty file', '', "is empty, expected 'Time,Size"],
  ['another table', 'name,lat,lon\nx,1,2', "starts with 'name,lat,lon', expected 'Time,Size"],
] as const)
  test(`${title} instead of a daily list is refused as a whole`, (t) => {
    const error = t.throws(() => read(text), { instanceOf: BadInput });
    t.true(error?.message.includes(reason), error?.message);
  });

test('a list without rows is sound: nothing was reported', (t) => {
  t.deepEqual(read(HEADER), { rows: [], set_aside: [], others: new Map(), rejected_ms: [] });
});

test('the date of a list comes from its name, and turns over at 12 UTC for the running ones', (t) => {
  const now_ms = Date.parse('2013-05-20T11:59:00Z');
  t.is(convectiveDateOf('climo/reports/130520_rpts_hail.csv', now_ms), '2013-05-20');
  t.is(convectiveDateOf('130520_rpts_filtered_hail.csv', now_ms), '2013-05-20');
  t.is(convectiveDateOf('130520_rpts_raw_hail.csv', now_ms), '2013-05-20');
  t.is(convectiveDateOf('130520_rpts.csv', now_ms), '2013-05-20');
  t.is(convectiveDateOf('today_hail.csv', now_ms), '2013-05-19');
  t.is(convectiveDateOf('yesterday_hail.csv', now_ms), '2013-05-18');
  t.is(convectiveDateOf('today_filtered_hail.csv', now_ms + 60_000), '2013-05-20');
  t.is(convectiveDateOf('130230_rpts_hail.csv', now_ms), null);
  t.is(convectiveDateOf('index.html', now_ms), null);
});

const GEOJSON_NOW = Date.parse('2025-06-07T00:00:00Z');
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
  const { rows, set_aside, others } = readLsrGeoJson(
    readFileSync(sharedData('reports', 'lsr', name)),
    name,
    GEOJSON_NOW,
  );
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
  t.deepEqual(readLsrGeoJson(file(feature()), 'x', GEOJSON_NOW).rows, [
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
      list: null,
    } satisfies FileReport,
  ]);
});

test('a report of the simulated office is simulated, the next one is not', (t) => {
  const { rows } = readLsrGeoJson(file(feature({ wfo: 'SIM' }), feature()), 'x', GEOJSON_NOW);
  t.deepEqual(
    rows.map(({ data_source }) => data_source),
    ['simulated', 'observed'],
  );
});

for (const [title, properties, reason] of [
  ['no size', { magnitude: null }, "magnitude is 'null', expected inches above 0 and up to 10"],
  ['a size of 0', { magnitude: 0 }, "magnitude is '0', expected inches above 0 and up to 10"],
  ['an impossible size', { magnitude: 12.5 }, "magnitude is '12.5', expected inches above 0 and up to 10"],
  ['another unit', { unit: 'MPH' }, "unit is 'MPH', expected inches"],
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
    const { rows, set_aside } = readLsrGeoJson(file(feature(properties), feature()), 'x', GEOJSON_NOW);
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
    const { rows, set_aside } = readLsrGeoJson(file(feature({}, geometry), feature()), 'x', GEOJSON_NOW);
    t.is(rows.length, 1);
    t.is(set_aside.length, 1);
  });

for (const unit of ['Inch', 'INCHES', 'in', 'in.', ' inch ', '"', '', null, undefined])
  test(`hail in the unit ${JSON.stringify(unit)} is in inches`, (t) => {
    const { rows, set_aside } = readLsrGeoJson(file(feature({ unit, magnitude: 1 })), 'x', GEOJSON_NOW);
    t.deepEqual([rows[0]?.size_mm, set_aside], [25.4, []]);
  });

for (const unit of ['cm', 'mm', 'F', 'in/hr', 'min', "'"])
  test(`hail in the unit ${unit} is rejected by name, with its time`, (t) => {
    const { set_aside, rejected_ms } = readLsrGeoJson(file(feature({ unit }), feature()), 'x', GEOJSON_NOW);
    t.deepEqual(set_aside, [{ item: 'feature 1', reason: `unit is '${unit}', expected inches` }]);
    t.deepEqual(rejected_ms, [Date.parse('2025-06-05T23:32:00Z')]);
  });

test('a rejected report whose time cannot be read has none', (t) => {
  t.deepEqual(readLsrGeoJson(file(feature({ valid: 'x' })), 'x', GEOJSON_NOW).rejected_ms, [null]);
  const { rejected_ms } = read(HEADER, '1400,UNK,A,B,MO,38.35,-94.46,', '25:60,175,A,B,MO,38.35,-94.46,', ROW);
  t.deepEqual(rejected_ms, [Date.parse('2013-05-20T14:00:00Z'), null]);
});

test('size as text and hail over water are read', (t) => {
  const { rows } = readLsrGeoJson(
    file(feature({ magnitude: '1.75', typetext: 'MARINE HAIL', qualifier: 'M' })),
    'x',
    GEOJSON_NOW,
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
    t.throws(() => readLsrGeoJson(Buffer.from(text), 'x', GEOJSON_NOW), { instanceOf: BadInput });
  });
