import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import fc from 'fast-check';
import { DiskRefusal } from '../../pipeline/error.ts';
import { collectedRows } from '../../pipeline/feeds/collected-spans.ts';
import type { FeedFile } from '../../pipeline/feeds/define-feed.ts';
import { ingestFeedFiles } from '../../pipeline/feeds/ingest-files.ts';
import { uniqueReports } from '../../pipeline/feeds/reports.ts';
import {
  pollFeed,
  publishPoll,
  readFeedStates,
  type Schedule,
  startSchedule,
  waitAfter,
} from '../../pipeline/feeds/schedule.ts';
import { openWebFeed, WEB_FEEDS, warnings } from '../../pipeline/feeds/web-feeds.ts';
import { sha256 } from '../../pipeline/files.ts';
import { outlookFeed, refreshForecast } from '../../pipeline/forecast/publish-forecast.ts';
import { openLog } from '../../pipeline/log.ts';
import { readNewest, tablePaths } from '../../pipeline/publish/manifests.ts';
import { openRoot } from '../../pipeline/publish/open-root.ts';
import type { Root } from '../../pipeline/publish/root.ts';
import { readRows } from '../../pipeline/publish/tables.ts';
import { verifyRoot } from '../../pipeline/publish/verify.ts';
import { readLsrGeoJson } from '../../pipeline/read/reports.ts';
import { openWeb } from '../../pipeline/sources/http.ts';
import type { CollectionName } from '../../schemas/collections.ts';
import type { Table } from '../../schemas/columns.ts';
import { layout } from '../../schemas/layout.ts';
import {
  type CollectedReports,
  type CollectedSpan,
  collectedReports,
  type FileReport,
  type GroundReport,
  groundReports,
  type Watch,
  watches,
} from '../../schemas/tables/feeds.ts';
import { TABLES } from '../../schemas/tables/index.ts';
import { MS_PER_MIN, timestamp } from '../../schemas/time.ts';
import { alertFeature, alertFile } from '../support/data/alert.ts';
import { feedFigures } from '../support/data/feed-figures.ts';
import { watchFile } from '../support/data/feeds.ts';
import { pluck } from '../support/data/rows.ts';
import { sharedData, sharedTest } from '../support/data/shared-data.ts';
import { startWebServer, type WebServer } from '../support/data/web-server.ts';
import { until } from '../support/until.ts';

const NOW = Date.parse('2026-05-01T23:00:00Z');
const HEADER = 'Time,Size,Location,County,State,Lat,Lon,Comments';

async function opened(t: ExecutionContext, path = mkdtempSync(join(tmpdir(), 'hail-feeds-'))): Promise<Root> {
  const root = await openRoot(path, 'test', 0, NOW);
  t.teardown(() => root.close());
  return root;
}

function file(name: string, text: string | Uint8Array, received_ms = NOW): FeedFile {
  return { name, bytes: typeof text === 'string' ? Buffer.from(text) : text, received_ms };
}

function spcRow(hhmm: string, size: number, lat = '35.20', remark = 'HAIL. (OUN)'): string {
  return `${hhmm},${size},2 N NORMAN,CLEVELAND,OK,${lat},-97.40,${remark}`;
}

function alert(id: string) {
  return alertFeature({ properties: { id, sent: '2026-05-01T22:00:00Z', ends: '2026-05-01T23:30:00Z' } });
}

const ingestFiles = (root: Root, ...files: FeedFile[]) =>
  ingestFeedFiles(root, WEB_FEEDS, files, { now_ms: NOW, provenance: 'observed' });

async function rowsOf<Row = Record<string, unknown>>(root: Root, name: CollectionName): Promise<Row[]> {
  const manifest = await readNewest(root.path, layout.collectionPartition(name));
  const table = TABLES.find((one) => manifest?.files.some((entry) => entry.table === one.name));
  if (manifest === null || table === undefined) throw new Error(`${name} is not published`);
  const paths = manifest.files.filter((entry) => entry.table === table.name).map(({ path }) => join(root.path, path));
  const rows = await readRows<Row & { is_current?: boolean }>(root.engine, table, paths);
  return rows.filter(({ is_current = true }) => is_current);
}

test('reports of a list are published by the storm date and month of their time, not of their file', async (t) => {
  const root = await opened(t);
  const list = file('260430_rpts_hail.csv', `${HEADER}\n${spcRow('2310', 175)}\n${spcRow('0105', 100)}\n`);
  const { files, changed } = await ingestFiles(root, list);
  t.deepEqual(changed, ['reports']);
  t.is(files[0]?.items, 2);
  const rows = await rowsOf<{ storm_date: string; size_mm: number }>(root, 'reports');
  t.deepEqual(pluck(rows, 'storm_date'), ['2026-04-30', '2026-05-01']);
  t.deepEqual(pluck(rows, 'size_mm'), [44.45, 25.4]);
  const manifest = await readNewest(root.path, layout.collectionPartition('reports'));
  t.deepEqual([...new Set(manifest?.files.map(({ segment }) => segment))].sort(), ['2026-04', '2026-05', 'collected']);
});

test('the same file again changes nothing', async (t) => {
  const root = await opened(t);
  const list = file('260501_rpts_hail.csv', `${HEADER}\n${spcRow('2010', 175)}\n`);
  t.deepEqual((await ingestFiles(root, list)).changed, ['reports']);
  t.deepEqual((await ingestFiles(root, { ...list, received_ms: NOW + 120_000 })).changed, []);
  t.is((await readNewest(root.path, layout.collectionPartition('reports')))?.commit, 1);
});

