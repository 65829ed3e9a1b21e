import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { booleanPointInPolygon } from '@turf/boolean-point-in-polygon';
import test from 'ava';
import { type IngestedFiles, ingestFeedFiles } from '../../../pipeline/feeds/ingest-files.ts';
import { WEB_FEEDS } from '../../../pipeline/feeds/web-feeds.ts';
import { hourlyForecast } from '../../../pipeline/forecast/hourly.ts';
import { readNewest } from '../../../pipeline/publish/manifests.ts';
import { openRoot } from '../../../pipeline/publish/open-root.ts';
import type { Root } from '../../../pipeline/publish/root.ts';
import { readRows } from '../../../pipeline/publish/tables.ts';
import { scanTimes } from '../../../pipeline/simulate/evening.ts';
import { feedFiles } from '../../../pipeline/simulate/feeds.ts';
import { simulatedModelHours } from '../../../pipeline/simulate/model-hours.ts';
import { stormAt, stormsBetween } from '../../../pipeline/simulate/storms.ts';
import { isInWindow, plainsScenario } from '../../../pipeline/simulate/weather.ts';
import type { CollectionName } from '../../../schemas/collections.ts';
import { geohash } from '../../../schemas/geo/geohash.ts';
import type { MultiPolygon } from '../../../schemas/geo/rings.ts';
import { multiPolygonFromWkt } from '../../../schemas/geo/wkt.ts';
import { layout } from '../../../schemas/layout.ts';
import { WSR88D } from '../../../schemas/reference/wsr88d.ts';
import type { GroundReport, SpcOutlook, Warning } from '../../../schemas/tables/feeds.ts';
import { COLLECTION_TABLES } from '../../../schemas/tables/index.ts';
import { MS_PER_DAY, MS_PER_HOUR, MS_PER_MIN } from '../../../schemas/time.ts';
import { hourRows } from '../../support/data/hour-rows.ts';

/** True for a position (longitude, latitude) in or on the edge of polygons, as an independent library sees it. */
function multiPolygonContains(polygons: MultiPolygon, position: readonly [number, number]): boolean {
  const coordinates = polygons.map((polygon) => polygon.map((ring) => ring.map(([lon, lat]) => [lon, lat])));
  return booleanPointInPolygon([...position], { type: 'MultiPolygon', coordinates });
}

const NOW = Date.parse('2026-05-01T23:00:00Z');
const SCENARIO = plainsScenario(7, WSR88D);
const path = mkdtempSync(join(tmpdir(), 'hail-simulated-feeds-'));
const scansBefore = (now_ms: number) => scanTimes(7, NOW - MS_PER_DAY, now_ms);
let root: Root;
let first: IngestedFiles;

async function ingest(now_ms: number): Promise<IngestedFiles> {
  const files = feedFiles(SCENARIO, now_ms - MS_PER_DAY, now_ms, scansBefore(now_ms)).map((file) => ({
    name: basename(file.path),
    bytes: Buffer.from(file.text),
    received_ms: now_ms,
  }));
  return ingestFeedFiles(root, WEB_FEEDS, files, { now_ms, provenance: 'simulated', is_complete: true });
}

test.before(async () => {
  root = await openRoot(path, 'test', 0, NOW);
  first = await ingest(NOW);
});

test.after.always(async () => {
  await root.close();
  rmSync(path, { recursive: true });
});

async function rowsOf<Row>(name: CollectionName): Promise<Row[]> {
  const manifest = await readNewest(path, layout.collectionPartition(name));
  const table = COLLECTION_TABLES.find((one) => manifest?.files.some((file) => file.table === one.name));
  const files = (manifest?.files ?? []).filter((file) => file.table === table?.name);
  if (table === undefined) throw new Error(`${name} is not published`);
  return readRows<Row>(
    root.engine,
    table,
    files.map((file) => join(path, file.path)),
  );
}

test.serial('the readers of the real feeds take every file, and every row says that it is simulated', async (t) => {
  t.deepEqual(
    first.files.filter(({ refused, set_aside }) => refused !== null || set_aside.length > 0),
    [],
  );
  for (const name of ['reports', 'warnings', 'outlooks'] as const) {
    const rows = await rowsOf<{ data_source: string }>(name);
    t.true(rows.length > 0, name);
    t.deepEqual(new Set(rows.map((row) => row.data_source)), new Set(['simulated']), name);
  }
});

