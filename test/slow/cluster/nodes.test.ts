import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import test, { type ExecutionContext } from 'ava';
import pg from 'pg';
import { copyFolder } from '../../support/data/prepared.ts';
import { ingest, scansBetween } from '../../support/data/world.ts';
import { freePort } from '../../support/free-port.ts';
import { type Receiver, startReceiver } from '../../support/service/receiver.ts';
import {
  adapted,
  operate,
  PATH,
  restartUnderLoad,
  scratchFolder,
  startProxy,
  type Upstreams,
} from '../../support/service/restarts.ts';
import { type ServeChild, startServe } from '../../support/service/serve-child.ts';
import { WHOLE_NOW_MS, wholeRoot } from '../../support/service/whole-service.ts';
import { postgresPrograms, startCluster } from '../../support/store/cluster.ts';

const CLOCK = fileURLToPath(new URL('../../support/kill/clock.ts', import.meta.url));
const MONTHS_MS = 150 * 86_400_000;
const FIVE_MINUTES_MS = 300_000;

const hasHaproxy = spawnSync('haproxy', ['-v'], { env: { PATH } }).status === 0;

interface Nodes {
  readonly database_url: string;
  readonly root: string;
  readonly services: readonly ServeChild[];
  readonly key: string;
  /** Runs `hail-api` on their records. */
  readonly run: (...args: string[]) => string;
}

/**
 * Processes of the service on one PostgreSQL and one data root, which knows them as `node 0` and so on. `ahead_ms`: what the clock of
 * each is put forward by; null: fixed.
 */
async function startNodes(
  t: ExecutionContext,
  aheads_ms: readonly (number | null)[],
  own: Readonly<Record<string, string>> = {},
): Promise<Nodes> {
  const database_url = startCluster(t, await freePort());
  const folder = scratchFolder(t);
  const root = join(folder, 'root');
  copyFolder(await wholeRoot(), root);
  const services: ServeChild[] = [];
  t.teardown(() => Promise.all(services.map((service) => service.end('SIGKILL'))));
  for (const [k, ahead_ms] of aheads_ms.entries()) {
    const ahead = join(folder, `ahead-${k}`);
    writeFileSync(ahead, String(ahead_ms ?? 0));
    const clock = {
      NODE_OPTIONS: `--import ${CLOCK}`,
      CLOCK_FROM_MS: String(Date.now()),
      CLOCK_AHEAD_MS_IN: ahead,
    };
    const named_url = `${database_url}?application_name=node%20${k}`;
    const settings = { HAIL_DATABASE_URL: named_url, ...(ahead_ms === null ? {} : clock), ...own };
    services.push(await startServe(root, WHOLE_NOW_MS, 'info', settings));
  }
  return {
    database_url,
    root,
    services,
    key: services[0]?.keys?.live ?? '',
    run: (...args) => operate({ HAIL_DATA: root, HAIL_DATABASE_URL: database_url }, ...args),
  };
}

/** Over a new connection: services close idle ones after five seconds, and commands that run meanwhile may take longer. */
function call(node: ServeChild | undefined, key: string, path: string, init: RequestInit = {}): Promise<Response> {
  const headers = {
    Authorization: `Bearer ${key}`,
    'Content-Type': 'application/json',
    Connection: 'close',
    ...init.headers,
  };
  return fetch(`${node?.url}${path}`, { ...init, headers });
}

/** Statuses of so many parallel calls, by turns to each node, a few dozen at once. */
async function statuses(
  nodes: readonly ServeChild[],
  count: number,
  ask: (node: ServeChild | undefined, k: number) => Promise<Response>,
) {
  const found: number[] = [];
  for (let from = 0; from < count; from += 60) {
    const some = Array.from({ length: Math.min(60, count - from) }, (_, k) => from + k);
    found.push(
      ...(await Promise.all(
        some.map(async (k) => {
          const response = await ask(nodes[k % nodes.length], k);
          await response.arrayBuffer();
          return response.status;
        }),
      )),
    );
  }
  return Object.fromEntries(
    Map.groupBy(found, (status) => status)
      .entries()
      .map(([status, all]) => [status, all.length]),
  );
}

