import { type ChildProcess, fork, type Serializable } from 'node:child_process';
import { once } from 'node:events';
import { mkdir } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import test, { type ExecutionContext } from 'ava';
import { isMatched } from '../../api/records/alerts.ts';
import { createBusiness } from '../../api/records/businesses.ts';
import { instant } from '../../api/records/instant.ts';
import { SELF_HOSTED } from '../../api/records/plans.ts';
import { pushBacklog } from '../../api/records/pushes.ts';
import type { Records } from '../../api/records/records.ts';
import { openSecrets } from '../../api/records/secrets.ts';
import { createSubscription } from '../../api/records/subscriptions.ts';
import { createWebhook, newSecret } from '../../api/records/webhooks.ts';
import { RETRIES_MAX } from '../../api/rules/webhook-retry.ts';
import { scanId } from '../../schemas/time.ts';
import { type Hail, type MadeScan, START_MS, timeOf } from '../support/data/alert-scans.ts';
import { scratch } from '../support/data/world.ts';
import { hasPostgres, onPostgresQueue } from '../support/records/world.ts';
import { type Receiver, startReceiver } from '../support/service/receiver.ts';

const CHILD = fileURLToPath(new URL('../support/records/service-child.ts', import.meta.url));
const EPISODES = 4;
/** From the beginning of an episode to that of the next. */
const EVERY_MIN = 40;
/** Attempts that fail are made again after a tenth of a second. */
const TIME_SCALE = 0.01;
const FAILING = 0.2;
/** So often a test looks whether what it waits for is so, and at most so long. */
const LOOK_EVERY_MS = 50;
const WITHIN_MS = 60_000;

const PLACES = Array.from({ length: 12 }, (_, k) => ({ lat: 33.005 + k / 2, lon: -97.005 }));
const HAIL: readonly Hail[] = PLACES.map(({ lat, lon }) => [lat, lon, 40]);
const BEGINS = Array.from({ length: EPISODES }, (_, episode) => EVERY_MIN * episode + 2);
/** Hail at all places in two scans, clear ones, the last of which is half an hour after the hail. */
const SCANS: readonly MadeScan[] = [
  { minute: 0 },
  ...BEGINS.flatMap((minute) => [
    { minute, hail: HAIL },
    { minute: minute + 2, hail: HAIL },
    { minute: minute + 4 },
    { minute: minute + 32 },
  ]),
];

if (hasPostgres)
  onPostgresQueue(
    'two services on one PostgreSQL raise and resolve each episode of hail once, and send each attempt once',
    async (t, world) => {
      const folder = await scratch(t);
      await mkdir(folder);
      const receiver = await startReceiver(t);
      const records = await world.open();
      await subscribe(records, folder, receiver);
      const requests = listen(receiver);
      const url = 'url' in world.location ? world.location.url : '';
      const services = await Promise.all([1, 2].map(() => startChild(t, [folder, url, receiver.ca_file])));
      for (const [at, scan] of SCANS.entries()) {
        await Promise.all(services.map((service) => asked(service, SCANS.slice(0, at + 1))));
        await eventually(async () => await isMatched(records.reader, scanId(timeOf(scan))));
      }
      await eventually(async () => (await pushBacklog(records.reader, Date.now())).events === 0);
      const attempts = (await Promise.all(services.map((service) => asked(service, 'end')))).map(Number);

      const alerts = await records.reader
        .selectFrom('alerts')
        .innerJoin('subscriptions', 'subscriptions.id', 'location_id')
        .select(['location_name as name', 'alerts.status', 'triggered_at', 'resolved_at', 'trigger_count'])
        .orderBy('location_name')
        .orderBy('triggered_at')
        .execute();
      t.deepEqual(
        alerts,
        PLACES.flatMap((_, k) => BEGINS.map((begin) => episodeOf(k, begin))),
      );
      const pushes = await records.reader.selectFrom('pushes').selectAll().orderBy('id').execute();
      const expected = PLACES.length * EPISODES;
      for (const event of ['alert.created', 'alert.resolved'] as const) {
        const told = pushes.filter((push) => push.event === event);
        t.is(new Set(told.map(({ receiver_id, alert_id }) => `${receiver_id} ${alert_id}`)).size, 2 * expected);
        t.is(told.length, 2 * expected);
      }
      t.deepEqual([...new Set(pushes.map(({ state }) => state))], ['delivered']);
      const made = new Map(pushes.map(({ id, attempts }) => [id, attempts]));
      const came = Map.groupBy(requests, ({ id }) => id);
      t.deepEqual(
        new Map([...came].map(([id, all]) => [id, all.length])),
        new Map([...came.keys()].map((id) => [id, made.get(id)])),
      );
      t.is(came.size, pushes.length);
      t.true(requests.length > pushes.length);
      t.deepEqual(
        pushes.filter(({ id, after_id }) => after_id !== null && !goesAfter(requests, id, after_id)),
        [],
      );
      t.is(
        attempts.reduce((sum, count) => sum + count, 0),
        requests.length,
      );
      t.true(
        attempts.every((count) => count > 0),
        `attempts of each: ${attempts}`,
      );
    },
  );
