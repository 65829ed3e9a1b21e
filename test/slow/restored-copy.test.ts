import { execFile } from 'node:child_process';
import { cpSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import test, { type ExecutionContext } from 'ava';
import { openRecords } from '../../api/billing/records.ts';
import { startServing } from '../../api/commands/serve.ts';
import { readConfig } from '../../api/config.ts';
import { openQueue } from '../../api/records/tasks.ts';
import { enqueueEvent } from '../../api/webhooks/events.ts';
import { midnight, publishedRoot, type RawScan, scratch } from '../support/data/world.ts';
import { freePort } from '../support/free-port.ts';
import { BARE_ENVIRONMENT } from '../support/kill/bare-environment.ts';
import { commandPath, runCommand } from '../support/kill/command.ts';
import { type Receiver, startReceiver } from '../support/service/receiver.ts';
import { until } from '../support/until.ts';

type Environment = Record<string, string>;

async function serve(t: ExecutionContext, environment: Environment) {
  const metrics_port = await freePort();
  let said = '';
  const config = readConfig({
    ...environment,
    HAIL_PORT: '0',
    HAIL_METRICS_PORT: String(metrics_port),
    HAIL_LOG_LEVEL: 'fatal',
  });
  const { base_url, first_keys, stop } = await startServing(config, {
    say: (text) => {
      said += text;
    },
  });
  let stopped: Promise<void> | undefined;
  const stopOnce = () => {
    stopped ??= stop();
    return stopped;
  };
  t.teardown(stopOnce);
  const metrics = async () => (await fetch(`http://127.0.0.1:${metrics_port}/metrics`)).text();
  return { base_url, key: first_keys?.live ?? null, said, stop: stopOnce, metrics };
}

/** An event for a receiver, as the service writes it; its id. */
async function enqueue(environment: Environment, business_id: string, receiver: string): Promise<string> {
  const records = await openRecords(readConfig(environment));
  const queue = openQueue(records.store, { failed: () => {}, troubled: () => {} });
  try {
    const [id = ''] = await records.transaction((rows) =>
      enqueueEvent(
        rows,
        { queue, store: records.store },
        {
          business_id,
          receivers: [receiver],
          event: 'alert.created',
          data: {},
          alert_id: null,
          after: null,
          at_ms: 0,
        },
      ),
    );
    return id;
  } finally {
    await queue.close();
    await records.close();
  }
}

/** Waits until a receiver was sent an event so often. */
async function sent(receiver: Receiver, id: string, times = 1): Promise<void> {
  await until(() => receiver.received.filter(({ headers }) => headers['webhook-id'] === id).length >= times);
}

test('a restored copy answers as its original did, and delivers nothing until the operator says that it is gone', async (t) => {
  const scans = (await midnight()).slice(0, 2);
  const receiver = await startReceiver(t);
  const root = await publishedRoot(t, scans);
  const common = {
    HAIL_NOW: new Date((scans.at(-1) as RawScan).time_ms + 60_000).toISOString(),
    HAIL_WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8',
    HAIL_WEBHOOK_CA_FILE: receiver.ca_file,
    // An event is given up 62 s after its first attempt: long enough for a backup on a busy machine.
    HAIL_WEBHOOK_TIME_SCALE: '0.2',
  };
  const original = { ...common, HAIL_DATA: root };
  const first = await serve(t, original);
  const headers = { Authorization: `Bearer ${first.key}`, 'Content-Type': 'application/json' };
  const made = await fetch(`${first.base_url}/webhooks`, {
    method: 'POST',
    headers,
    body: JSON.stringify({ url: receiver.url, events: ['alert.created'] }),
  });
  t.is(made.status, 200);
  const { webhook_id: webhook } = (await made.json()) as { webhook_id: string };
  const { businesses } = await told<{ businesses: { id: string }[] }>(original, 'business', 'list');
  const business_id = businesses[0]?.id ?? '';
  const answersOf = async (base_url: string) =>
    Promise.all(
      ['/usage', '/webhooks', '/hail/current?lat=35.47&lon=-97.52&radius_km=150'].map(async (path) => {
        const reply = await fetch(`${base_url}${path}`, { headers });
        return JSON.stringify(await reply.json()).replaceAll(/"req_\w+"/g, '"req"');
      }),
    );
  await fetch(`${first.base_url}/hail/current?lat=35.47&lon=-97.52&radius_km=150`, { headers });

  // Pending when the backup is taken: the receiver has failed once.
  receiver.answer = (_, response) => response.writeHead(503).end();
  const pending = await enqueue(original, business_id, webhook);
  await sent(receiver, pending);
  const place = await scratch(t);
  mkdirSync(place);
  const folder = join(place, 'backup');
  t.deepEqual(await runCommand('hail-api', ['backup', folder], original), { code: 0, told: '' });
  const before = await answersOf(first.base_url);
  const [usage, ...others] = before;
  receiver.answer = (_, response) => response.end('thanks');
  const failed = receiver.received.length;
  await sent(receiver, pending, failed + 1);

  const copied = await scratch(t);
  cpSync(root, copied, { recursive: true, filter: (path) => path !== join(root, 'records') });
  const copy = { ...common, HAIL_DATA: copied };
  cpSync(folder, copied, { recursive: true });

  const second = await serve(t, copy);
  t.regex(second.said, /Events and mails wait since \S+: the records are a copy from a backup/);
  t.is(second.key, null);
  const [copied_usage, ...copied_others] = await answersOf(second.base_url);
  t.is(copied_usage, usage);
  t.deepEqual(copied_others, others);
  const own = await enqueue(copy, business_id, webhook);
  const live = await enqueue(original, business_id, webhook);
  await sent(receiver, live);
  // Several looks at the queue, which is looked at four times a second.
  await sleep(1_500);
  const deliveries = () => receiver.received.map(({ headers: { 'webhook-id': id } }) => id);
  t.false(deliveries().includes(own));
  const delivered = receiver.received.length;
  const attempts = [...(await first.metrics()).matchAll(/^hail_delivery_attempts_total\{.*\} (\d+)$/gm)];
  t.is(
    attempts.reduce((sum, [, count]) => sum + Number(count), 0),
    delivered,
    'every delivery came from the original',
  );
  const ready = (await (await fetch(`${second.base_url.replace(/\/v1$/, '')}/readyz`)).json()) as object;
  t.deepEqual(ready, { status: 'ok', records: true, data: true, deliveries: 'paused' });
  t.regex(await second.metrics(), /^hail_deliveries_paused 1$/m);
  t.regex(await first.metrics(), /^hail_deliveries_paused 0$/m);
  t.regex(await first.metrics(), /^hail_delivery_attempts_total\{outcome="delivered"\} 2$/m);
  t.regex(await first.metrics(), /^hail_delivery_failures_total\{error_class="http_status"\} [1-9]\d*$/m);

  await first.stop();
  await told(copy, 'webhook', 'resume', '--original-is-gone');
  await sent(receiver, own);
  const times = deliveries()
    .slice(0, delivered)
    .filter((id) => id === pending).length;
  await sent(receiver, pending, times + 1);
  t.deepEqual(
    deliveries().slice(delivered).sort(),
    [pending, own].sort(),
    'one that both sent has the same id from both',
  );
  const again = receiver.received.filter(({ headers: { 'webhook-id': id } }) => id === pending);
  t.is(new Set(again.map(({ body }) => body)).size, 1);
});

/** The object that a command prints with --json, from a process of its own. */
async function told<Told = unknown>(environment: Environment, ...args: string[]): Promise<Told> {
  const { stdout } = await promisify(execFile)(process.execPath, [commandPath('hail-api'), ...args, '--json'], {
    env: { ...BARE_ENVIRONMENT, ...environment },
  });
  return JSON.parse(stdout);
}
