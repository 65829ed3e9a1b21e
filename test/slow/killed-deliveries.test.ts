import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import { SELF_HOSTED } from '../../api/accounts/plans.ts';
import { openRecords, type Records } from '../../api/billing/records.ts';
import { openQueue } from '../../api/records/tasks.ts';
import { RETRIES_MAX } from '../../api/rules/webhook-retry.ts';
import { enqueueEvent } from '../../api/webhooks/events.ts';
import { messageBacklog } from '../../api/webhooks/messages.ts';
import { scratch } from '../support/data/world.ts';
import { type Receiver, startReceiver } from '../support/service/receiver.ts';
import { type ServeChild, startServe } from '../support/service/serve-child.ts';
import { WHOLE_NOW_MS } from '../support/service/whole-service.ts';
import { until } from '../support/until.ts';

const EVENTS = 200;
const EVENTS_PER_SECOND = 100;
const WEBHOOKS = 10;
const KILLS = 4;
/** Shares of the requests that a receiver does not answer well. */
const FAILING = 0.2;
const HANGING = 0.05;
const RESETTING = 0.05;

interface Request {
  readonly id: string;
  readonly body: string;
  readonly outcome: 'taken' | 'failed' | 'hung' | 'reset';
}

/** Makes the receiver answer as the shares say, evenly spread: no webhook fails often enough in a row to be given up. */
function misbehave(receiver: Receiver): readonly Request[] {
  const requests: Request[] = [];
  const turns = new Map<string, number>();
  receiver.answer = ({ path, headers, body }, response) => {
    const turn = turns.get(path) ?? 0;
    turns.set(path, turn + 1);
    const draw = (turn * 0.61803398875) % 1;
    const end = (outcome: Request['outcome']) => requests.push({ id: String(headers['webhook-id']), body, outcome });
    if (draw < FAILING) {
      end('failed');
      response.writeHead(500).end();
    } else if (draw < FAILING + HANGING) end('hung');
    else if (draw < FAILING + HANGING + RESETTING) {
      end('reset');
      receiver.resetOf(response);
    } else {
      end('taken');
      response.end('thanks');
    }
  };
  return requests;
}

async function makeWebhook({ url, keys }: ServeChild, address: string): Promise<string> {
  const response = await fetch(`${url}/v1/webhooks`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${keys?.live}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ url: address }),
  });
  if (!response.ok) throw new Error(`making a webhook answers ${response.status} ${await response.text()}`);
  return ((await response.json()) as { webhook_id: string }).webhook_id;
}

/** Writes the events at their pace, as another process would; their numbers by their ids, once they are committed. */
async function feed(records: Records, webhooks: readonly string[]): Promise<ReadonlyMap<string, number>> {
  const { id: business_id } = await records.reader.selectFrom('businesses').select('id').executeTakeFirstOrThrow();
  const queue = openQueue(records.store, { failed: console.error, troubled: console.error });
  const sent = new Map<string, number>();
  for (let number = 0; number < EVENTS; number++) {
    const receivers = [webhooks[number % webhooks.length] ?? ''];
    const event = { business_id, receivers, event: 'alert.created', data: { number }, alert_id: null } as const;
    const [id = ''] = await records.transaction((rows) =>
      enqueueEvent(rows, { queue, store: records.store }, { ...event, after: null, at_ms: WHOLE_NOW_MS }),
    );
    sent.set(id, number);
    await sleep(1_000 / EVENTS_PER_SECOND);
  }
  await queue.close();
  return sent;
}

/** Events that are lost, changed, told under two ids or still to be sent, in words. */
async function faultsOf({ reader }: Records, sent: ReadonlyMap<string, number>, requests: readonly Request[]) {
  const rows = await reader
    .selectFrom('messages')
    .innerJoin('webhooks', 'webhooks.id', 'receiver_id')
    .select(['messages.id', 'state', 'attempts', 'body', 'webhooks.status'])
    .execute();
  const messages = new Map(rows.map((row) => [row.id, row]));
  const taken = new Set(requests.filter(({ outcome }) => outcome === 'taken').map(({ id }) => id));
  const faults: string[] = [];
  for (const [id, number] of sent) {
    const { state = 'gone', attempts = 0, status } = messages.get(id) ?? {};
    const isGivenUp = state === 'dropped' && (attempts > RETRIES_MAX || status !== 'active');
    if (!isGivenUp && !(state === 'delivered' && taken.has(id)))
      faults.push(`event ${number} is ${state} after ${attempts} attempts, expected delivered or dropped at last`);
  }
  for (const { id, body } of requests)
    if (messages.get(id)?.body !== body || JSON.parse(body).data.number !== sent.get(id))
      faults.push(`a request of ${id} has other bytes than its event`);
  return faults;
}

test('a service killed four times while a third of the answers are bad loses no event, and repeats one under its id only', async (t) => {
  const folder = await scratch(t);
  const receiver = await startReceiver(t);
  const requests = misbehave(receiver);
  const start = () =>
    startServe(folder, WHOLE_NOW_MS, 'error', {
      ...receiver.settings,
      HAIL_WEBHOOK_TIME_SCALE: '0.02',
    });
  let server = await start();
  t.teardown(() => server.end('SIGKILL'));
  const records = await openRecords({ data_root: folder, database_url: null, now: () => WHOLE_NOW_MS });
  t.teardown(records.close);
  const quotas = JSON.stringify({ ...SELF_HOSTED.quotas, webhooks: WEBHOOKS });
  await records.reader.updateTable('plans').set({ quotas, rate_per_minute: 1_000_000 }).execute();
  const webhooks: string[] = [];
  for (let k = 0; k < WEBHOOKS; k++) webhooks.push(await makeWebhook(server, `${receiver.url}/${k}`));
  const feeding = feed(records, webhooks);
  // Each life ends after its share of the events, and before the last.
  for (let life = 1; life <= KILLS; life++) {
    await until(() => requests.length >= (life * EVENTS) / (KILLS + 1));
    await server.end('SIGKILL');
    server = await start();
  }
  const sent = await feeding;
  // Attempts that hang take their whole time.
  await until(async () => (await messageBacklog(records.reader, Date.now())).events === 0, 180);
  await server.end('SIGTERM');
  const counts = Object.groupBy(requests, ({ outcome }) => outcome);
  const told = Object.entries(counts).map(([what, all]) => `${all.length} ${what}`);
  t.log(`${requests.length} requests:`, told.join());
  t.is(sent.size, EVENTS);
  t.deepEqual(await faultsOf(records, sent, requests), []);
  t.deepEqual(Object.keys(counts).sort(), ['failed', 'hung', 'reset', 'taken']);
});
