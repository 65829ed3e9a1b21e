import test from 'ava';
import { reportFiles } from '../../../pipeline/simulate/report-files.ts';
import { hailReports } from '../../../pipeline/simulate/reports.ts';
import { scanTimes } from '../../../pipeline/simulate/scan-times.ts';
import { stormAt, stormsBetween } from '../../../pipeline/simulate/storms.ts';
import { distanceKm } from '../../../schemas/geo/distance.ts';
import { EVENING_MS, MS_PER_MINUTE, SMALL } from '../../support/data/small-evening.ts';

const DAY = 24 * 60 * MS_PER_MINUTE;
const NOON_MS = Date.parse('2026-05-01T12:00:00Z');
const LATER = Number.POSITIVE_INFINITY;
const month = hailReports(SMALL, NOON_MS, NOON_MS + 30 * DAY, LATER);
const TEN_DAYS_MS = NOON_MS + 10 * DAY;
const tenDays = month.filter(({ valid_ms }) => valid_ms < TEN_DAYS_MS);

test('sizes are those of objects that spotters compare with, mostly small ones', (t) => {
  t.true(month.length > 300, `${month.length}`);
  const objects = new Set([0.75, 0.88, 1, 1.25, 1.5, 1.75, 2, 2.5, 2.75, 3, 4, 4.5]);
  t.true(month.every(({ size_in }) => objects.has(size_in)));
  const share = (size_in: number) => month.filter((report) => report.size_in === size_in).length / month.length;
  t.true(share(1) > 0.2, `quarters ${share(1)}`);
  const severe = month.filter(({ size_in }) => size_in >= 1);
  const significant = severe.filter(({ size_in }) => size_in >= 2).length / severe.length;
  t.true(significant > 0.02 && significant < 0.13, `significant ${significant}, climatology .066`);
});

test('reports lie within a few kilometres and minutes of their storm', (t) => {
  const storms = new Map(
    stormsBetween(SMALL, NOON_MS - DAY / 2, NOON_MS + 30 * DAY).map((storm) => [storm.storm_id, storm]),
  );
  const near = month.filter((report) => {
    const storm = storms.get(report.storm_id);
    if (!storm) return false;
    const around = Array.from({ length: 17 }, (_, i) => report.valid_ms - (26 - 2 * i) * MS_PER_MINUTE);
    return around.some((time_ms) => distanceKm(stormAt(storm, time_ms), report) < 12);
  });
  t.true(near.length > 0.98 * month.length, `${near.length} of ${month.length}`);
});

test('a report is unknown before it is issued, minutes after the hail', (t) => {
  t.true(month.every(({ valid_ms, issued_ms }) => issued_ms > valid_ms));
  const now = NOON_MS + 5 * DAY;
  const known = hailReports(SMALL, NOON_MS, TEN_DAYS_MS, now);
  t.deepEqual(
    known,
    tenDays.filter(({ issued_ms }) => issued_ms < now),
  );
});

test('two adjoining stretches have the reports of the whole', (t) => {
  const cut = NOON_MS + 3 * DAY + 7 * MS_PER_MINUTE;
  t.deepEqual([...hailReports(SMALL, NOON_MS, cut, LATER), ...hailReports(SMALL, cut, TEN_DAYS_MS, LATER)], tenDays);
});

test('a few events are corrected or repeated, later and at the same place and time', (t) => {
  for (const kind of ['corrects', 'repeats'] as const) {
    const follow = month.filter((report) => report.kind === kind);
    t.true(follow.length > 0 && follow.length < 0.08 * month.length, `${kind}: ${follow.length}`);
    for (const report of follow) {
      const first = month.find(
        (other) =>
          other.kind === 'first' &&
          other.storm_id === report.storm_id &&
          other.location === report.location &&
          other.valid_ms === report.valid_ms,
      );
      t.true(first !== undefined && first.issued_ms < report.issued_ms);
      if (kind === 'repeats') t.is(first?.size_in, report.size_in);
    }
  }
});

