import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { UsageError } from '../../../pipeline/error.ts';
import { silent } from '../../../pipeline/log.ts';
import { createPipelineMetrics, observedLog } from '../../../pipeline/metrics/registry.ts';
import { serveMetrics, watchRoot } from '../../../pipeline/metrics/watched-stream.ts';
import { layout } from '../../../schemas/layout.ts';
import { MANIFEST_VERSION } from '../../../schemas/manifest.ts';
import { until } from '../../support/until.ts';

const NOW_MS = Date.parse('2026-05-01T12:00:00Z');

async function emptyRoot(): Promise<string> {
  return mkdtemp(join(tmpdir(), 'hail metrics "root" '));
}

function partsOf(data_root: string) {
  return { data_root, now: () => NOW_MS };
}

/** Value of a series as a scraper reads it; null when it is absent. */
function seriesValue(text: string, series: string): number | null {
  const line = text.split('\n').find((each) => each.startsWith(`${series} `));
  return line === undefined ? null : Number(line.slice(series.length + 1));
}

function writeFeeds(root: string): void {
  const feed = {
    name: 'warnings',
    collection: 'warnings',
    every_s: 60,
    followed_since: '2026-05-01T00:00:00Z',
    last_attempt_at: '2026-05-01T11:59:00Z',
    last_success_at: '2026-05-01T11:30:00Z',
    failure: 'no answer',
    source: 'observed',
  };
  const never = { ...feed, name: 'lsr', last_attempt_at: null, last_success_at: null, failure: null };
  writeFileSync(join(root, layout.feeds), JSON.stringify({ manifest_version: MANIFEST_VERSION, feeds: [feed, never] }));
}

test('the events of a log are counted, and reach the log unchanged', async (t) => {
  const metrics = createPipelineMetrics('1.2.3');
  const events: string[] = [];
  const log = observedLog(
    { ...silent, info: (event) => events.push(event), warn: (event) => events.push(event) },
    metrics,
  );
  log.info('Scan:Commit:Done', { scans: 3, redone: 1, detections: 40, cells: 5, seconds: 0.4 });
  log.warn('File:Read:Rejected', { file: 'a', stage: 'read', reason: 'is short' });
  log.warn('File:Read:Rejected', { file: 'b', stage: 'a stage of the future', reason: 'is odd' });
  log.info('Root:Sweep:Done', { files: 2, bytes: 1000 });
  log.info('Month:Join:Done', { month: '2026-04', seconds: 2.5 });
  t.deepEqual(events, [
    'Scan:Commit:Done',
    'File:Read:Rejected',
    'File:Read:Rejected',
    'Root:Sweep:Done',
    'Month:Join:Done',
  ]);
  const text = await metrics.registry.metrics();
  t.is(seriesValue(text, 'hail_pipeline_scans_total{kind="new"}'), 2);
  t.is(seriesValue(text, 'hail_pipeline_scans_total{kind="redone"}'), 1);
  t.is(seriesValue(text, 'hail_pipeline_rows_total{table="detections"}'), 40);
  t.is(seriesValue(text, 'hail_pipeline_commit_seconds_sum'), 0.4);
  t.is(seriesValue(text, 'hail_pipeline_files_refused_total{reason="read"}'), 1);
  t.is(seriesValue(text, 'hail_pipeline_files_refused_total{reason="other"}'), 1);
  t.is(seriesValue(text, 'hail_pipeline_swept_bytes_total'), 1000);
  t.is(seriesValue(text, 'hail_pipeline_compaction_seconds_total{what="months"}'), 2.5);
  t.is(seriesValue(text, `hail_pipeline_build_info{version="1.2.3",node="${process.version}"}`), 1);
});

test('an event with fields that no counter takes breaks nothing and adds no label', async (t) => {
  const { observe, registry } = createPipelineMetrics('1');
  observe('Scan:Commit:Done', { scans: Number.NaN, redone: -3, detections: 'many', seconds: Number.POSITIVE_INFINITY });
  observe('Scan:Commit:Done', {});
  observe('Feed:Item:Rejected', { feed: '"}\nhail_fake 1' });
  observe('constructor', {});
  const text = await registry.metrics();
  t.is(seriesValue(text, 'hail_pipeline_scans_total{kind="new"}'), 0);
  t.is(seriesValue(text, 'hail_pipeline_commits_total'), 2);
  t.is(seriesValue(text, 'hail_pipeline_feed_items_refused_total{feed="other"}'), 1);
  t.false(text.includes('hail_fake'));
});