test('a report that a later version of its list withdraws is gone', async (t) => {
  const root = await opened(t);
  const running = `${HEADER}\n${spcRow('2010', 175)}\n${spcRow('2030', 100)}\n`;
  await ingestFiles(root, file('today_filtered_hail.csv', running));
  await ingestFiles(root, file('260501_rpts_filtered_hail.csv', `${HEADER}\n${spcRow('2010', 175)}\n`, NOW + 60_000));
  t.is((await rowsOf(root, 'reports')).length, 1);
  await ingestFiles(root, file('260501_rpts_filtered_hail.csv', `${HEADER}\n`, NOW + 60_000));
  t.is((await rowsOf(root, 'reports')).length, 0, 'of versions of one receipt the last one counts');
});

test('an older version of a list that comes late withdraws nothing and brings nothing back', async (t) => {
  const versions = [
    file('260501_rpts_hail.csv', `${HEADER}\n${spcRow('2010', 175)}\n${spcRow('2030', 100)}\n`, NOW - 120_000),
    file('260501_rpts_hail.csv', `${HEADER}\n${spcRow('2030', 100)}\n${spcRow('2040', 150)}\n`, NOW - 60_000),
    file('260501_rpts_hail.csv', `${HEADER}\n${spcRow('2010', 175)}\n${spcRow('2050', 125)}\n`, NOW),
  ];
  for (const order of ['012', '210', '120', '201']) {
    const root = await opened(t);
    for (const index of order) await ingestFiles(root, versions[Number(index)]!);
    t.deepEqual(pluck(await rowsOf<{ size_mm: number }>(root, 'reports'), 'size_mm'), [44.45, 31.75], order);
  }
});

for (const [name, text, reason] of [
  ['PTSDY1.txt', '000\nWUUS01 KWNS 011237\nPTSDY1\n', /^PTS text is not read, expected the GeoJSON/],
  ['LSROUN.txt', '128\nNWUS54 KOUN 012113\nLSROUN\n', /^LSR text is not read, expected the GeoJSON/],
  ['SEL3.txt', '231\nWWUS20 KWNS 100330\nSEL3\n', /^SEL text is not read, expected the SAW text/],
  ['WWP3.txt', '551\nWWUS40 KWNS 100329\nWWP3\n', /^WWP text is not read, expected the SAW text/],
] as const)
  test(`${name} is rejected by name`, async (t) => {
    const root = await opened(t);
    const { files } = await ingestFiles(root, file(name, text));
    t.regex(files[0]?.refused ?? '', reason);
    t.is(readdirSync(join(root.path, layout.rejectedFeeds)).length, 2);
  });

test('the time of a rejected hail report does not count as collected; without a time, the span of its poll does not', async (t) => {
  const root = await opened(t);
  const lsrs = (...units: string[]) => {
    const features = units.map((unit, k) => ({
      type: 'Feature',
      geometry: { type: 'Point', coordinates: [-97.4, 35.2] },
      properties: {
        ...{ valid: unit === 'timeless' ? 'x' : `2026-05-01T2${k}:15:00Z`, magnitude: 1, unit },
        ...{ qualifier: 'E', typetext: 'HAIL', wfo: 'OUN' },
        product_id: '202605012230-KOUN-NWUS54-LSROUN',
      },
    }));
    return file('lsrs_recent.geojson', JSON.stringify({ type: 'FeatureCollection', features }));
  };
  const poll = async (received: FeedFile) => {
    const span = { source: 'lsr', from_ms: Date.parse('2026-05-01T00:00:00Z'), until_ms: NOW } as const;
    const collected = [{ ...span, data_source: 'observed' }] as const;
    await ingestFeedFiles(root, WEB_FEEDS, [received], { now_ms: NOW, provenance: 'observed', collected });
    const manifest = await readNewest(root.path, layout.collectionPartition('reports'));
    const paths = tablePaths(root.path, manifest!, collectedReports.name);
    const rows = await readRows<CollectedReports>(root.engine, collectedReports, paths);
    const clock = (ms: number) => timestamp(ms).slice(11, 16);
    return rows.map((row) => `${clock(row.collected_from)}-${clock(row.collected_until)}`);
  };
  t.deepEqual(await poll(lsrs('Inch')), ['00:00-23:00']);
  t.deepEqual(await poll(lsrs('Inch', 'cm')), ['00:00-21:10', '21:20-23:00']);
  t.deepEqual(await poll(lsrs('cm')), ['00:00-20:10', '20:20-21:10', '21:20-23:00']);
  t.deepEqual(await poll(lsrs('in', 'in')), ['00:00-23:00']);
  t.deepEqual(await poll(lsrs('in', 'timeless')), []);
  t.deepEqual(await poll(lsrs('in')), ['00:00-23:00']);
  t.deepEqual(await poll(lsrs('timeless')), [], 'in a file that is rejected as a whole too');
});

test('an empty list is a day without reports, and is published as such', async (t) => {
  const root = await opened(t);
  await ingestFiles(root, file('260501_rpts_hail.csv', `${HEADER}\n`));
  t.deepEqual(await rowsOf(root, 'reports'), []);
});

test('a page of an error in the place of a file is rejected with its reason, and the others are ingested', async (t) => {
  const root = await opened(t);
  const { files, changed } = await ingestFiles(
    root,
    file('alerts.json', '<html><body>504 Gateway Timeout</body></html>'),
    file('260501_rpts_hail.csv', `${HEADER}\n${spcRow('2010', 175)}\n`),
  );
  t.deepEqual(changed, ['reports']);
  t.regex(files[0]?.refused ?? '', /html or xml page, expected the geojson of alerts/);
  const aside = readdirSync(join(root.path, layout.rejectedFeeds));
  t.is(aside.length, 2);
  const reason = aside.find((name) => name.endsWith('.reason.json')) ?? '';
  t.regex(readFileSync(join(root.path, layout.rejectedFeeds, reason), 'utf8'), /expected the geojson of alerts/);
});

