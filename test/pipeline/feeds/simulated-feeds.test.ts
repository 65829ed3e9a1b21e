import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { readFeedStates } from '../../../pipeline/feeds/feed-states.ts';
import { ingestSimulatedFeeds } from '../../../pipeline/feeds/simulated-feeds.ts';
import { readNewest } from '../../../pipeline/publish/manifests.ts';
import { openRoot, type Root } from '../../../pipeline/publish/root.ts';
import { readRows } from '../../../pipeline/publish/tables.ts';
import { scanTimes } from '../../../pipeline/simulate/scan-times.ts';
import type { CollectionName } from '../../../schemas/collections.ts';
import { multiPolygonFromWkt } from '../../../schemas/geo/wkt.ts';
import { layout } from '../../../schemas/layout.ts';
import type { GroundReport, SpcOutlook, Warning, Watch } from '../../../schemas/tables/feeds.ts';
import { COLLECTION_TABLES } from '../../../schemas/tables/index.ts';
import { multiPolygonContains } from '../../support/data/polygons.ts';

const NOW = Date.parse('2026-05-01T23:00:00Z');
const path = mkdtempSync(join(tmpdir(), 'hail-simulated-feeds-'));
const HOURS = 24;
const scansBefore = (now_ms: number) => scanTimes(7, NOW - HOURS * 3_600_000, now_ms);
let root: Root;

test.before(async () => {
  root = await openRoot(path, 'test', 0, NOW);
  await ingestSimulatedFeeds(root, { seed: 7, hours: HOURS, scan_times: scansBefore(NOW) }, NOW);
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

test('every collection has rows, and every row says that it is simulated', async (t) => {
  for (const name of ['reports', 'warnings', 'watches', 'outlooks'] as const) {
    const rows = await rowsOf<{ data_source: string }>(name);
    t.true(rows.length > 0, name);
    t.deepEqual(new Set(rows.map((row) => row.data_source)), new Set(['simulated']), name);
  }
});

test('every feed is noted as read, and as simulated', async (t) => {
  const states = [...(await readFeedStates(path)).values()];
  t.deepEqual(
    new Set(states.map(({ source, last_success_at }) => `${source} ${last_success_at}`)),
    new Set(['simulated 2026-05-01T23:00:00Z']),
  );
});

test('reports are of the hours that scans saw, and none is older', async (t) => {
  const times = (await rowsOf<GroundReport>('reports')).map(({ time }) => time);
  const scans = scansBefore(NOW);
  t.true(Math.min(...times) >= scans[0] && Math.max(...times) <= (scans.at(-1) ?? 0));
});

test('most large hail that is reported was warned of when it fell', async (t) => {
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

test('an update names the warning that it replaces, and shares its event', async (t) => {
  const warnings = await rowsOf<Warning>('warnings');
  const byId = new Map(warnings.map((warning) => [warning.warning_id, warning]));
  const updates = warnings.filter(({ message_type, replaces }) => message_type === 'Update' && byId.has(replaces));
  t.true(updates.length > 10);
  t.deepEqual(
    updates.filter(({ replaces, vtec_event }) => byId.get(replaces)?.vtec_event !== vtec_event),
    [],
  );
});

test('most reported hail of the day lies in the 5 % area of the day, and less in the 30 % area', async (t) => {
  const outlooks = (await rowsOf<SpcOutlook>('outlooks')).filter(({ day, hazard }) => day === 1 && hazard === 'hail');
  const reports = (await rowsOf<GroundReport>('reports')).filter(({ size_mm }) => size_mm >= 25.4);
  const inside = (label: string) => {
    const area = outlooks.find((row) => row.label === label)?.geometry ?? '';
    return reports.filter(({ lat, lon }) => multiPolygonContains(multiPolygonFromWkt(area), [lon, lat])).length;
  };
  t.true(inside('0.05') > 0.7 * reports.length);
  t.true(inside('0.30') < inside('0.05'));
});

test('days 1 to 8 have an outlook, and the last ones show nothing', async (t) => {
  const outlooks = await rowsOf<SpcOutlook>('outlooks');
  t.deepEqual(
    [1, 2, 3, 4, 5, 6, 7, 8].map((day) =>
      outlooks.filter((row) => row.day === day).some(({ geometry }) => geometry !== null),
    ),
    [true, true, true, true, true, false, false, false],
  );
});

test('watches have outlines, and the discussion before each concerns it', async (t) => {
  const rows = await rowsOf<Watch>('watches');
  t.deepEqual([...new Set(rows.map(({ type }) => type))].sort(), ['mesoscale_discussion', 'severe_thunderstorm_watch']);
  t.true(rows.every(({ geometry, hail_size_mm }) => geometry !== null && (hail_size_mm ?? 0) >= 38));
});

test('an hour later the same weather goes on: nothing that was said is taken back', async (t) => {
  const before = await rowsOf<Warning>('warnings');
  const reported = (await rowsOf<GroundReport>('reports')).length;
  const later = NOW + 3_600_000;
  await ingestSimulatedFeeds(root, { seed: 7, hours: HOURS, scan_times: scansBefore(later) }, later);
  const after = new Set((await rowsOf<Warning>('warnings')).map(({ warning_id }) => warning_id));
  t.deepEqual(
    before.filter(({ warning_id }) => !after.has(warning_id)),
    [],
  );
  t.true((await rowsOf<GroundReport>('reports')).length > reported);
});
