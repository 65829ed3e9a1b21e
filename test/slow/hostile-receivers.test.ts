import { fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import test, { type ExecutionContext } from 'ava';
import { createBusiness } from '../../api/accounts/businesses.ts';
import { SELF_HOSTED } from '../../api/accounts/plans.ts';
import { openRecords } from '../../api/billing/records.ts';
import { selfSigned } from '../../api/commands/webhook-listen.ts';
import { openCipher } from '../../api/records/cipher.ts';
import { openQueue } from '../../api/records/tasks.ts';
import { openWebhookClient } from '../../api/webhooks/client.ts';
import { enqueueEvent } from '../../api/webhooks/events.ts';
import { insertWebhook } from '../../api/webhooks/receivers.ts';
import { scratch } from '../support/data/world.ts';
import { HOSTILE } from '../support/service/hostile.ts';
import { startReceiver } from '../support/service/receiver.ts';
import { startServe } from '../support/service/serve-child.ts';
import { WHOLE_NOW_MS } from '../support/service/whole-service.ts';
import { hasPostgres, newSchema } from '../support/store/world.ts';
import { until } from '../support/until.ts';

const HOSTILE_CHILD = fileURLToPath(new URL('../support/service/hostile-child.ts', import.meta.url));
const HOSTILE_RECEIVERS = 40;
const EVENTS_PER_HOSTILE = 4;
const MEMORY_GROWTH_MAX_MB = 200;
const HANGING_TENANTS = 3;
const HANGING_PER_TENANT = 100;
const EVENTS_PER_HANGING = 3;
/** Attempts under way at one time. */
const HANGING_AT_ONCE = 150;
const HEALTHY_EVENTS = 60;

/** A service, a receiver that behaves, one in a process of its own that does not, and businesses beside them in the records. */
async function setUp(t: ExecutionContext, database_url: string | null) {
  const data_root = await scratch(t);
  const certificate = await selfSigned();
  const receiver = await startReceiver(t, { certificate });
  const child = fork(HOSTILE_CHILD, [JSON.stringify(certificate)]);
  t.teardown(() => child.kill('SIGKILL'));
  const [hostile] = (await once(child, 'message')) as [{ readonly url: string }];
  let hanging = 0;
  child.on('message', () => {
    hanging += 1;
  });
  const server = await startServe(data_root, WHOLE_NOW_MS, 'error', {
    ...receiver.settings,
    ...(database_url === null ? {} : { HAIL_DATABASE_URL: database_url }),
  });
  t.teardown(() => server.end('SIGKILL'));
  const now = () => WHOLE_NOW_MS;
  const records = await openRecords({ data_root, database_url, now });
  t.teardown(records.close);
  const cipher = await openCipher(records.store, { records_root: data_root, master_keys: null, now });
  const queue = openQueue(records.store, { failed: console.error, troubled: console.error });
  t.teardown(queue.close);
  return {
    ...{ server, receiver, records, hanging: () => hanging },
    /** Address of a receiver that misbehaves as it is named. */
    hostile_url: (name: string, k: number | string) =>
      new URL(`/hostile/${encodeURIComponent(name)}/${k}`, hostile.url).href,
    /** Makes a business with a webhook for each address, and enqueues events for each of them, as another process would; their ids. */
    sendTo: async (name: string, urls: readonly string[], events: number) => {
      const { business_id, webhooks } = await records.transaction(async (rows) => {
        const business = await createBusiness(rows, name, SELF_HOSTED, WHOLE_NOW_MS);
        if (business === null) throw new Error(`business ${name} exists, expected a new name`);
        const writer = { rows, business_id: business.id, now_ms: WHOLE_NOW_MS };
        const made: string[] = [];
        for (const url of urls) {
          const created = await insertWebhook(writer, cipher, { url, events: ['alert.created'] }, urls.length);
          made.push(created?.webhook.id ?? '');
        }
        return { business_id: business.id, webhooks: made };
      });
      const event = { business_id, event: 'alert.created', data: {}, alert_id: null, after: null } as const;
      const ids: string[] = [];
      for (const webhook of webhooks)
        for (let k = 0; k < events; k++) {
          const sent = { ...event, receivers: [webhook], at_ms: WHOLE_NOW_MS };
          ids.push(...(await records.transaction((rows) => enqueueEvent(rows, { queue, store: records.store }, sent))));
        }
      return ids;
    },
  };
}

(process.platform === 'linux' ? test.serial : test.serial.skip)(
  '40 receivers that answer without an end, never, or in drops cost little memory, and health answers meanwhile',
  async (t) => {
    const { server, sendTo, hanging, hostile_url } = await setUp(t, null);
    const residentMb = () =>
      Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${server.child.pid}/status`, 'utf8'))?.[1]) / 1024;
    const isHealthy = async () => (await fetch(`${server.url}/livez`)).ok;
    for (let k = 0; k < 20; k++) t.true(await isHealthy());
    const before_mb = residentMb();
    const kinds = Object.keys(HOSTILE);
    const urls = Array.from({ length: HOSTILE_RECEIVERS }, (_, k) => hostile_url(kinds[k % kinds.length] ?? '', k));
    await sendTo('hostile', urls, EVENTS_PER_HOSTILE);
    let peak_mb = before_mb;
    // A business has a quarter of the attempts at a time: the last ones begin after others had their whole time to misbehave.
    await until(async () => {
      t.true(await isHealthy());
      peak_mb = Math.max(peak_mb, residentMb());
      return hanging() >= EVENTS_PER_HOSTILE * HOSTILE_RECEIVERS;
    }, 180);
    t.log(`resident ${before_mb.toFixed(0)} MB before, ${peak_mb.toFixed(0)} MB at most`);
    t.true(peak_mb - before_mb < MEMORY_GROWTH_MAX_MB);
  },
);

for (const [kind, isHere] of [
  ['SQLite', true],
  ['PostgreSQL', hasPostgres],
] as const)
  (isHere ? test.serial : test.serial.skip)(
    `beside 300 hanging receivers of three businesses a fourth hears of all its events before most of theirs are attempted, on ${kind}${isHere ? '' : ' (HAIL_TEST_DATABASE_URL is not set)'}`,
    async (t) => {
      const database_url = kind === 'SQLite' ? null : await newSchema(t);
      const { sendTo, hanging, hostile_url, receiver } = await setUp(t, database_url);
      for (let tenant = 0; tenant < HANGING_TENANTS; tenant++) {
        const urls = Array.from({ length: HANGING_PER_TENANT }, (_, k) => hostile_url('silence', `${tenant}-${k}`));
        await sendTo(`hanging ${tenant}`, urls, EVENTS_PER_HANGING);
      }
      await until(() => hanging() >= HANGING_AT_ONCE);
      const ids = await sendTo('healthy', [receiver.url], HEALTHY_EVENTS);
      const arrived = () => new Set(receiver.received.map(({ headers }) => headers['webhook-id']));
      await until(() => ids.every((id) => arrived().has(id)));
      t.log(`${hanging()} attempts hung meanwhile`);
      t.true(hanging() < (HANGING_TENANTS * HANGING_PER_TENANT * EVENTS_PER_HANGING) / 2);
    },
  );

const NAME = 'hooks.example.com';
/** Passes connections on to a port of this machine; until it is woken it takes none: a first packet is lost, and sent again after a second. */
const SLOW_FRONT = `
  const { createServer, connect } = require('node:net');
  const { parentPort, workerData: { port, woken } } = require('node:worker_threads');
  const front = createServer((socket) => socket.pipe(connect(port, '127.0.0.1')).pipe(socket));
  front.listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => {
    parentPort.postMessage(front.address().port);
    setImmediate(() => Atomics.wait(woken, 0, 0));
  });`;

test('an address that answers late is not given up for one of the other family that no network leads to', async (t) => {
  const receiver = await startReceiver(t, { names: [NAME] });
  const woken = new Int32Array(new SharedArrayBuffer(4));
  const thread = new Worker(SLOW_FRONT, { eval: true, workerData: { port: receiver.port, woken } });
  t.teardown(async () => void (await thread.terminate()));
  const [front] = (await once(thread, 'message')) as [number];
  const waiting = [1, 2, 3].map(() => connect(front, '127.0.0.1').on('error', () => {}));
  t.teardown(() => waiting.forEach((socket) => void socket.destroy()));
  await pause(100);
  const client = openWebhookClient({
    allow_cidrs: ['127.0.0.0/8', '2001:db8::/32'],
    ca_file: receiver.ca_file,
    time_scale: 1,
    resolver: { resolve: async () => ['127.0.0.1', '2001:db8::1'], close: () => {} },
  });
  t.teardown(client.close);
  const posted = client.post({ url: `https://${NAME}:${front}/`, body: '{}', headers: { 'X-Service-Event': 'ping' } });
  await pause(400);
  Atomics.store(woken, 0, 1);
  Atomics.notify(woken, 0);
  t.like(await posted, { status_code: 200, error: null });
});
