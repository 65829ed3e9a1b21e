import { fork } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import test, { type ExecutionContext } from 'ava';
import pg from 'pg';
import { createBusiness } from '../../api/accounts/businesses.ts';
import { SELF_HOSTED } from '../../api/accounts/plans.ts';
import { openRecords, type Records } from '../../api/billing/records.ts';
import { selfSigned } from '../../api/commands/self-signed.ts';
import { openSecrets } from '../../api/records/secrets.ts';
import { openQueue } from '../../api/records/tasks.ts';
import { enqueueEvent } from '../../api/webhooks/events.ts';
import { insertWebhook } from '../../api/webhooks/receivers.ts';
import { scratch } from '../support/data/world.ts';
import { HOSTILE } from '../support/service/hostile.ts';
import { type Receiver, type Scope, startReceiver } from '../support/service/receiver.ts';
import { type ServeChild, startServe } from '../support/service/serve-child.ts';
import { WHOLE_NOW_MS } from '../support/service/whole-service.ts';
import { hasPostgres } from '../support/store/world.ts';
import { until } from '../support/until.ts';

/** A webhook of a business, for whom events can be enqueued. */
interface TenantWebhook {
  readonly business_id: string;
  readonly webhook_id: string;
}

/** Businesses beside a running service, at its records. */
interface Tenants {
  readonly records: Records;
  /** Makes a business with a webhook for each address. */
  readonly make: (name: string, urls: readonly string[]) => Promise<readonly TenantWebhook[]>;
  /** Enqueues an event for a webhook, as another process would; returns its id once it is committed. */
  readonly send: (webhook: TenantWebhook) => Promise<string>;
}

/** Opens the records of a service that runs on a data root. */
async function openTenants(scope: Scope, data_root: string, database_url: string | null): Promise<Tenants> {
  const now = () => WHOLE_NOW_MS;
  const records = await openRecords({ data_root, database_url, now });
  scope.teardown(records.close);
  const secrets = await openSecrets(records, { records_root: data_root, master_keys: null, now });
  const queue = openQueue(records.store, { failed: console.error, troubled: console.error });
  scope.teardown(queue.close);
  return {
    records,
    make: (name, urls) =>
      records.transaction(async (rows) => {
        const business = await createBusiness(rows, name, SELF_HOSTED, WHOLE_NOW_MS);
        if (business === null) throw new Error(`business ${name} exists, expected a new name`);
        const made: TenantWebhook[] = [];
        for (const url of urls) {
          const writer = { rows, business_id: business.id, now_ms: WHOLE_NOW_MS };
          const created = await insertWebhook(writer, secrets, { url, events: ['alert.created'] }, urls.length);
          made.push({ business_id: business.id, webhook_id: created?.webhook.id ?? '' });
        }
        return made;
      }),
    send: async ({ business_id, webhook_id }) => {
      const [id = ''] = await records.transaction((rows) =>
        enqueueEvent(
          rows,
          { queue, store: records.store },
          {
            ...{ business_id, receivers: [webhook_id], event: 'alert.created', data: {} },
            ...{ alert_id: null, after: null, at_ms: WHOLE_NOW_MS },
          },
        ),
      );
      return id;
    },
  };
}

const HOSTILE_CHILD = fileURLToPath(new URL('../support/service/hostile-child.ts', import.meta.url));
const HOSTILE_RECEIVERS = 40;
const MEMORY_GROWTH_MAX_MB = 200;
const HEALTH_MAX_MS = 2_000;
const HANGING_TENANTS = 3;
const HANGING_PER_TENANT = 100;
const EVENTS_PER_HANGING = 3;
const HEALTHY_EVENTS = 60;
const GOAL_P95_MS = 2_000;
/** Longer than two rounds of attempts that take their whole time. */
const WATCHED_MS = 20_000;

interface Setup {
  readonly server: ServeChild;
  readonly tenants: Tenants;
  /** Arrivals at the receiver: when the first request of an event came, epoch milliseconds. */
  readonly arrived: ReadonlyMap<string, number>;
  /** Requests that were left unanswered or answered without an end so far. */
  readonly hanging: () => number;
  readonly healthy_url: string;
  /** Address of a receiver that misbehaves as it is named. */
  readonly hostile_url: (name: string, k: number | string) => string;
}

/** A service, a receiver that behaves, and one in a process of its own that does not. */
async function setUp(t: ExecutionContext, database_url: string | null): Promise<Setup> {
  const folder = await scratch(t);
  const certificate = await selfSigned();
  const receiver = await startReceiver(t, { certificate });
  const child = fork(HOSTILE_CHILD, [JSON.stringify(certificate)]);
  t.teardown(() => child.kill('SIGKILL'));
  const [hostile] = (await once(child, 'message')) as [Pick<Receiver, 'url'>];
  let hanging = 0;
  child.on('message', () => {
    hanging += 1;
  });
  const arrived = new Map<string, number>();
  receiver.answer = ({ headers }, response) => {
    const id = String(headers['webhook-id']);
    if (!arrived.has(id)) arrived.set(id, Date.now());
    response.end('thanks');
  };
  const server = await startServe(folder, WHOLE_NOW_MS, 'error', {
    HAIL_WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8',
    HAIL_WEBHOOK_CA_FILE: receiver.ca_file,
    ...(database_url === null ? {} : { HAIL_DATABASE_URL: database_url }),
  });
  t.teardown(() => server.end('SIGKILL'));
  const tenants = await openTenants(t, folder, database_url);
  return {
    ...{ server, tenants, arrived, healthy_url: receiver.url, hanging: () => hanging },
    hostile_url: (name, k) => new URL(`/hostile/${encodeURIComponent(name)}/${k}`, hostile.url).href,
  };
}

