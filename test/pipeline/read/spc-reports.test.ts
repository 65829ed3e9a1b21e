import { readFileSync } from 'node:fs';
import test from 'ava';
import { BadInput } from '../../../pipeline/error.ts';
import { convectiveDateOf, readSpcReports } from '../../../pipeline/read/spc-reports.ts';
import type { FileReport } from '../../../schemas/tables/ground-reports.ts';
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