const EXPORT = JSON.stringify({
  dataset: 'detections',
  date_start: '2026-05-01',
  date_end: '2026-05-02',
  format: 'csv',
});
const VERIFY = JSON.stringify({ lat: 35.235, lon: -96.475, date_start: '2026-05-01', date_end: '2026-05-02' });
const CURRENT = '/v1/hail/current?lat=35.2&lon=-97&radius_km=100';

/** State of a job once it has ended, asked of any node by turns. */
async function endOfJob(nodes: readonly ServeChild[], key: string, path: string): Promise<Record<string, unknown>> {
  for (let k = 0; k < 300; k++) {
    const response = await call(nodes[k % nodes.length], key, path);
    const job = (await response.json()) as Record<string, unknown>;
    if (response.status !== 200) return { status: response.status, ...job };
    if (job.status !== 'pending') return job;
    await sleep(100);
  }
  throw new Error(`${path} is pending after 30 s`);
}

if (postgresPrograms === null)
  test('several services are not tested: no PostgreSQL is installed', (t) => t.is(postgresPrograms, null));
else {
  test.serial(
    'three services keep the rate, the caps, the lockout and idempotency keys of one, and go on where one was killed',
    async (t) => {
      t.timeout(300_000);
      const receiver = await startReceiver(t);
      const nodes = await startNodes(t, [null, null, null], {
        HAIL_WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8',
        HAIL_WEBHOOK_CA_FILE: receiver.ca_file,
      });
      const { services, key, run } = nodes;
      run('plan', 'set', 'default', '--rate', '200');
      await sleep(1_100); // keys are remembered for a second
      t.deepEqual(await statuses(services, 600, (node) => call(node, key, '/v1/usage')), { 200: 200, 429: 400 });
      for (const node of services) {
        const refused = await call(node, key, '/v1/usage');
        t.is(refused.headers.get('x-ratelimit-remaining'), '0');
        t.true(Number(refused.headers.get('retry-after')) > 0);
      }

      run('plan', 'set', 'default', '--rate', '1000000');
      await sleep(1_100);
      // One original, replays and refusals of parallel repetitions, whichever service they reach.
      const charged = new Set<string>();
      const posted = await statuses(services, 60, async (node) => {
        const response = await call(node, key, '/v1/verify', {
          method: 'POST',
          body: VERIFY,
          headers: { 'Idempotency-Key': 'one' },
        });
        if (response.ok) charged.add(response.headers.get('x-credits-charged') ?? '');
        return response;
      });
      t.deepEqual(
        Object.keys(posted).filter((status) => !['200', '409'].includes(status)),
        [],
      );
      const { used } = JSON.parse(run('usage', 'show', 'default', '--json'));
      t.deepEqual(charged, new Set([String(used), '0'].filter((each) => charged.has(each))));
      t.true(charged.has(String(used)));

      run('plan', 'set', 'default', '--cap', String(used + 150));
      await sleep(1_100);
      const capped = await statuses(services, 60, (node) => call(node, key, CURRENT));
      t.is(JSON.parse(run('usage', 'show', 'default', '--json')).used, used + 150, JSON.stringify(capped));
      run('usage', 'verify');

      const guesses = await statuses(services, 60, (node, k) =>
        call(node, `hs_live_${'x'.repeat(8)}${k}`, '/v1/usage'),
      );
      t.deepEqual(guesses, { 401: 10, 429: 50 });

      run('plan', 'set', 'default', '--cap', 'none');
      await sleep(1_100);
      const database = new pg.Client(nodes.database_url);
      await database.connect();
      t.teardown(() => database.end());
      await continueScan(t, nodes, database, receiver);
      await continueWrite(t, nodes, database);
    },
  );

  test.serial(
    'four services that start at once on an empty database make its tables and first business once, and again on one of the release before',
    async (t) => {
      t.timeout(300_000);
      const database_url = startCluster(t, await freePort());
      const root = join(scratchFolder(t), 'root');
      copyFolder(await wholeRoot(), root);
      const start = () => startServe(root, WHOLE_NOW_MS, 'info', { HAIL_DATABASE_URL: database_url });
      const client = new pg.Client(database_url);
      await client.connect();
      t.teardown(() => client.end());
      for (const round of ['empty', 'older'] as const) {
        if (round === 'older') {
          await client.query("drop table rate_windows, failed_attempts; delete from migrations where name like '015%'");
        }
        const services = await Promise.all([start(), start(), start(), start()]);
        t.is(services.filter(({ keys }) => keys !== null).length, round === 'empty' ? 1 : 0);
        t.is(services.filter((service) => service.log().includes('applied migration')).length, 1);
        for (const { url } of services) t.is((await fetch(`${url}/readyz`)).status, 200);
        await Promise.all(services.map((service) => service.end('SIGTERM')));
      }
      const { rows } = await client.query('select count(*)::int as businesses from businesses');
      t.is(rows[0].businesses, 1);
    },
  );

  test.serial(
    'services whose clocks are months ahead and minutes off make an export at once, and each serves it',
    async (t) => {
      t.timeout(300_000);
      const { services, key } = await startNodes(t, [MONTHS_MS, -FIVE_MINUTES_MS, FIVE_MINUTES_MS]);
      for (const node of services) {
        const accepted = await call(node, key, '/v1/exports', { method: 'POST', body: EXPORT });
        t.is(accepted.status, 202, await accepted.clone().text());
        const { job_id } = (await accepted.json()) as { job_id: string };
        const job = await endOfJob(services, key, `/v1/exports/${job_id}`);
        t.is(job.status, 'done', JSON.stringify(job));
        for (const other of services) t.is((await call(other, key, `/v1/exports/${job_id}`)).status, 200);
      }
      t.true(services[0]?.log().includes('ahead of that of the database'));
      // The month that is charged is that of the database, whichever service answers.
      const usage = await Promise.all(services.map(async (node) => await (await call(node, key, '/v1/usage')).json()));
      t.is(new Set(usage.map((each) => (each as { period: unknown }).period)).size, 1, JSON.stringify(usage[0]));
    },
  );

  const behind = hasHaproxy ? test.serial : test.skip;
  behind(
    'three services restart one after the other behind HAProxy: no request fails, and none is charged twice',
    async (t) => {
      t.timeout(400_000);
      await restartUnderLoad(t, {
        count: 3,
        rounds: 2,
        database_url: startCluster(t, await freePort()),
        startProxyBefore: startHaproxy,
        load: { repeats_writes: false },
      });
    },
  );
}