test.serial('sizes are those of objects that spotters compare with, mostly small ones', async (t) => {
  const sizes_in = (await rowsOf<GroundReport>('reports')).map(
    ({ size_mm }) => Math.round((100 * size_mm) / 25.4) / 100,
  );
  const objects = [0.75, 0.88, 1, 1.25, 1.5, 1.75, 2, 2.5, 2.75, 3, 4, 4.5];
  t.true(sizes_in.length > 50);
  t.true(sizes_in.every((size) => objects.includes(size)));
  t.true(sizes_in.filter((size) => size >= 2).length < 0.15 * sizes_in.length);
});

const reportTimes = (scan_times: readonly number[]) =>
  feedFiles(SCENARIO, NOW - MS_PER_DAY, NOW, scan_times)
    .filter((file) => file.path.startsWith('reports/lsr/'))
    .flatMap(({ text }) => JSON.parse(text).features as { properties: { valid: string } }[])
    .map(({ properties }) => Date.parse(properties.valid));

test('reports are of the times that scans saw: none before the first, after the last, or in a gap', (t) => {
  const [from, to] = [NOW - 6 * MS_PER_HOUR, NOW - 4 * MS_PER_HOUR];
  const isInGap = (time_ms: number) => time_ms > from && time_ms < to;
  const scans = scansBefore(NOW).filter((time_ms) => time_ms > NOW - 12 * MS_PER_HOUR);
  const seen = reportTimes(scans.filter((time_ms) => !isInGap(time_ms)));
  t.true(seen.length > 3);
  t.true(seen.every((time_ms) => time_ms >= (scans[0] as number) && time_ms <= (scans.at(-1) as number)));
  t.false(seen.some(isInGap));
  t.true(reportTimes(scans).some(isInGap), 'the gap has reports to leave out');
  t.deepEqual(reportTimes([]), []);
});

test('there is an SPC list per convective day and a collection of local reports per UTC date', (t) => {
  const noon = Date.parse('2026-05-02T12:00:00Z');
  const paths = (from_ms: number, to_ms: number) =>
    feedFiles(SCENARIO, from_ms, to_ms, []).flatMap((file) => (file.path.startsWith('reports') ? [file.path] : []));
  const [spc1, spc2] = ['reports/spc/260501_rpts_hail.csv', 'reports/spc/260502_rpts_hail.csv'];
  const [lsr1, lsr2] = ['reports/lsr/lsr_20260501.geojson', 'reports/lsr/lsr_20260502.geojson'];
  t.deepEqual(paths(NOW, noon), [spc1, lsr1, lsr2]);
  t.deepEqual(paths(noon - MS_PER_HOUR, noon + MS_PER_HOUR), [spc1, spc2, lsr2]);
});

test.serial('most large hail that is reported was warned of when it fell', async (t) => {
  const warnings = await rowsOf<Warning>('warnings');
  const reports = (await rowsOf<GroundReport>('reports')).filter(({ size_mm }) => size_mm >= 38);
  const warned = reports.filter(({ lat, lon, time }) =>
    warnings.some(
      ({ geometry, issued_at, expires_at, message_type }) =>
        geometry !== null &&
        message_type !== 'Cancel' &&
        issued_at <= time &&
        expires_at > time &&
        multiPolygonContains(multiPolygonFromWkt(geometry), [lon, lat]),
    ),
  );
  t.true(reports.length > 10, `${reports.length} of ${warned.length}`);
  t.true(warned.length > 0.6 * reports.length, `${warned.length} of ${reports.length}`);
});

test.serial('an update names the warning that it replaces, and shares its event', async (t) => {
  const warnings = await rowsOf<Warning>('warnings');
  const byId = new Map(warnings.map((warning) => [warning.warning_id, warning]));
  const updates = warnings.filter(({ message_type, replaces }) => message_type === 'Update' && byId.has(replaces));
  t.true(updates.length > 10);
  t.deepEqual(
    updates.filter(({ replaces, vtec_event }) => byId.get(replaces)?.vtec_event !== vtec_event),
    [],
  );
});

