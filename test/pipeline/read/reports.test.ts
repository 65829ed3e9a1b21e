import { readFileSync } from 'node:fs';
import test from 'ava';
import { BadInput } from '../../../pipeline/error.ts';
import { readLsrGeoJson } from '../../../pipeline/read/lsr-geojson.ts';
import { parseLsrText, readLsrText } from '../../../pipeline/read/lsr-text.ts';
import { convectiveDateOf, readSpcReports } from '../../../pipeline/read/spc-reports.ts';
import type { FileReport } from '../../../schemas/tables/feeds.ts';
import { utcDate } from '../../../schemas/time.ts';
import { feedFigures, minuteOf, tally } from '../../support/data/feed-figures.ts';
import { sharedData, sharedTest } from '../../support/data/shared-data.ts';

const HEADER = 'Time,Size,Location,County,State,Lat,Lon,Comments';
const ROW = '1336,175,7 E AMSTERDAM,BATES,MO,38.35,-94.46,(EAX)';
const NOW = Date.parse('2013-05-21T18:00:00Z');

function read(...lines: string[]) {
  return readSpcReports(Buffer.from(lines.join('\n')), 'x', { convective_date: '2013-05-20', now_ms: NOW });
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
  t.deepEqual(read(HEADER), { rows: [], set_aside: [], others: new Map() });
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

const TEXT_NOW = Date.parse('2024-05-02T00:00:00Z');

/** A product with the columns of the real ones. */
function product(...reports: string[]): Buffer {
  return Buffer.from(
    `128
NWUS54 KOUN 012113
LSROUN

Preliminary Local Storm Report
National Weather Service Norman OK
413 PM CDT Wed May 1 2024

..TIME...   ...EVENT...      ...CITY LOCATION...     ...LAT.LON...
..DATE...   ....MAG....      ..COUNTY LOCATION..ST.. ...SOURCE....
            ..REMARKS..

${reports.join('\n\n')}

&&

$$
`,
  );
}

const HAIL = `0915 AM     Hail             4 E Wapanucka           34.37N 96.36W
05/01/2024  M1.25 Inch       Atoka              OK   Emergency Mngr

            Delayed report. Relayed images. Radar
            estimated time.`;

for (const name of ['LSRFSD.txt', 'LSRICT_mixed.txt', 'LSRJAX_marinehail.txt', 'LSROUN_hail.txt'])
  sharedTest(`${name} gives the office, zone, times, places and sizes read by others`, (t) => {
    const figures = feedFigures().reports.lsr[name]!;
    const bytes = readFileSync(sharedData('reports', 'lsr', name));
    const { office, zone, issued_ms, entries, set_aside } = parseLsrText(bytes, name);
    t.deepEqual([office, zone, minuteOf(issued_ms)], [figures.wfo, figures.tz, figures.issued_utc]);
    t.deepEqual(set_aside, []);
    t.deepEqual(
      entries.map((entry) => ({
        utc: minuteOf(entry.time_ms),
        event: entry.event,
        location: entry.place,
        lat: entry.lat,
        lon: entry.lon,
        magnitude_text: entry.magnitude || null,
        county: entry.county,
        state: entry.state,
        source: entry.observer,
      })),
      figures.reports.map(
        ({ magnitude: _, qualifier: __, unit: ___, ...report }: Record<string, unknown>) => report,
      ) as never,
    );
    const hail = figures.reports.filter(({ event }) => event.toUpperCase() === 'HAIL');
    const { rows, others } = readLsrText(bytes, name, TEXT_NOW);
    t.deepEqual(
      rows.map(({ size_mm, is_measured }) => [size_mm, is_measured]),
      hail.map(({ magnitude, qualifier }) => [magnitude! * 25.4, qualifier === 'M']),
    );
    t.is(
      [...others.values()].reduce((sum, n) => sum + n, 0),
      figures.reports.length - hail.length,
    );
  });

sharedTest('the correction of Sioux Falls calls itself one, the report of Norman does not', (t) => {
  const isCorrection = (name: string) =>
    parseLsrText(readFileSync(sharedData('reports', 'lsr', name)), name).is_correction;
  t.true(isCorrection('LSRFSD.txt'));
  t.false(isCorrection('LSROUN_hail.txt'));
});

test('a report has the identifier that the Iowa archive gives its product', (t) => {
  const { rows, set_aside } = readLsrText(product(HAIL), 'x', TEXT_NOW);
  t.deepEqual(set_aside, []);
  t.is(rows[0]?.product_id, '202405012113-KOUN-NWUS54-LSROUN');
  t.is(rows[0]?.report_id, 'lsr:OUN:2024-05-01T14:15:00Z:34.370,-96.360');
  t.is(rows[0]?.remark, 'Delayed report. Relayed images. Radar estimated time.');
  t.is(rows[0]?.is_measured, true);
});

for (const head of ['..TIME..   ...EVENT...', '...TIME...   ..EVENT..', 'TIME        EVENT', '.TIME.    ....EVENT....'])
  test(`reports below '${head}' are read: the words say where they begin, not the dots`, (t) => {
    const text = product(HAIL).toString();
    const other = text.replace('..TIME...   ...EVENT...', head);
    t.deepEqual(readLsrText(Buffer.from(other), 'x', TEXT_NOW), readLsrText(product(HAIL), 'x', TEXT_NOW));
  });

for (const [title, text] of [
  ['below whose columns nothing stands', product('')],
  ['without its head of columns', Buffer.from(product(HAIL).toString().replace('..TIME...   ...EVENT...', ''))],
] as const)
  test(`a text of reports ${title} is refused, not read as no reports`, (t) => {
    t.throws(() => readLsrText(text, 'x', TEXT_NOW), { instanceOf: BadInput, message: /x: no report, expected lines/ });
  });

test('a time after midnight UTC and an event of the day before keep their own dates', (t) => {
  const late = HAIL.replace('0915 AM', '1159 PM').replace('05/01/2024', '04/30/2024');
  t.is(minuteOf(readLsrText(product(late), 'x', TEXT_NOW).rows[0]!.time), '2024-05-01T04:59Z');
  const noon = HAIL.replace('0915 AM', '1200 PM');
  t.is(minuteOf(readLsrText(product(noon), 'x', TEXT_NOW).rows[0]!.time), '2024-05-01T17:00Z');
  const midnight = HAIL.replace('0915 AM', '1200 AM');
  t.is(minuteOf(readLsrText(product(midnight), 'x', TEXT_NOW).rows[0]!.time), '2024-05-01T05:00Z');
});

for (const [title, from, to, reason] of [
  ['a clock of 13 PM', '0915 AM', '1315 PM', "time is '1315 PM 05/01/2024', expected HHMM AM or PM over MM/DD/YYYY"],
  [
    'a day that does not exist',
    '05/01/2024',
    '02/30/2024',
    "time is '0915 AM 02/30/2024', expected HHMM AM or PM over MM/DD/YYYY",
  ],
  ['no position', '34.37N 96.36W', '', "position is '', expected such as 38.89N 98.85W"],
  ['no size', 'M1.25 Inch ', '           ', "size is '', expected such as E1.00 INCH, up to 10"],
  ['an impossible size', 'M1.25 Inch', 'E25.0 Inch', "size is 'E25.0 Inch', expected such as E1.00 INCH, up to 10"],
] as const)
  test(`hail with ${title} is set aside, the report after it is kept`, (t) => {
    const { rows, set_aside } = readLsrText(product(HAIL.replace(from, to), HAIL), 'x', TEXT_NOW);
    t.is(rows.length, 1);
    t.deepEqual(set_aside, [{ item: 'line 13', reason }]);
  });

test('the zone of the issue line decides, and one that is not known refuses the product', (t) => {
  const mountain = Buffer.from(product(HAIL).toString().replace('CDT', 'MDT'));
  t.is(minuteOf(readLsrText(mountain, 'x', TEXT_NOW).rows[0]!.time), '2024-05-01T15:15Z');
  const unknown = Buffer.from(product(HAIL).toString().replace('CDT', 'XXT'));
  t.throws(() => readLsrText(unknown, 'x', TEXT_NOW), { instanceOf: BadInput, message: /time zone/ });
});

test('a remark that corrects names the place of what it corrects', (t) => {
  const remark = HAIL.replace('Delayed report.', 'Corrects previous hail report from 5 E Wapanucka.');
  const { rows } = readLsrText(product(remark), 'x', TEXT_NOW);
  t.is(rows[0]?.is_correction, true);
  t.is(rows[0]?.corrects_place, '5 E Wapanucka');
});

for (const [title, text] of [
  ['an error page', '<html><body>no such product</body></html>'],
  ['another product', '000\nWUUS54 KOUN 070521\nSVROUN\n\nSEVERE THUNDERSTORM WARNING\n'],
  ['nothing', ''],
] as const)
  test(`${title} instead of a text of reports is refused as a whole`, (t) => {
    t.throws(() => readLsrText(Buffer.from(text), 'x', TEXT_NOW), { instanceOf: BadInput });
  });