/** The shipped file of HAProxy without TLS. */
async function startHaproxy(t: ExecutionContext, { port, upstreams }: Upstreams): Promise<void> {
  const folder = scratchFolder(t);
  const config = adapted('haproxy.cfg', {
    ':443 ssl crt /etc/haproxy/hail.pem alpn h2,http/1.1': `127.0.0.1:${port}`,
    ...Object.fromEntries(upstreams.map((each, k) => [`127.0.0.1:${8080 + k}`, `127.0.0.1:${each}`])),
  });
  const path = join(folder, 'haproxy.cfg');
  writeFileSync(path, config);
  await startProxy(t, port, ['haproxy', '-db', '-f', path], {});
}

/** A circle in which the next scan has hail. */
const STORMS = { lat: 35.2, lon: -97, radius_km: 100, min_size_mm: 15 };

async function post(
  node: ServeChild | undefined,
  key: string,
  path: string,
  body: object,
  headers: Readonly<Record<string, string>> = {},
) {
  const response = await call(node, key, path, { method: 'POST', body: JSON.stringify(body), headers });
  return {
    status: response.status,
    answer: (await response.json()) as Record<string, unknown>,
    isReplay: response.headers.has('idempotent-replay'),
  };
}

async function until(what: string, isSo: () => boolean | Promise<boolean>): Promise<void> {
  for (const end_ms = performance.now() + 60_000; performance.now() < end_ms; await sleep(10)) if (await isSo()) return;
  throw new Error(`${what}: not after a minute`);
}