else test.skip('two services on a real PostgreSQL (HAIL_TEST_DATABASE_URL is not set)', () => {});

/** What the records say of an episode at the k-th place. */
function episodeOf(k: number, begin: number) {
  return {
    name: nameOf(k),
    status: 'resolved',
    triggered_at: instant(timeOf({ minute: begin })),
    // Half an hour after its last hail.
    resolved_at: instant(timeOf({ minute: begin + 32 })),
    trigger_count: EPISODES,
  };
}

function nameOf(k: number): string {
  return `place ${String(k).padStart(2, '0')}`;
}

/** A business with a subscription at each place, and a webhook that is told of all of them. */
async function subscribe(records: Records, folder: string, { url }: Receiver): Promise<void> {
  const secrets = await openSecrets(records, { records_root: folder, master_keys: null, now: () => START_MS });
  await records.transaction(async (rows) => {
    const business = await createBusiness(rows, 'acme', SELF_HOSTED, START_MS);
    const writer = { rows, business_id: business?.id ?? '', now_ms: START_MS };
    await createWebhook(writer, secrets, { url, events: ['alert.created', 'alert.resolved'] }, 10);
    for (const [k, place] of PLACES.entries()) {
      const secret = secrets.encrypt(newSecret());
      const wanted = { name: nameOf(k), ...place, radius_km: 5, min_size_mm: 25, webhook_url: `${url}/${k}`, secret };
      await createSubscription(writer, wanted, PLACES.length);
    }
  });
}

interface Request {
  readonly id: string;
  readonly taken: boolean;
}

/**
 * Makes the receiver fail its share of the requests, evenly spread, and returns those that come. The last attempt of an event is
 * always taken: that all of one fail is rare, not impossible, and would rightly drop it.
 */
function listen(receiver: Receiver): readonly Request[] {
  const requests: Request[] = [];
  receiver.answer = ({ headers }, response) => {
    const id = String(headers['webhook-id']);
    const failed = requests.filter((request) => request.id === id).length;
    const taken = failed === RETRIES_MAX || (requests.length * 0.61803398875) % 1 >= FAILING;
    requests.push({ id, taken });
    response.writeHead(taken ? 200 : 500).end();
  };
  return requests;
}

/** True when an event was sent for the first time after another was taken. */
function goesAfter(requests: readonly Request[], id: string, after_id: string): boolean {
  const taken = requests.findIndex((request) => request.id === after_id && request.taken);
  return taken !== -1 && requests.findIndex((request) => request.id === id) > taken;
}

async function startChild(t: ExecutionContext, args: readonly string[]): Promise<ChildProcess> {
  const child = fork(CHILD, [...args, String(TIME_SCALE)]);
  t.teardown(() => child.kill('SIGKILL'));
  await answer(child);
  return child;
}

/** What a service answers to a message. */
async function asked(child: ChildProcess, message: readonly MadeScan[] | 'end'): Promise<unknown> {
  const answered = answer(child);
  child.send(message as Serializable);
  return await answered;
}

async function answer(child: ChildProcess): Promise<unknown> {
  const ended = new AbortController();
  const { signal } = ended;
  try {
    return await Promise.race([
      once(child, 'message', { signal }).then(([message]) => message),
      once(child, 'exit', { signal }).then(([code]) => {
        throw new Error(`a service ended with ${code} before it answered`);
      }),
    ]);
  } finally {
    ended.abort();
  }
}

/** Waits until something is so; what is not by then is a fault that the caller finds. */
async function eventually(isSo: () => Promise<boolean>): Promise<void> {
  for (let waited_ms = 0; waited_ms < WITHIN_MS && !(await isSo()); waited_ms += LOOK_EVERY_MS)
    await sleep(LOOK_EVERY_MS);
}
