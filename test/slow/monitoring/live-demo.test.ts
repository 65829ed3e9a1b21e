import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { layout } from '../../../schemas/layout.ts';
import { asObserved, deliver, filesOf, scansBetween, scratch } from '../../support/data/world.ts';
import { freePort } from '../../support/free-port.ts';
import { command, ended, start } from '../../support/kill/killed.ts';
import { dashboardPanels, MONITORING } from '../../support/monitoring/dashboard.ts';
import { startReceiver } from '../../support/service/receiver.ts';
import { startServe } from '../../support/service/serve-child.ts';

const hasPrometheus = spawnSync('prometheus', ['--version']).status === 0;
const demoTitle =
  'a simulated stream is a live demo: scans come by the clock, the service shows their hail, Prometheus fills the panels of the dashboard';

/** Expressions without data in a short run, and why. */
const RARE: readonly (readonly [pattern: RegExp, reason: string])[] = [
  [/hail_(cache|store)_|hail_pipeline_(leader|lease|replica|store)/, 'only with a store'],
  [/hail_pipeline_run_/, 'files of commands come through the node exporter'],
];

interface Event {
  readonly msg: string;
  readonly [field: string]: unknown;
}

/** Starts a simulated stream by the real clock and collects its events. */
function startStream(t: ExecutionContext, root: string) {
  const environment = { HAIL_NOW: '', HAIL_PIPELINE_METRICS_PORT: '0' };
  const child = start(root, ['stream', '--source', 'simulate', '--every', '10', '--hours', '0.1'], { environment });
  t.teardown(() => child.kill('SIGKILL'));
  const events: Event[] = [];
  let rest = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    const lines = `${rest}${text}`.split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) if (line.startsWith('{')) events.push(JSON.parse(line));
    child.emit('told');
  });
  const end = ended(child);
  const event = async (name: string, fits: (event: Event) => boolean = () => true): Promise<Event> => {
    while (true) {
      const found = events.find((one) => one.msg === name && fits(one));
      if (found !== undefined) return found;
      const stopped = await Promise.race([once(child, 'told').then(() => null), end]);
      if (stopped !== null) throw new Error(`the stream ended without ${name}: ${stopped.stderr}`);
    }
  };
  return { child, events, event, end };
}

/** Starts a real Prometheus with the shipped configuration, for the given ports and a scrape every second. */
async function startPrometheus(t: ExecutionContext, ports: { readonly api: number; readonly pipeline: number }) {
  const folder = await scratch(t, 'prometheus');
  mkdirSync(folder, { recursive: true });
  const shipped = readFileSync(new URL('prometheus.yml', MONITORING), 'utf8');
  const config = shipped
    .replaceAll('15s', '1s')
    .replace('127.0.0.1:18080', `127.0.0.1:${ports.api}`)
    .replace('127.0.0.1:18070', `127.0.0.1:${ports.pipeline}`);
  writeFileSync(join(folder, 'prometheus.yml'), config);
  writeFileSync(join(folder, 'rules.yml'), readFileSync(new URL('rules.yml', MONITORING)));
  const port = await freePort();
  const child: ChildProcess = spawn(
    'prometheus',
    [
      `--config.file=${join(folder, 'prometheus.yml')}`,
      `--storage.tsdb.path=${join(folder, 'data')}`,
      `--web.listen-address=127.0.0.1:${port}`,
    ],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  );
  t.teardown(() => child.kill('SIGKILL'));
  let told = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    told += text;
  });
  /** Values of an expression. One that is no number is no data: a panel shows nothing. */
  const query = async (expr: string): Promise<readonly number[]> => {
    const reply = await fetch(`http://127.0.0.1:${port}/api/v1/query?query=${encodeURIComponent(expr)}`);
    const { status, error, data } = (await reply.json()) as {
      status: string;
      error?: string;
      data: { result: { value: [number, string] }[] };
    };
    if (status !== 'success') throw new Error(`${expr}: ${error}`);
    return data.result.map(({ value }) => Number(value[1])).filter((value) => !Number.isNaN(value));
  };
  /** Waits until an expression has a result. */
  const until = async (expr: string): Promise<void> => {
    for (let tries = 0; tries < 240; tries++) {
      const found = await query(expr).catch(() => []);
      if (found.length > 0) return;
      if (child.exitCode !== null) throw new Error(`prometheus ended: ${told}`);
      await pause(500);
    }
    throw new Error(`${expr} has no result after two minutes: ${told}`);
  };
  return { query, until };
}