test('what a root has never had is absent, not 0', async (t) => {
  const metrics = createPipelineMetrics('1');
  await watchRoot(metrics, partsOf(await emptyRoot()))();
  const text = await metrics.registry.metrics();
  for (const name of ['scan_age_seconds', 'scan_newest_timestamp_seconds', 'root_locked'])
    t.is(seriesValue(text, `hail_pipeline_${name}`), null, name);
  t.false(/^hail_pipeline_feed_\w+\{/m.test(text));
  for (const part of ['scan', 'feeds', 'disk'])
    t.is(seriesValue(text, `hail_pipeline_scrape_failed{part="${part}"}`), 0);
  t.true((seriesValue(text, 'hail_pipeline_disk_free_bytes') ?? 0) > 0);
});

test('ages of feeds are those of the moment of the scrape, and a feed that never delivered has none', async (t) => {
  const root = await emptyRoot();
  writeFeeds(root);
  const metrics = createPipelineMetrics('1');
  let now_ms = NOW_MS;
  const refresh = watchRoot(metrics, { ...partsOf(root), now: () => now_ms });
  await refresh();
  t.is(seriesValue(await metrics.registry.metrics(), 'hail_pipeline_feed_age_seconds{feed="warnings"}'), 1800);
  now_ms += 60_000;
  await refresh();
  const text = await metrics.registry.metrics();
  t.is(seriesValue(text, 'hail_pipeline_feed_age_seconds{feed="warnings"}'), 1860);
  t.is(seriesValue(text, 'hail_pipeline_feed_failed{feed="warnings"}'), 1);
  t.is(seriesValue(text, 'hail_pipeline_feed_age_seconds{feed="lsr"}'), null);
  t.is(seriesValue(text, 'hail_pipeline_feed_failed{feed="lsr"}'), null);
  t.is(seriesValue(text, 'hail_pipeline_feed_interval_seconds{feed="lsr"}'), 60);
  now_ms = NOW_MS - 86_400_000;
  await refresh();
  t.is(seriesValue(await metrics.registry.metrics(), 'hail_pipeline_feed_age_seconds{feed="warnings"}'), 0);
});

test('a part that cannot be read is named and absent, and the others are there', async (t) => {
  const root = await emptyRoot();
  writeFeeds(root);
  const metrics = createPipelineMetrics('1');
  const refresh = watchRoot(metrics, partsOf(root));
  await refresh();
  writeFileSync(join(root, layout.feeds), '{"feeds":');
  await refresh();
  const text = await metrics.registry.metrics();
  t.is(seriesValue(text, 'hail_pipeline_scrape_failed{part="feeds"}'), 1);
  t.is(seriesValue(text, 'hail_pipeline_scrape_failed{part="disk"}'), 0);
  t.is(seriesValue(text, 'hail_pipeline_feed_age_seconds{feed="warnings"}'), null);
});

test('metrics are answered at /metrics alone, and a port in use is a mistake of the settings', async (t) => {
  const metrics = createPipelineMetrics('1');
  const at = { host: '127.0.0.1', port: 0 };
  const server = await serveMetrics(metrics, at, async () => {});
  t.teardown(server.close);
  const url = `http://127.0.0.1:${server.port}`;
  const answer = await fetch(`${url}/metrics`);
  t.regex(answer.headers.get('content-type') ?? '', /^text\/plain/);
  t.regex(await answer.text(), /^hail_pipeline_nodejs_eventloop_lag_seconds /m);
  t.is((await fetch(`${url}/metrics?x`)).status, 404);
  t.is((await fetch(`${url}/metrics`, { method: 'POST' })).status, 404);
  const taken = { ...at, port: server.port };
  await t.throwsAsync(
    serveMetrics(createPipelineMetrics('1'), taken, async () => {}),
    { instanceOf: UsageError, message: /HAIL_PIPELINE_METRICS_PORT is \d+.*EADDRINUSE.*expected a free port/ },
  );
});

test('scrapers that never read their answer, or never ask, hold no place for ever', async (t) => {
  const metrics = createPipelineMetrics('1');
  const server = await serveMetrics(metrics, { host: '127.0.0.1', port: 0 }, async () => {});
  t.teardown(server.close);
  const crowd = Array.from({ length: 8 }, (_, n) => {
    const socket = connect(server.port, '127.0.0.1').on('error', () => {});
    t.teardown(() => void socket.destroy());
    socket.pause();
    // More answers than any buffer of a connection holds.
    if (n % 2 === 0) for (let sent = 0; sent < 2000; sent++) socket.write('GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n');
    return socket;
  });
  await Promise.all(crowd.map((socket) => once(socket, 'connect')));
  const ask = () => fetch(`http://127.0.0.1:${server.port}/metrics`, { headers: { Connection: 'close' } });
  await until(() =>
    ask().then(
      ({ ok }) => ok,
      () => false,
    ),
  );
  t.pass();
});