test.serial('most reported hail of the day lies in the 5 % area of the day, and less in the 30 % area', async (t) => {
  const outlooks = (await rowsOf<SpcOutlook>('outlooks')).filter(({ day, hazard }) => day === 1 && hazard === 'hail');
  const reports = (await rowsOf<GroundReport>('reports')).filter(({ size_mm }) => size_mm >= 25.4);
  const inside = (label: string) => {
    const area = outlooks.find((row) => row.label === label)?.geometry ?? '';
    return reports.filter(({ lat, lon }) => multiPolygonContains(multiPolygonFromWkt(area), [lon, lat])).length;
  };
  t.true(inside('0.05') > 0.7 * reports.length);
  t.true(inside('0.30') < inside('0.05'));
});

test.serial('days 1 to 8 have an outlook, and the last ones show nothing', async (t) => {
  const outlooks = await rowsOf<SpcOutlook>('outlooks');
  t.deepEqual(
    [1, 2, 3, 4, 5, 6, 7, 8].map((day) =>
      outlooks.filter((row) => row.day === day).some(({ geometry }) => geometry !== null),
    ),
    [true, true, true, true, true, false, false, false],
  );
});

test.serial('an hour later the same weather goes on: no warning is taken back, and reports are added', async (t) => {
  const before = await rowsOf<Warning>('warnings');
  const reported = (await rowsOf<GroundReport>('reports')).length;
  await ingest(NOW + MS_PER_HOUR);
  const after = new Set((await rowsOf<Warning>('warnings')).map(({ warning_id }) => warning_id));
  t.deepEqual(
    before.filter(({ warning_id }) => !after.has(warning_id)),
    [],
  );
  t.true((await rowsOf<GroundReport>('reports')).length > reported);
});

test('two runs of 24 hours reach ahead, and each is a forecast of its own', (t) => {
  const hours = simulatedModelHours(SCENARIO, NOW);
  t.deepEqual(
    [...Map.groupBy(hours, ({ run_time }) => run_time).entries()].map(([run_time, of]) => [
      (NOW - run_time) / MS_PER_HOUR,
      (Math.min(...of.map(({ valid_time }) => valid_time)) - NOW) / MS_PER_HOUR,
      (Math.max(...of.map(({ valid_time }) => valid_time)) - NOW) / MS_PER_HOUR,
    ]),
    [
      [1, 0, 23],
      [2, 0, 22],
    ],
  );
  const [newer, older] = hours.filter(({ valid_time }) => valid_time === NOW + 2 * MS_PER_HOUR);
  t.notDeepEqual(newer?.largest.hail_mm, older?.largest.hail_mm);
});

test('simulated runs forecast hail where the simulated storms go, and little elsewhere', (t) => {
  const hours = simulatedModelHours(SCENARIO, NOW);
  const mean = (numbers: readonly number[]) => numbers.reduce((sum, p) => sum + p, 0) / numbers.length;
  const hourly = hourRows(hourlyForecast({ model: 'hrrr', hours, after: NOW, count: 6, climatology: null }));
  t.is(hourly.length, 6);
  for (const rows of hourly) {
    t.true(rows.length > 200 && rows.every(({ data_source }) => data_source === 'simulated'));
    const middle_ms = (rows[0]?.valid_time ?? 0) - 30 * MS_PER_MIN;
    const byCell = new Map(rows.map((row) => [row.geohash4, row.hail_probability]));
    const storms = stormsBetween(SCENARIO, middle_ms, middle_ms).map((storm) => stormAt(storm, middle_ms));
    const large = storms.filter((state) => state.peak_mm >= 25 && isInWindow(SCENARIO, state));
    const hits = large.flatMap(({ lat, lon }) => byCell.get(geohash(lat, lon, 4)) ?? []);
    const overall = mean(rows.map(({ hail_probability }) => hail_probability ?? 0));
    t.true(hits.length === 0 || mean(hits) > 2 * overall, `${mean(hits)} against ${overall}`);
    t.true(overall < 0.2, `${overall}`);
  }
});