function residentMb({ child }: ServeChild): number {
  const status = readFileSync(`/proc/${child.pid}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1]) / 1024;
}

const quantile = (values: readonly number[], q: number) =>
  values.toSorted((a, b) => a - b)[Math.floor(q * (values.length - 1))] ?? Number.NaN;

(process.platform === 'linux' ? test.serial : test.serial.skip)(
  '40 receivers that answer without an end, never, or in drops cost little memory, and health answers meanwhile',
  async (t) => {
    const { server, tenants, hanging, hostile_url } = await setUp(t, null);
    const kinds = Object.keys(HOSTILE);
    const urls = Array.from({ length: HOSTILE_RECEIVERS }, (_, k) => hostile_url(kinds[k % kinds.length] ?? '', k));
    const webhooks = await tenants.make('hostile', urls);
    await tenants.records.transaction((rows) => rows.updateTable('plans').set({ rate_per_minute: 100_000 }).execute());
    const health = async () => {
      const asked_ms = performance.now();
      const headers = { Authorization: `Bearer ${server.keys?.live}` };
      const { ok } = await fetch(`${server.url}/v1/health`, { headers });
      if (!ok) throw new Error('health does not answer');
      return performance.now() - asked_ms;
    };
    for (let k = 0; k < 20; k++) await health();
    const before_mb = residentMb(server);
    for (const webhook of webhooks) for (let k = 0; k < 4; k++) await tenants.send(webhook);
    const waits_ms: number[] = [];
    let peak_mb = before_mb;
    const until_ms = performance.now() + WATCHED_MS;
    while (performance.now() < until_ms) {
      waits_ms.push(await health());
      peak_mb = Math.max(peak_mb, residentMb(server));
      await sleep(20);
    }
    t.log(
      `resident ${before_mb.toFixed(0)} MB before, ${peak_mb.toFixed(0)} MB at most; ${hanging()} hostile answers; health waits ${quantile(waits_ms, 0.5).toFixed(0)} ms (p50), ${quantile(waits_ms, 1).toFixed(0)} ms (longest of ${waits_ms.length})`,
    );
    t.true(hanging() >= HOSTILE_RECEIVERS);
    t.true(peak_mb - before_mb < MEMORY_GROWTH_MAX_MB);
    t.true(quantile(waits_ms, 1) < HEALTH_MAX_MS);
  },
);

for (const kind of ['SQLite', 'PostgreSQL'] as const)
  (kind === 'SQLite' || hasPostgres ? test.serial : test.serial.skip)(
    `beside 300 hanging receivers of three businesses a fourth hears within two seconds, on ${kind}${kind === 'SQLite' || hasPostgres ? '' : ' (HAIL_TEST_DATABASE_URL is not set)'}`,
    async (t) => {
      const { tenants, arrived, hanging, hostile_url, healthy_url } = await setUp(
        t,
        kind === 'SQLite' ? null : await newSchema(t),
      );
      for (let tenant = 0; tenant < HANGING_TENANTS; tenant++) {
        const urls = Array.from({ length: HANGING_PER_TENANT }, (_, k) => hostile_url('silence', `${tenant}-${k}`));
        for (const webhook of await tenants.make(`hanging ${tenant}`, urls))
          for (let k = 0; k < EVENTS_PER_HANGING; k++) await tenants.send(webhook);
      }
      await until(() => hanging() >= 150);
      const [healthy] = await tenants.make('healthy', [healthy_url]);
      if (healthy === undefined) throw new Error('there is no webhook');
      const sent = new Map<string, number>();
      for (let k = 0; k < HEALTHY_EVENTS; k++) {
        const sent_ms = Date.now();
        sent.set(await tenants.send(healthy), sent_ms);
        await sleep(WATCHED_MS / HEALTHY_EVENTS);
      }
      await until(() => [...sent.keys()].every((id) => arrived.has(id)));
      const waits_ms = [...sent].map(([id, sent_ms]) => (arrived.get(id) ?? Number.POSITIVE_INFINITY) - sent_ms);
      t.log(
        `${hanging()} attempts hung; first attempts began ${quantile(waits_ms, 0.5)} ms (p50), ${quantile(waits_ms, 0.95)} ms (p95), ${quantile(waits_ms, 1)} ms (longest) after their event`,
      );
      t.true(hanging() >= 150);
      t.true(quantile(waits_ms, 0.95) < GOAL_P95_MS);
    },
  );

/** Address of a new schema of the database of the tests. */
async function newSchema(t: ExecutionContext): Promise<string> {
  const schema = `hail_test_${randomUUID().replaceAll('-', '')}`;
  const url = new URL(process.env.HAIL_TEST_DATABASE_URL ?? '');
  const client = new pg.Client(url.href);
  await client.connect();
  await client.query(`create schema ${schema}`);
  t.teardown(async () => {
    await client.query(`drop schema ${schema} cascade`);
    await client.end();
  });
  url.searchParams.set('options', `-c search_path=${schema}`);
  return url.href;
}