test('rejected files are bounded: the newest stay', async (t) => {
  const root = await opened(t);
  const folder = join(root.path, layout.rejectedFeeds);
  await ingestFiles(root, file('alerts.json', '<html>504</html>'));
  for (let k = 0; k < 500; k += 1) {
    writeFileSync(join(folder, `${k}-old.json`), '');
    utimesSync(join(folder, `${k}-old.json`), 1000, 1000 + k);
  }
  await ingestFiles(root, file('alerts.json', Buffer.alloc(3 * 1024 * 1024, '<html>503</html>')));
  const left = readdirSync(folder);
  t.is(left.length, 400);
  const kept = left.filter((name) => name.endsWith('-alerts.json'));
  t.is(kept.length, 2);
  t.true(kept.every((name) => statSync(join(folder, name)).size <= 1024 * 1024));
});

test('a list none of whose rows can be used withdraws nothing', async (t) => {
  const root = await opened(t);
  await ingestFiles(root, file('260501_rpts_hail.csv', `${HEADER}\n${spcRow('2010', 175)}\n`));
  const unusable = file('260501_rpts_hail.csv', `${HEADER}\n${spcRow('2010', 0)}\n`, NOW + 120_000);
  const { files } = await ingestFiles(root, unusable);
  t.regex(files[0]?.refused ?? '', /none of its 1 items can be used, expected some: line 2: size is '0'/);
  t.is((await rowsOf(root, 'reports')).length, 1);
});

test('a file of no known kind is named, not ingested', async (t) => {
  const root = await opened(t);
  const { files, changed } = await ingestFiles(root, file('notes.docx', 'x'));
  t.deepEqual(changed, []);
  t.deepEqual(files[0]?.refused, 'is of no known kind');
});

test('alerts of several polls add up, each message once', async (t) => {
  const root = await opened(t);
  await ingestFiles(root, file('alerts.json', alertFile(alert('urn:a'), alert('urn:b'))));
  await ingestFiles(root, file('alerts.json', alertFile(alert('urn:b'), alert('urn:c')), NOW + 120_000));
  const rows = await rowsOf<{ warning_id: string }>(root, 'warnings');
  t.deepEqual(rows.map(({ warning_id }) => warning_id).sort(), ['urn:a', 'urn:b', 'urn:c']);
});

test('simulated reports give way to observed ones of the same day, not of other days', async (t) => {
  const root = await opened(t);
  const simulated = spcRow('2010', 200, '36.00', 'SIMULATED REPORT. (SIM)');
  await ingestFiles(root, file('260429_rpts_hail.csv', `${HEADER}\n${simulated}\n`));
  await ingestFiles(root, file('260501_rpts_hail.csv', `${HEADER}\n${simulated}\n`));
  const before = await rowsOf<{ data_source: string }>(root, 'reports');
  t.deepEqual(new Set(before.map(({ data_source }) => data_source)), new Set(['simulated']));
  await ingestFiles(root, file('260501_rpts_raw_hail.csv', `${HEADER}\n${spcRow('2110', 175)}\n`));
  const rows = await rowsOf<{ storm_date: string; data_source: string }>(root, 'reports');
  t.deepEqual(pluck(rows, 'storm_date'), ['2026-04-29', '2026-05-01']);
  t.deepEqual(pluck(rows, 'data_source'), ['simulated', 'observed']);
});

test('a month none of whose watches has an outline is read like the others, before and after one that has', async (t) => {
  const root = await opened(t);
  const [march, april] = ['2026-03-01T19:00:00Z', '2026-04-01T19:00:00Z'].map(Date.parse);
  const times = { from: '011900', to: '020100' };
  await ingestFiles(root, watchFile({ number: 1, ...times }, null, march));
  await ingestFiles(root, watchFile({ number: 2, ...times }, [-98, 35, -97, 36], april));
  await ingestFiles(root, watchFile({ number: 3, ...times }, null, NOW));
  const rows = await rowsOf<{ number: number; geometry: string | null }>(root, 'watches');
  t.deepEqual(pluck(rows, 'number'), [1, 2, 3]);
  t.deepEqual([rows[0]?.geometry, rows[2]?.geometry], [null, null]);
  t.regex(rows[1]?.geometry ?? '', /^POLYGON/);
});

test('what collections hold passes verification', async (t) => {
  const root = await opened(t);
  await ingestFiles(root, file('260430_rpts_hail.csv', `${HEADER}\n${spcRow('2310', 175)}\n${spcRow('0105', 100)}\n`));
  await ingestFiles(root, file('260501_rpts_hail.csv', `${HEADER}\n${spcRow('2110', 175)}\n`));
  const { faults, files } = await verifyRoot(root.engine, root.path, null, () => {});
  t.deepEqual(faults, []);
  t.is(files, 3);
});

test('a new root with the same files in another order holds the same rows', async (t) => {
  const lists = [
    file('260430_rpts_hail.csv', `${HEADER}\n${spcRow('2310', 175)}\n`),
    file('260501_rpts_hail.csv', `${HEADER}\n${spcRow('2110', 100)}\n${spcRow('2120', 150)}\n`),
  ];
  const [one, other] = [await opened(t), await opened(t)];
  for (const list of lists) await ingestFiles(one, list);
  for (const list of lists.toReversed()) await ingestFiles(other, list);
  t.deepEqual(await rowsOf(one, 'reports'), await rowsOf(other, 'reports'));
});