interface Page {
  readonly next_cursor: string | null;
}

/** A walk through the subscriptions from service to service has the pages of one. */
async function continueWalks(t: ExecutionContext, { services, key }: Nodes, ids: readonly string[]): Promise<void> {
  const walk = async (nodeOf: (page: number) => number) => {
    const pages: Page[] = [];
    for (let query = ''; pages.at(-1)?.next_cursor !== null; query = `&cursor=${pages.at(-1)?.next_cursor}`)
      pages.push(
        (await (await call(services[nodeOf(pages.length)], key, `/v1/alerts?limit=1${query}`)).json()) as Page,
      );
    return pages;
  };
  const alone = await walk(() => 0);
  t.is(alone.length, ids.length);
  t.deepEqual(await walk((page) => page % 3), alone);
  t.deepEqual(await walk((page) => (page + 1) % 3), alone);
}

/** Names of the services with a statement that waits for a lock on a table. */
async function waitingFor(database: pg.Client, table: string): Promise<readonly string[]> {
  const { rows } = await database.query<{ application_name: string }>(
    `select application_name from pg_locks join pg_stat_activity using (pid)
    where relation = $1::regclass and not granted`,
    [table],
  );
  return rows.map(({ application_name }) => application_name);
}

/** Kills the service that is in the middle of the alerts of a scan; another one raises each once, and each is delivered once. */
async function continueScan(
  t: ExecutionContext,
  nodes: Nodes,
  database: pg.Client,
  { url, received }: Receiver,
): Promise<void> {
  const { root, services, key } = nodes;
  const ids: string[] = [];
  for (let k = 0; k < 5; k++) {
    const body = { ...STORMS, name: `place ${k}`, webhook_url: `${url}/${k}` };
    const { answer } = await post(services[k % 3], key, '/v1/alerts/subscribe', body);
    ids.push(String(answer.id));
  }
  await continueWalks(t, nodes, ids);

  await database.query('begin; lock table alerts in share mode');
  const publishing = ingest(root, await scansBetween('00:12', '00:14'), { now_ms: WHOLE_NOW_MS });
  let raising: readonly string[] = [];
  await until('a service raises alerts', async () => {
    raising = await waitingFor(database, 'alerts');
    return raising.length > 0;
  });
  t.is(raising.length, 1);
  await services[Number(raising[0]?.replace('node ', ''))]?.end('SIGKILL');
  await database.query('rollback');
  await publishing;
  await until('another service delivers the alerts', () => received.length >= ids.length);
  t.deepEqual(
    received.map(({ path, body }) => `${JSON.parse(body).event} ${path}`).sort(),
    ids.map((_, k) => `alert.created /hook/${k}`),
  );
  const { rows } = await database.query('select location_id from alerts order by location_id');
  t.deepEqual(
    rows.map(({ location_id }) => location_id),
    [...ids].sort(),
  );
}

/** Kills the service that works on a write; another one does it under its Idempotency-Key, once, and repeats its answer. */
async function continueWrite(t: ExecutionContext, { services, key }: Nodes, database: pg.Client): Promise<void> {
  const [first, second] = services.filter(({ child }) => child.signalCode === null);
  const order = (node: ServeChild | undefined) =>
    post(node, key, '/v1/exports', JSON.parse(EXPORT), { 'Idempotency-Key': 'once' });
  await database.query('begin; lock table jobs in share mode');
  const cut = order(first).catch(() => null);
  await until('the service works on the write', async () => (await waitingFor(database, 'jobs')).length > 0);
  t.like(await order(second), { status: 409, answer: { error: 'idempotency_key_in_progress' } });
  await first?.end('SIGKILL');
  await database.query('rollback');
  t.is(await cut, null);
  const done = await order(second);
  t.is(done.status, 202, JSON.stringify(done.answer));
  t.deepEqual(await order(second), { ...done, isReplay: true });
  const { rowCount } = await database.query("select from ledger where operation = 'exports.create'");
  t.is(rowCount, 1);
}