const EVENING = [NOON_MS + DAY - 60 * MS_PER_MINUTE, NOON_MS + DAY + 300 * MS_PER_MINUTE] as const;
const allScans = scanTimes(SMALL.seed, NOON_MS, EVENING[1]);
const files = new Map(reportFiles(SMALL, ...EVENING, allScans).map(({ path, text }) => [path, text]));

test('reports are of the times that scans saw: none before the first, after the last, or in a gap', (t) => {
  const gap = [NOON_MS + DAY + 60 * MS_PER_MINUTE, NOON_MS + DAY + 120 * MS_PER_MINUTE] as const;
  const scans = scanTimes(SMALL.seed, ...EVENING).filter((time_ms) => time_ms < gap[0] || time_ms > gap[1]);
  const timesOf = (scan_times: readonly number[]) =>
    reportFiles(SMALL, ...EVENING, scan_times)
      .filter(({ path }) => path.startsWith('reports/lsr/'))
      .flatMap(({ text }) => JSON.parse(text).features as { properties: { valid: string } }[])
      .map(({ properties }) => Date.parse(properties.valid));
  const seen = timesOf(scans);
  t.true(seen.length > 3);
  t.true(seen.every((time_ms) => time_ms >= scans[0] && time_ms <= (scans.at(-1) ?? 0)));
  t.true(seen.every((time_ms) => time_ms < gap[0] || time_ms > gap[1]));
  const inGap = timesOf(allScans).filter((time_ms) => time_ms > gap[0] && time_ms < gap[1]);
  t.true(inGap.length > 0, 'the gap has reports to leave out');
  t.deepEqual(timesOf([]), []);
});

test('there is an SPC list per convective day and a collection of local reports per UTC date', (t) => {
  t.deepEqual(
    [...files.keys()],
    ['reports/spc/260501_rpts_hail.csv', 'reports/spc/260502_rpts_hail.csv', 'reports/lsr/lsr_20260502.geojson'],
  );
});

test('the SPC list has its header, hail of an inch and more, in the order of the day from 12 to 12 UTC', (t) => {
  const [header, ...rows] = (files.get('reports/spc/260501_rpts_hail.csv') as string).trimEnd().split('\n');
  t.is(header, 'Time,Size,Location,County,State,Lat,Lon,Comments');
  t.true(rows.length > 3);
  const fields = rows.map((row) => row.split(','));
  t.true(fields.every((row) => row.length === 8 && Number(row[1]) >= 100 && Number.isInteger(Number(row[1]))));
  const since_noon = fields.map(([time = '']) => (Number(time.slice(0, 2)) * 60 + Number(time.slice(2)) + 720) % 1440);
  t.deepEqual(
    since_noon,
    [...since_noon].sort((a, b) => a - b),
  );
  t.true(fields.every((row) => row[7]?.includes('SIMULATED')));
});

test('local reports have the fields of the Iowa archive and say that they are simulated', (t) => {
  const { type, features } = JSON.parse(files.get('reports/lsr/lsr_20260502.geojson') as string);
  t.is(type, 'FeatureCollection');
  t.true(features.length > 3);
  for (const { properties, geometry } of features) {
    t.deepEqual(Object.keys(properties).sort(), [
      'city',
      'county',
      'magnitude',
      'product_id',
      'qualifier',
      'remark',
      'state',
      'typetext',
      'unit',
      'valid',
      'wfo',
    ]);
    t.true(properties.valid.startsWith('2026-05-02T'));
    t.regex(properties.product_id, /^\d{12}-KSIM-NWUS54-LSRSIM$/);
    t.regex(properties.remark, /[Ss]imulated/);
    t.is(geometry.coordinates.length, 2);
  }
});

test('a stretch that ends at noon UTC touches one convective day', (t) => {
  const paths = reportFiles(SMALL, EVENING_MS, NOON_MS + DAY, allScans).map(({ path }) => path);
  t.deepEqual(paths, [
    'reports/spc/260501_rpts_hail.csv',
    'reports/lsr/lsr_20260501.geojson',
    'reports/lsr/lsr_20260502.geojson',
  ]);
});