const T0 = Date.parse('2025-06-05T23:00:00Z');

/** A local storm report `at` minutes after 23 UTC in a product issued `issued` minutes after 23 UTC. */
function lsr(at: number, issued: number, size_mm: number, more: Partial<FileReport> = {}): FileReport {
  const report = {
    source: 'lsr' as const,
    time: T0 + at * MS_PER_MIN,
    lat: 33.24,
    lon: -103.28,
    size_mm,
    is_measured: false,
    place: '2 ESE Tatum',
    county: 'Lea',
    state: 'NM',
    office: 'MAF',
    remark: null,
    product_id: `product ${issued}`,
    issued_at: T0 + issued * MS_PER_MIN,
    data_source: 'observed' as const,
    is_correction: false,
    corrects_place: null,
    list: null,
    ...more,
  };
  const report_id = `${report.source}:${report.office}:${timestamp(report.time)}:${report.lat},${report.lon}`;
  return { report_id, ...report };
}

function spc(at: number, size_mm: number, more: Partial<FileReport> = {}): FileReport {
  return lsr(at, 0, size_mm, { source: 'spc', product_id: null, issued_at: null, is_measured: null, ...more });
}

/** Standing reports in order of time. */
function standing(reports: readonly FileReport[]): FileReport[] {
  const keyOf = ({ time, report_id, data_source }: FileReport) => `${time} ${report_id} ${data_source}`;
  return uniqueReports(reports).sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
}

const sizes = (reports: readonly FileReport[]) => pluck(standing(reports), 'size_mm');
const CORRECTION = { is_correction: true, corrects_place: '2 ESE Tatum' };

sharedTest('the four hail rows of 5 June 2025 are two events: 3.0 inches corrected, 5.0 inches issued twice', (t) => {
  const name = 'iem_lsrs_by_point_20250605_trimmed.geojson';
  const { rows } = readLsrGeoJson(readFileSync(sharedData('reports', 'lsr', name)), name, T0 + 86_400_000);
  const unique = standing(rows);
  t.is(unique.length, feedFigures().reports.iem_lsr[name]!.distinct_hail_time_place);
  t.deepEqual(pluck(unique, 'size_mm'), [76.2, 127]);
  t.deepEqual(pluck(unique, 'product_id'), ['202506060013-KMAF-NWUS54-LSRMAF', '202506060913-KLUB-NWUS54-LSRLUB']);
});

test('of a report issued again the newest product counts, whatever the order', (t) => {
  t.deepEqual(sizes([lsr(32, 66, 63.5), lsr(32, 73, 76.2)]), [76.2]);
  t.deepEqual(sizes([lsr(32, 73, 50.8), lsr(32, 66, 63.5)]), [50.8]);
});

test('of two sizes in one product the larger counts', (t) =>
  t.deepEqual(sizes([lsr(32, 66, 25.4), lsr(32, 66, 44.45)]), [44.45]));

test('a correction that moves the time replaces the report nearest in time', (t) =>
  t.deepEqual(sizes([lsr(10, 20, 19.05), lsr(40, 50, 31.75), lsr(34, 70, 25.4, CORRECTION)]), [19.05, 25.4]));

test('a correction that moves the place replaces the report at the place it names', (t) => {
  const elsewhere = { is_correction: true, corrects_place: '2 ese  tatum', place: '4 E Tatum', lon: -103.2 };
  t.deepEqual(sizes([lsr(32, 40, 25.4), lsr(32, 70, 44.45, elsewhere)]), [44.45]);
});

test('a correction at the same time and place leaves an earlier event there alone', (t) =>
  t.deepEqual(sizes([lsr(0, 10, 25.4), lsr(32, 60, 63.5), lsr(32, 70, 76.2, CORRECTION)]), [25.4, 76.2]));

test('a correction issued twice still replaces what it corrects', (t) => {
  const moved = (issued: number) => lsr(34, issued, 25.4, CORRECTION);
  t.deepEqual(sizes([lsr(40, 50, 31.75), moved(70), moved(90)]), [25.4]);
});

test('a correction never replaces another office, a later report, or one more than an hour away', (t) => {
  const correction = lsr(0, 70, 25.4, { ...CORRECTION, lat: 33.3 });
  t.deepEqual(sizes([lsr(5, 20, 19.05, { office: 'LUB' }), correction]), [25.4, 19.05]);
  t.deepEqual(sizes([lsr(5, 80, 19.05), correction]), [25.4, 19.05]);
  t.deepEqual(sizes([lsr(61, 65, 19.05), correction]), [25.4, 19.05]);
});

test('a row of the list at the minute and place of a local storm report is a copy of it', (t) => {
  t.deepEqual(pluck(standing([spc(32, 63.5, { lat: 33.25 }), lsr(32, 73, 76.2)]), 'source'), ['lsr']);
  t.deepEqual(pluck(standing([spc(32, 63.5, { lat: 33.25 }), lsr(32, 73, 76.2)]), 'size_mm'), [76.2]);
  t.deepEqual(sizes([spc(33, 63.5), lsr(32, 73, 76.2)]), [76.2, 63.5]);
  t.deepEqual(sizes([spc(32, 63.5, { lat: 33.4 }), lsr(32, 73, 76.2)]).toSorted(), [63.5, 76.2]);
});

test('the raw and the filtered list together count a report once', (t) =>
  t.deepEqual(sizes([spc(32, 63.5), spc(32, 63.5)]), [63.5]));