test.serial(hasPrometheus ? demoTitle : `${demoTitle} (panels need prometheus, which is absent)`, async (t) => {
  const root = await scratch(t);
  const stream = startStream(t, root);
  const { port: pipeline } = await stream.event('Metrics:Listen:Ready');
  await stream.event('Scan:Commit:Done');
  // The scans of the minutes before the start are made up for; then one comes every ten seconds.
  const live = await stream.event('Scan:Commit:Done', ({ newest, time }) => {
    const scan_ms = Date.parse(
      String(newest).replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z'),
    );
    return Date.parse(String(time)) - scan_ms < 60_000;
  });
  t.is(live.scans, 1);
  const api = await freePort();
  const receiver = await startReceiver(t);
  const service = await startServe(root, Date.now(), 'warn', {
    HAIL_NOW: '',
    HAIL_METRICS_PORT: String(api),
    HAIL_WEBHOOK_CA_FILE: receiver.ca_file,
    HAIL_WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8',
  });
  t.teardown(() => service.end('SIGKILL'));
  const call = (path: string, sent?: object) =>
    fetch(`${service.url.replace(/\/v1$/, '')}/v1${path}`, {
      headers: { Authorization: `Bearer ${service.keys?.live}`, 'Content-Type': 'application/json' },
      ...(sent === undefined ? {} : { method: 'POST', body: JSON.stringify(sent) }),
    });
  const cells: { lat: number; lon: number }[] = [];
  for (const place of [
    'lat=33.5&lon=-101',
    'lat=33.5&lon=-97',
    'lat=36&lon=-99',
    'lat=36&lon=-96',
    'lat=38.5&lon=-98',
  ]) {
    const reply = await call(`/hail/current?${place}&radius_km=150`);
    const text = await reply.text();
    t.is(reply.status, 200, text);
    t.is(reply.headers.get('x-data-source'), 'simulated');
    cells.push(...JSON.parse(text).cells);
  }
  t.true(cells.length > 0, 'there is hail in the window of the demo');
  t.is((await call('/nothing')).status, 404);

  if (hasPrometheus) {
    const prometheus = await startPrometheus(t, { api, pipeline: Number(pipeline) });
    for (const job of ['hail-api', 'hail-pipeline']) await prometheus.until(`sum_over_time(up{job="${job}"}[1m]) >= 3`);
    await call('/hail/current?lat=36&lon=-99&radius_km=150');
    const [cell] = cells;
    const watch = { name: 'Demo', lat: cell?.lat, lon: cell?.lon, radius_km: 100, min_size_mm: 10 };
    const watched = await call('/alerts/subscribe', { ...watch, webhook_url: receiver.url });
    t.is(watched.status, 200, await watched.text());
    for (const counted of ['hail_requests_total', 'hail_delivery_attempts_total', 'hail_pipeline_commits_total'])
      await prometheus.until(`sum(increase(${counted}[1m])) > 0`);
    await prometheus.until('hail_ledger_difference_credits');
    t.true(receiver.received.length >= 1);
    const empty: string[] = [];
    for (const { title, targets } of dashboardPanels())
      for (const { expr } of targets) {
        const found = await prometheus.query(expr);
        if (found.length === 0 && !RARE.some(([pattern]) => pattern.test(expr))) empty.push(`${title}: ${expr}`);
      }
    t.deepEqual(empty, []);
    t.deepEqual(
      await prometheus.query('ALERTS{alertstate="firing",alertname=~"HailPipelineDown|HailServiceDown"}'),
      [],
    );
  }

  stream.child.kill('SIGTERM');
  t.is((await stream.end).code, 0);
  const before = stream.events.filter(({ msg }) => msg === 'Scan:Commit:Done').map(({ newest }) => String(newest));
  const again = startStream(t, root);
  const next = await again.event('Scan:Commit:Done');
  t.true(String(next.newest) > String(before.at(-1)), 'a stream that starts again goes on after its last scan');
  t.is(next.redone, 0);
  again.child.kill('SIGTERM');
  t.is((await again.end).code, 0);
  const { feeds } = JSON.parse(readFileSync(join(root, layout.feeds), 'utf8'));
  t.true(feeds.length >= 5 && feeds.every(({ source }: { source: string }) => source === 'simulated'));
  const heads = readdirSync(join(root, layout.manifests)).filter((name) => /^\d{4}-/.test(name));
  for (const date of heads)
    t.is(JSON.parse(readFileSync(join(root, layout.head(date)), 'utf8')).source, 'simulated', date);
  const verified = await command(root, ['verify'], { environment: { HAIL_NOW: '' } });
  t.is(verified.code, 0, verified.stdout);
});

test.serial(
  'simulated weather is refused by a root that holds observed data, by a fixed clock, and by options of other sources',
  async (t) => {
    const [root, from] = [await scratch(t), await scratch(t, 'from')];
    await deliver(from, filesOf((await asObserved(t, await scansBetween('23:55', '23:59'))).slice(0, 1)));
    t.is((await command(root, ['ingest', '--from', from])).code, 0);
    const environment = { HAIL_NOW: '' };
    const mixed = await command(root, ['stream', '--source', 'simulate'], { environment });
    t.is(mixed.code, 4, mixed.stderr);
    t.regex(mixed.stderr, /holds observed data \(.+\), expected none beside simulated weather/);
    const fixed = await command(root, ['stream', '--source', 'simulate']);
    t.is(fixed.code, 2);
    t.regex(fixed.stderr, /HAIL_NOW fixes the clock/);
    for (const [args, message] of [
      [['--source', 'simulate', '--every', '5'], /--every is 5, expected whole seconds from 10 to 120/],
      [['--source', 'simulate', '--from', 'x'], /--from does not go with --source simulate/],
      [['--source', 'simulate', '--no-feeds'], /--feeds does not go with --source simulate/],
      [['--source', 'noaa', '--seed', '3'], /--seed goes with --source simulate/],
    ] as const) {
      const refused = await command(root, ['stream', ...args], { environment });
      t.is(refused.code, 2, refused.stderr);
      t.regex(refused.stderr, message);
    }
  },
);
