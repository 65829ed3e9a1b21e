import { rm } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import { SELF_HOSTED } from '../../api/accounts/plans.ts';
import { openRecords, type Records } from '../../api/billing/records.ts';
import { openQueue } from '../../api/records/tasks.ts';
import { RETRIES_MAX } from '../../api/rules/webhook-retry.ts';
import { enqueueEvent } from '../../api/webhooks/events.ts';
import { messageBacklog } from '../../api/webhooks/messages.ts';
import { scratch } from '../support/data/world.ts';
import { type Received, type Receiver, type Scope, startReceiver } from '../support/service/receiver.ts';
import { type ServeChild, startServe } from '../support/service/serve-child.ts';
import { WHOLE_NOW_MS } from '../support/service/whole-service.ts';

interface PushLoad {
  readonly events: number;
  readonly per_second: number;
  /** Addresses that events are sent to in turn. */
  readonly receivers: number;
  /** How often the service is killed while it sends. */
  readonly kills: number;
  /** Factor of the waits between attempts. */
  readonly time_scale: number;
}

/** What became of the events. */
interface PushOutcome {
  readonly events: number;
  /** Requests that reached a receiver, and those of them that it answered with 200, failed, left open and reset. */
  readonly requests: number;
  readonly taken: number;
  readonly failed: number;
  readonly hung: number;
  readonly reset: number;
  /** Events that were acknowledged. */
  readonly delivered: number;
  /** Events that were given up after the last retry, and were acknowledged by nobody. */
  readonly dropped: number;
  /** Events that were given up with their receiver, which failed too often in a row. */
  readonly given_up: number;
  /** Requests of events that were acknowledged before. */
  readonly repeated: number;
  readonly deaths: number;
  readonly took_ms: number;
  /** What must not be, in words: events that are lost, changed, told under two ids, or still to be sent. */
  readonly faults: readonly string[];
}

/** Shares of the requests that a receiver does not answer well. */
const FAILING = 0.2;
const HANGING = 0.05;
const RESETTING = 0.05;
/** A life that sends too little ends nevertheless. */
const LIFE_MAX_MS = 15_000;
/** After the last death, until nothing is to be sent any more: attempts that hang, the retries, and time to spare. */
const DRAIN_MAX_MS = 180_000;
const LOOK_EVERY_MS = 50;

/**
 * Sends events to receivers of which many answer badly, by the real `serve`, which is killed and started again and again: each
 * time after it has sent its share of all requests. The events are written by this process, as by a second one at the records.
 */
async function pushLoad(scope: Scope, folder: string, load: PushLoad): Promise<PushOutcome> {
  const started_ms = performance.now();
  const receiver = await startReceiver(scope);
  const seen = misbehave(receiver);
  const settings = {
    HAIL_WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8',
    HAIL_WEBHOOK_CA_FILE: receiver.ca_file,
    HAIL_WEBHOOK_TIME_SCALE: String(load.time_scale),
  };
  const start = () => startServe(folder, WHOLE_NOW_MS, 'error', settings);
  let server = await start();
  scope.teardown(async () => {
    await server.end('SIGKILL');
    await rm(folder, { recursive: true, force: true });
  });
  const records = await openRecords({ data_root: folder, database_url: null, now: () => WHOLE_NOW_MS });
  try {
    await allow(records, load.receivers);
    const webhooks = await makeWebhooks(server, receiver, load.receivers);
    const feeding = feed(records, webhooks, load);
    const share = load.events / (1 - FAILING - HANGING - RESETTING) / (load.kills + 1);
    const killing = async () => {
      for (let death = 0; death < load.kills; death++) {
        await workFor(seen, share);
        await server.end('SIGKILL');
        server = await start();
      }
    };
    const [sent] = await Promise.all([feeding, killing()]);
    await drain(records);
    await server.end('SIGTERM');
    const judged = await judge(records, sent, seen);
    return {
      events: sent.size,
      requests: seen.requests.length,
      ...seen.counts,
      ...judged,
      deaths: load.kills,
      took_ms: performance.now() - started_ms,
    };
  } finally {
    await records.close();
  }
}

interface Seen {
  readonly requests: { readonly id: string; readonly body: string; taken: boolean }[];
  readonly counts: { taken: number; failed: number; hung: number; reset: number };
}

/** Makes the receiver answer as the shares say: evenly spread, so that no webhook fails often enough in a row to be given up. */
function misbehave(receiver: Receiver): Seen {
  const seen: Seen = { requests: [], counts: { taken: 0, failed: 0, hung: 0, reset: 0 } };
  const counted = new Map<string, number>();
  receiver.answer = ({ path, headers, body }: Received, response: ServerResponse) => {
    const request = { id: String(headers['webhook-id']), body, taken: false };
    seen.requests.push(request);
    const turn = counted.get(path) ?? 0;
    counted.set(path, turn + 1);
    const draw = (turn * 0.61803398875) % 1;
    if (draw < FAILING) {
      seen.counts.failed += 1;
      response.writeHead(500).end();
    } else if (draw < FAILING + HANGING) seen.counts.hung += 1;
    else if (draw < FAILING + HANGING + RESETTING) {
      seen.counts.reset += 1;
      receiver.resetOf(response);
    } else {
      seen.counts.taken += 1;
      request.taken = true;
      response.end('thanks');
    }
  };
  return seen;
}