test('simulated and observed reports never join', (t) => {
  t.is(standing([lsr(32, 66, 25.4), lsr(32, 73, 50.8, { data_source: 'simulated' })]).length, 2);
  t.is(standing([spc(32, 25.4), lsr(32, 73, 50.8, { data_source: 'simulated' })]).length, 2);
});

const anyReport = fc
  .record({
    at: fc.integer({ min: 0, max: 6 }),
    issued: fc.integer({ min: 0, max: 9 }),
    size_mm: fc.constantFrom(19.05, 25.4, 44.45),
    is_spc: fc.boolean(),
    more: fc.record({
      lat: fc.constantFrom(33.24, 33.25, 33.4),
      office: fc.constantFrom('MAF', 'LUB'),
      place: fc.constantFrom('A', 'B'),
    }),
    corrects_place: fc.option(fc.constantFrom('A', 'B')),
  })
  .map(({ at, issued, size_mm, is_spc, more, corrects_place }) =>
    is_spc
      ? spc(10 * at, size_mm, more)
      : lsr(10 * at, 10 * at + issued, size_mm, { ...more, is_correction: corrects_place !== null, corrects_place }),
  );

test('the order of arrival never changes the events', (t) => {
  const inAnyOrder = fc.array(anyReport, { maxLength: 14 }).chain((reports) => {
    return fc.tuple(fc.constant(reports), fc.shuffledSubarray(reports, { minLength: reports.length }));
  });
  const property = fc.property(inAnyOrder, ([reports, shuffled]) => {
    t.deepEqual(standing(shuffled), standing(reports));
  });
  fc.assert(property, { numRuns: 300 });
});

test('joining what is joined already changes nothing more', (t) => {
  const property = fc.property(fc.array(anyReport, { maxLength: 14 }), (reports) => {
    const once = standing(reports).map((report) => ({ ...report, is_correction: false, corrects_place: null }));
    t.deepEqual(standing(once), once);
  });
  fc.assert(property, { numRuns: 200 });
});

const at = (time: string) => Date.parse(`2026-05-${time}:00Z`);
const span = (source: 'spc' | 'lsr', from: string | null, until: string): CollectedSpan => ({
  ...{ source, from_ms: from === null ? null : at(from), until_ms: at(until), data_source: 'observed' },
});
const told = (rows: readonly CollectedReports[]) =>
  rows.map(({ storm_date, source, collected_from, collected_until }) => {
    const [from, until] = [collected_from, collected_until].map((ms) => timestamp(ms).slice(8, 16));
    return `${storm_date} ${source} ${from} ${until}`;
  });

test('the list of a convective day counts for both of its UTC dates, up to when it was collected', (t) => {
  const collected = (until: string, start_hour: number) =>
    told(collectedRows([], [span('spc', '01T12:00', until)], [], start_hour));
  t.deepEqual(collected('02T12:00', 0), ['2026-05-01 spc 01T12:00 02T00:00', '2026-05-02 spc 02T00:00 02T12:00']);
  t.deepEqual(collected('02T12:00', 12), ['2026-05-01 spc 01T12:00 02T12:00']);
  t.deepEqual(collected('01T18:37', 0), ['2026-05-01 spc 01T12:00 01T18:30']);
});

test('spans of a source that touch are joined, and a gap between them stays', (t) => {
  const first = collectedRows([], [span('lsr', '01T00:00', '01T06:00'), span('spc', '01T12:00', '01T13:00')], [], 0);
  const then = collectedRows(first, [span('lsr', '01T05:00', '01T10:00')], [], 0);
  t.deepEqual(told(then), ['2026-05-01 lsr 01T00:00 01T10:00', '2026-05-01 spc 01T12:00 01T13:00']);
  const later = collectedRows(then, [span('lsr', '01T20:00', '02T01:00')], [], 0);
  t.deepEqual(told(later), [
    '2026-05-01 lsr 01T00:00 01T10:00',
    '2026-05-01 lsr 01T20:00 02T00:00',
    '2026-05-01 spc 01T12:00 01T13:00',
    '2026-05-02 lsr 02T00:00 02T01:00',
  ]);
  t.deepEqual(collectedRows(later, [], [], 0), later, 'without news nothing changes');
});

test('a list that did not change goes on counting, up to the end of its day and not beyond', (t) => {
  const list = collectedRows([], [span('spc', '01T12:00', '01T18:00')], [], 0);
  t.deepEqual(told(collectedRows(list, [span('spc', null, '01T21:00')], [], 0)), ['2026-05-01 spc 01T12:00 01T21:00']);
  t.deepEqual(told(collectedRows(list, [span('spc', null, '03T01:00')], [], 0)), [
    '2026-05-01 spc 01T12:00 02T00:00',
    '2026-05-02 spc 02T00:00 02T12:00',
  ]);
  t.deepEqual(collectedRows([], [span('spc', null, '01T21:00')], [], 0), [], 'a look without any list says nothing');
});

test('what was simulated is no part of what was observed', (t) => {
  const observed = span('spc', '01T12:00', '02T00:00');
  const rows = collectedRows([], [observed, { ...observed, data_source: 'simulated' }], [], 0);
  t.deepEqual(pluck(rows, 'data_source'), ['observed', 'simulated']);
});
const LIST =
  'Time,Size,Location,County,State,Lat,Lon,Comments\n2010,175,2 N NORMAN,CLEVELAND,OK,35.20,-97.40,HAIL. (OUN)\n';
const ALERTS = alertFile(alert('urn:a')).toString();
const SPC = '/climo/reports/today_filtered_hail.csv';
const LSR = '/geojson/lsr.geojson';
const ACTIVE = '/alerts/active';

interface Rig {
  readonly root: Root;
  readonly schedule: Schedule;
  readonly server: WebServer;
  /** Works off until the condition holds; fails after a minute. */
  readonly until: (holds: () => Promise<boolean> | boolean) => Promise<void>;
}

const addressesOf = ({ url }: WebServer) => ({ spc_url: url, lsr_url: url, nws_url: url, user_agent: 'test' });

/** Feeds of the names given, polled every tenth of a second. */
async function rig(t: ExecutionContext, names: readonly string[], server: WebServer): Promise<Rig> {
  const path = mkdtempSync(join(tmpdir(), 'hail-schedule-'));
  const root = await openRoot(path, 'test', 0, NOW);
  const stop = new AbortController();
  const chosen = WEB_FEEDS.filter(({ name }) => names.includes(name)).map((feed) => ({ ...feed, every_s: 0.1 }));
  const network = { signal: stop.signal, patience: { retries: 0, first_ms: 1, longest_ms: 1 } };
  const web = openWeb('test (test)', network);
  const schedule = startSchedule({
    feeds: chosen.map((feed) => openWebFeed(feed, web, addressesOf(server))),
    now: () => NOW,
    log: openLog('silent', false),
    signal: stop.signal,
    refresh: refreshForecast,
  });
  t.teardown(async () => {
    stop.abort();
    await root.close();
    rmSync(path, { recursive: true });
  });
  const workedOff: Rig['until'] = (holds) =>
    until(async () => {
      await schedule.workOff(root);
      return await holds();
    });
  return { root, schedule, server, until: workedOff };
}

async function stateOf({ root }: Rig, name: string) {
  return (await readFeedStates(root.path)).get(name);
}

/** Current rows of the table of a collection. */
async function currentOf<Row extends GroundReport | Watch>({ root }: Rig, table: Table): Promise<Row[]> {
  const partition = layout.collectionPartition(table === watches ? 'watches' : 'reports');
  const manifest = await readNewest(root.path, partition);
  const paths = manifest === null ? [] : tablePaths(root.path, manifest, table.name);
  return readRows<Row>(root.engine, table, paths, 'is_current');
}

const reportsOf = (rig: Rig) => currentOf<GroundReport>(rig, groundReports);

test('every feed has its row from the start, also one whose server is silent', async (t) => {
  const server = await startWebServer(t, { [SPC]: () => {} });
  const at = await rig(t, ['spc-reports', 'warnings'], server);
  await at.schedule.register(at.root);
  const states = await readFeedStates(at.root.path);
  t.deepEqual([...states.keys()], ['spc-reports', 'warnings']);
  t.is(states.get('spc-reports')?.last_success_at, null);
});

for (const [what, damage] of [
  ['lost', (path: string) => rmSync(path)],
  ['damaged', (path: string) => writeFileSync(path, '{"feeds":')],
] as const)
  test(`a list of states that was ${what} is written anew, with a row for every feed`, async (t) => {
    const server = await startWebServer(t, { [SPC]: () => {}, [ACTIVE]: ALERTS });
    const at = await rig(t, ['spc-reports', 'warnings'], server);
    await at.until(async () => (await stateOf(at, 'warnings'))?.last_success_at !== null);
    damage(join(at.root.path, layout.feeds));
    await at.schedule.workOff(at.root);
    t.deepEqual([...(await readFeedStates(at.root.path)).keys()], ['spc-reports', 'warnings']);
    await at.until(async () => (await stateOf(at, 'warnings'))?.last_success_at === '2026-05-01T23:00:00Z');
  });

test('a silent server holds up its own feed only', async (t) => {
  const at = await rig(t, ['spc-reports', 'warnings'], await startWebServer(t, { [SPC]: () => {}, [ACTIVE]: ALERTS }));
  await at.until(async () => (await stateOf(at, 'warnings'))?.last_success_at === '2026-05-01T23:00:00Z');
  t.is((await stateOf(at, 'spc-reports'))?.last_attempt_at, null);
  t.not(await readNewest(at.root.path, layout.collectionPartition('warnings')), null);
});

test('a page that did not change is not sent again, and counts as read', async (t) => {
  const server = await startWebServer(t, { [ACTIVE]: ALERTS });
  const at = await rig(t, ['warnings'], server);
  await at.until(() => server.asked.length >= 3);
  t.is((await stateOf(at, 'warnings'))?.failure, null);
  t.is((await readNewest(at.root.path, layout.collectionPartition('warnings')))?.commit, 1);
});

test('a page of an error keeps the last success, and says why', async (t) => {
  const server = await startWebServer(t, { [ACTIVE]: ALERTS });
  const at = await rig(t, ['warnings'], server);
  await at.until(async () => (await stateOf(at, 'warnings'))?.last_success_at !== null);
  server.answers.set(ACTIVE, '<html>Service Unavailable</html>');
  await at.until(async () => (await stateOf(at, 'warnings'))?.failure !== null);
  const state = await stateOf(at, 'warnings');
  t.is(state?.last_success_at, '2026-05-01T23:00:00Z');
  t.regex(state?.failure ?? '', /alerts\.json: an html or xml page, expected the geojson of alerts/);
});

test('alerts none of which can be used are a failure, not an area without warnings', async (t) => {
  const server = await startWebServer(t, { [ACTIVE]: alertFile({ type: 'Feature', properties: {} }).toString() });
  const at = await rig(t, ['warnings'], server);
  await at.until(async () => (await stateOf(at, 'warnings'))?.failure !== null);
  t.regex((await stateOf(at, 'warnings'))?.failure ?? '', /none of its 1 items can be used/);
  t.is(await readNewest(at.root.path, layout.collectionPartition('warnings')), null);
});