/** Gives the first business room for so many webhooks, all made in one minute. */
async function allow({ reader }: Records, webhooks: number): Promise<void> {
  const quotas = JSON.stringify({ ...SELF_HOSTED.quotas, webhooks });
  await reader.updateTable('plans').set({ quotas, rate_per_minute: 1_000_000 }).execute();
}

async function makeWebhooks({ url, keys }: ServeChild, receiver: Receiver, count: number): Promise<readonly string[]> {
  const made: string[] = [];
  for (let k = 0; k < count; k++) {
    const response = await fetch(`${url}/v1/webhooks`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${keys?.live}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ url: `${receiver.url}/${k}` }),
    });
    if (!response.ok) throw new Error(`making a webhook answers ${response.status} ${await response.text()}`);
    made.push(((await response.json()) as { webhook_id: string }).webhook_id);
  }
  return made;
}

/** Writes events at a steady pace; returns their numbers by their ids, once their transactions are committed. */
async function feed(
  records: Records,
  webhooks: readonly string[],
  { events, per_second }: Omit<PushLoad, 'receivers'>,
): Promise<ReadonlyMap<string, number>> {
  const { id: business_id } = await records.reader.selectFrom('businesses').select('id').executeTakeFirstOrThrow();
  const queue = openQueue(records.store, { failed: console.error, troubled: console.error });
  const sent = new Map<string, number>();
  const started_ms = performance.now();
  for (let k = 0; k < events; k++) {
    await sleep(Math.max(0, started_ms + (1_000 * k) / per_second - performance.now()));
    const receivers = [webhooks[k % webhooks.length] ?? ''];
    const [id = ''] = await records.transaction((rows) =>
      enqueueEvent(
        rows,
        { queue, store: records.store },
        {
          ...{ business_id, receivers, event: 'alert.created', data: { number: k } },
          ...{ alert_id: null, after: null, at_ms: WHOLE_NOW_MS },
        },
      ),
    );
    sent.set(id, k);
  }
  await queue.close();
  return sent;
}

/** Waits until a service has sent so many requests more. */
async function workFor({ requests }: Seen, more: number): Promise<void> {
  const enough = requests.length + more;
  const until_ms = performance.now() + LIFE_MAX_MS;
  while (requests.length < enough && performance.now() < until_ms) await sleep(LOOK_EVERY_MS);
}

/** Waits until nothing is to be sent any more; what is left after the longest wait is a fault. */
async function drain(records: Records): Promise<void> {
  const until_ms = performance.now() + DRAIN_MAX_MS;
  while ((await messageBacklog(records.reader, Date.now())).events > 0 && performance.now() < until_ms)
    await sleep(4 * LOOK_EVERY_MS);
}

/** Lays what the receivers saw beside what the records say. */
async function judge(
  records: Records,
  sent: ReadonlyMap<string, number>,
  { requests }: Seen,
): Promise<Pick<PushOutcome, 'delivered' | 'dropped' | 'given_up' | 'repeated' | 'faults'>> {
  const rows = await records.reader
    .selectFrom('messages')
    .innerJoin('webhooks', 'webhooks.id', 'receiver_id')
    .select(['messages.id', 'state', 'attempts', 'body', 'webhooks.status'])
    .execute();
  const messages = new Map(rows.map((push) => [push.id, push]));
  const taken = new Set(requests.filter((request) => request.taken).map(({ id }) => id));
  const delivered = [...taken].filter((id) => sent.has(id)).length;
  const told = new Map<number, string>();
  const faults: string[] = [];
  let dropped = 0;
  let given_up = 0;
  let repeated = 0;
  for (const [id, number] of sent) {
    const push = messages.get(id);
    if (push === undefined) faults.push(`event ${number} is gone from the records`);
    else if (push.state === 'delivered' && !taken.has(id))
      faults.push(`event ${number} counts as delivered, but nobody took it`);
    else if (push.state === 'dropped' && push.attempts <= RETRIES_MAX && push.status === 'active')
      faults.push(`event ${number} was dropped after ${push.attempts} attempts, expected ${RETRIES_MAX + 1}`);
    else if (push.state !== 'delivered' && push.state !== 'dropped')
      faults.push(`event ${number} is ${push.state} after ${push.attempts} attempts, expected its end`);
    if (push?.state !== 'dropped' || taken.has(id)) continue;
    if (push.attempts > RETRIES_MAX) dropped += 1;
    else given_up += 1;
  }
  const before = new Set<string>();
  for (const { id, body, taken: isTaken } of requests) {
    const number: unknown = JSON.parse(body).data.number;
    if (sent.get(id) !== number || messages.get(id)?.body !== body)
      faults.push(`a request of ${id} has other bytes than its event`);
    if (typeof number === 'number') {
      if (told.has(number) && told.get(number) !== id) faults.push(`event ${number} was told under two ids`);
      told.set(number, id);
    }
    if (before.has(id)) repeated += 1;
    if (isTaken) before.add(id);
  }
  return { delivered, dropped, given_up, repeated, faults };
}

test('a service killed four times while a third of the answers are bad loses no event, and repeats one under its id only', async (t) => {
  const { faults, ...counts } = await pushLoad(t, await scratch(t), {
    events: 200,
    per_second: 100,
    receivers: 10,
    kills: 4,
    time_scale: 0.02,
  });
  t.log(JSON.stringify(counts));
  t.deepEqual(faults, []);
  t.is(counts.delivered + counts.dropped + counts.given_up, 200);
  t.true(counts.failed > 0 && counts.hung > 0 && counts.reset > 0);
});