for (const [what, damage] of [
  ['lost', (path: string) => rmSync(path)],
  ['damaged', (path: string) => writeFileSync(path, 'no Parquet')],
] as const)
  test(`a published file that was ${what} fails its feed and no other`, async (t) => {
    const server = await startWebServer(t, { [ACTIVE]: ALERTS, [SPC]: LIST });
    const at = await rig(t, ['warnings', 'spc-reports'], server);
    await at.until(async () => (await stateOf(at, 'warnings'))?.last_success_at !== null);
    const manifest = await readNewest(at.root.path, layout.collectionPartition('warnings'));
    damage(join(at.root.path, manifest?.files[0]?.path ?? ''));
    server.answers.set(ACTIVE, ALERTS.replaceAll('urn:a', 'urn:bb'));
    await at.until(async () => (await stateOf(at, 'warnings'))?.failure !== null);
    t.regex((await stateOf(at, 'warnings'))?.failure ?? '', /warnings\/.*cannot be read/);
    await at.until(async () => (await stateOf(at, 'spc-reports'))?.last_success_at !== null);
    t.is((await stateOf(at, 'spc-reports'))?.failure, null);
  });

test('a feed that comes back is read again', async (t) => {
  const server = await startWebServer(t, { [ACTIVE]: (_, response) => response.writeHead(503).end() });
  const at = await rig(t, ['warnings'], server);
  await at.until(async () => /503/.test((await stateOf(at, 'warnings'))?.failure ?? ''));
  server.answers.set(ACTIVE, ALERTS);
  await at.until(async () => (await stateOf(at, 'warnings'))?.failure === null);
  t.is((await stateOf(at, 'warnings'))?.last_success_at, '2026-05-01T23:00:00Z');
});

test('a needed page that a server does not have is a failure, one for yesterday is not', async (t) => {
  const at = await rig(t, ['spc-reports'], await startWebServer(t, { [SPC]: LIST }));
  await at.until(async () => (await stateOf(at, 'spc-reports'))?.last_success_at !== null);
  at.server.answers.delete(SPC);
  await at.until(async () => (await stateOf(at, 'spc-reports'))?.failure !== null);
  t.regex((await stateOf(at, 'spc-reports'))?.failure ?? '', /404, expected 200/);
});

for (const [what, modified, time] of [
  ['changed before 12 UTC is that of the day before', 'Fri, 01 May 2026 11:58:00 GMT', '2026-04-30T20:10:00Z'],
  ['changed after 12 UTC is that of the day itself', 'Fri, 01 May 2026 22:58:00 GMT', '2026-05-01T20:10:00Z'],
  ['changed in the future is that of the day itself', 'Sat, 02 May 2026 13:00:00 GMT', '2026-05-01T20:10:00Z'],
  ['of which the server does not say when it changed is that of the day itself', null, '2026-05-01T20:10:00Z'],
  ['of which the server says no readable date is that of the day itself', 'yesterday', '2026-05-01T20:10:00Z'],
] as const)
  test(`the running list of the storm centre ${what}`, async (t) => {
    const server = await startWebServer(t, {
      [SPC]: (_, response) => response.writeHead(200, modified === null ? {} : { 'last-modified': modified }).end(LIST),
    });
    const at = await rig(t, ['spc-reports'], server);
    await at.until(async () => (await stateOf(at, 'spc-reports'))?.last_success_at !== null);
    t.deepEqual(pluck(await reportsOf(at), 'time'), [Date.parse(time)]);
  });

test('the list of a day that lies under both of its names is one list', async (t) => {
  const server = await startWebServer(t, {
    [SPC]: (_, response) => response.writeHead(200, { 'last-modified': 'Fri, 01 May 2026 11:58:00 GMT' }).end(LIST),
    '/climo/reports/260430_rpts_filtered_hail.csv': LIST.replace('175', '200'),
  });
  const at = await rig(t, ['spc-reports'], server);
  await at.until(async () => (await stateOf(at, 'spc-reports'))?.last_success_at !== null);
  const rows = await reportsOf(at);
  // The file under its own date is the later one.
  t.deepEqual(pluck(rows, 'size_mm'), [50.8]);
});

test('local storm reports are asked for a day back', async (t) => {
  const server = await startWebServer(t, { [LSR]: '{"type":"FeatureCollection","features":[]}' });
  const at = await rig(t, ['lsr'], server);
  await at.until(() => server.asked.length > 0);
  t.is(server.asked[0], `${LSR}?sts=2026-04-30T23%3A00Z&ets=2026-05-02T00%3A00Z`);
});

test('a body over its limit is refused before it fills the memory', async (t) => {
  const server = await startWebServer(t, {
    [ACTIVE]: (_, response) => response.writeHead(200, { 'content-length': 1 << 30 }).write('{'),
  });
  const at = await rig(t, ['warnings'], server);
  await at.until(async () => (await stateOf(at, 'warnings'))?.failure != null);
  t.regex((await stateOf(at, 'warnings'))?.failure ?? '', /announces 1073741824 bytes/);
});

const SAW = `000\nWWUS30 KWNS 012015\nSAW1\nSPC AWW 012015\nWW 101 SEVERE TSTM OK TX 012015Z - 020300Z\nAXIS..60 STATUTE MILES EAST AND WEST OF LINE..\n`;

test('a text is fetched once, and its list asked for again', async (t) => {
  const list = JSON.stringify({ '@graph': [{ id: 'one', issuanceTime: '2026-05-01T20:15:00+00:00' }] });
  const server = await startWebServer(t, { '/products': list, '/products/one': JSON.stringify({ productText: SAW }) });
  const at = await rig(t, ['watches'], server);
  await at.until(() => server.asked.filter((url) => url.startsWith('/products?type=SAW')).length >= 3);
  // The three types share one list here: the text is asked for under each until it is published.
  t.true(server.asked.filter((url) => url === '/products/one').length <= 3);
});

test('a text that cannot be read fails its poll and is not fetched again', async (t) => {
  const list = JSON.stringify({ '@graph': [{ id: 'bad', issuanceTime: '2026-05-01T20:15:00+00:00' }] });
  const bad = JSON.stringify({ productText: 'SAW1\nnothing' });
  const server = await startWebServer(t, { '/products': list, '/products/bad': bad });
  const at = await rig(t, ['watches'], server);
  await at.until(async () => (await stateOf(at, 'watches'))?.failure !== null);
  await at.until(async () => (await stateOf(at, 'watches'))?.failure === null);
  t.true(server.asked.filter((url) => url === '/products/bad').length <= 3);
});

const WATCH_LIST = JSON.stringify({
  '@graph': ['bad', 'one'].map((id) => ({ id, issuanceTime: '2026-05-01T20:15:00+00:00' })),
});

for (const [what, answer] of [
  ['that the server has not', null],
  ['that is an error page', '<html>Service Unavailable</html>'],
  ['that is JSON of another kind', '{"status":500}'],
  ['of a million letters', JSON.stringify({ productText: 'x'.repeat(1_000_000) })],
] as const)
  test(`a text ${what} costs itself only, is named, and is asked for until it comes`, async (t) => {
    const good = JSON.stringify({ productText: SAW });
    const server = await startWebServer(t, { '/products': WATCH_LIST, '/products/one': good });
    if (answer !== null) server.answers.set('/products/bad', answer);
    const at = await rig(t, ['watches'], server);
    await at.until(async () => (await stateOf(at, 'watches'))?.failure !== null);
    const failure = (await stateOf(at, 'watches'))?.failure ?? '';
    t.regex(failure, /\/products\/bad: (server answers 404|is not JSON|producttext: )/i);
    t.is((await currentOf(at, watches)).length, 1);
    server.answers.set('/products/bad', good);
    await at.until(async () => (await stateOf(at, 'watches'))?.failure === null);
  });

test('an entry of a list of texts that cannot be read leaves the others', async (t) => {
  const entries = [{ id: '../x' }, { id: 'one', issuanceTime: '2026-05-01T20:15:00+00:00' }];
  const list = JSON.stringify({ '@graph': entries });
  const server = await startWebServer(t, { '/products': list, '/products/one': JSON.stringify({ productText: SAW }) });
  const at = await rig(t, ['watches'], server);
  await at.until(async () => (await stateOf(at, 'watches'))?.failure !== null);
  t.is((await currentOf(at, watches)).length, 1);
});

test('a slow feed that fails is polled again within minutes, ever less often up to its own pace', (t) => {
  const minutes = (usual: number) => [0, 1, 2, 3, 4, 5, 6, 2000].map((n) => waitAfter(usual * 60_000, n) / 60_000);
  t.deepEqual(minutes(2), [2, 2, 4, 8, 15, 15, 15, 15]);
  t.deepEqual(minutes(60), [60, 2, 4, 8, 16, 32, 60, 60]);
});

test('an outlook without any component counts as failed, so that it is tried again when they have come', async (t) => {
  const at = await rig(t, ['spc-outlooks'], await startWebServer(t));
  const log = openLog('silent', false);
  const { failure } = await publishPoll(at.root, await pollFeed(outlookFeed(log), NOW), log);
  t.regex(failure ?? '', /none of its components is published/);
  t.is((await stateOf(at, 'outlook'))?.last_success_at, null);
});

test('files are ingested with the next call when the disk took no more', async (t) => {
  const at = await rig(t, ['warnings'], await startWebServer(t, { [ACTIVE]: ALERTS }));
  let refuses = true;
  const check = () => {
    if (refuses) throw new DiskRefusal('publish', 'x', new Error('full'));
  };
  const root: Root = { ...at.root, check };
  const isFull = (error: unknown) => {
    if (!(error instanceof DiskRefusal)) throw error;
    return true;
  };
  await until(() => at.schedule.workOff(root).then(() => false, isFull));
  refuses = false;
  await at.schedule.workOff(root);
  t.is((await stateOf(at, 'warnings'))?.last_success_at, '2026-05-01T23:00:00Z');
});

for (const [what, place, pages] of [
  ['the states of the feeds', () => layout.feeds, { [ACTIVE]: ALERTS }],
  [
    'a rejected file',
    () => join(layout.rejectedFeeds, `${sha256('<html>').slice(0, 8)}-alerts.json.reason.json`),
    { [ACTIVE]: '<html>' },
  ],
] as const)
  test(`a disk that takes no more when ${what} is written is waited out like any other`, async (t) => {
    const at = await rig(t, ['spc-reports'], await startWebServer(t, pages));
    const poll = await pollFeed(openWebFeed(warnings, openWeb('test'), addressesOf(at.server)), NOW);
    const draft = join(at.root.path, `${place()}.part`);
    mkdirSync(dirname(draft), { recursive: true });
    symlinkSync('/dev/full', draft);
    await t.throwsAsync(publishPoll(at.root, poll, openLog('silent', false)), { instanceOf: DiskRefusal });
    // The draft is gone with the failure: the disk takes more.
    await publishPoll(at.root, poll, openLog('silent', false));
    t.is((await stateOf(at, 'warnings'))?.last_attempt_at, '2026-05-01T23:00:00Z');
  });
