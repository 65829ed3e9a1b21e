import { createSubscription, updateSubscription } from '../../../../api/alerts/subscriptions.ts';
import { createWatch } from '../../../../api/alerts/watch.ts';
import type { Records } from '../../../../api/billing/records.ts';
import {
  findReceiver,
  insertWebhook,
  setReceiverFormat,
  setReceiverStatus,
} from '../../../../api/webhooks/receivers.ts';
import { recover } from '../../../../api/webhooks/recover.ts';
import type { AnyEventType } from '../../../../schemas/webhook-events.ts';
import { editionOf, type MadeScan, MINUTE_MS, START_MS, watchPartsOf } from '../../data/alert-scans.ts';
import { departuresOfEvent } from '../../data/described-events.ts';
import { makeTenant, type Register, type World } from '../world.ts';

const PLACE = { lat: 35.005, lon: -97.005 };

/** A subscription of 38 mm, and somebody who watches for it. */
async function watched(world: World) {
  const records = await world.open();
  const { caller } = await makeTenant(records, world, 'acme');
  const { business_id } = caller;
  const writing = <R>(work: (writer: Parameters<typeof updateSubscription>[0]) => Promise<R>) =>
    records.transaction((rows) => work({ rows, business_id, now_ms: world.now_ms }));
  const scans: MadeScan[] = [];
  const parts = [records, await world.open()].map((own) =>
    watchPartsOf(own, { now: () => world.now_ms, published: () => scans }),
  );
  const watches = parts.map((own) => createWatch(own));
  const again = () => Promise.all(watches.map((watch) => watch(editionOf(scans))));
  const [{ queue }] = parts as [(typeof parts)[number]];
  const subscription = await writing((writer) => createSubscription(writer, WANTED, 100));
  const id = subscription?.id ?? '';
  return {
    records,
    id,
    writing,
    mark: (receiver_id: string) => writing(({ rows }) => setReceiverFormat(rows, receiver_id, 'legacy')),
    webhook: async (events: readonly AnyEventType[]) => {
      const secrets = { encrypt: (text: string) => text, decrypt: (text: string) => text, signatures: () => [] };
      const made = await writing((writer) => insertWebhook(writer, secrets, { url: WANTED.webhook_url, events }, 10));
      return made?.webhook.id ?? '';
    },
    setStatus: (receiver_id: string, status: 'active' | 'disabled') =>
      writing(({ rows, now_ms }) => setReceiverStatus(rows, { kind: 'webhook', id: receiver_id }, status, now_ms)),
    recovered: (receiver_id: string, since_ms: number) =>
      writing(async ({ rows, now_ms }) => {
        const receiver = await findReceiver(rows, receiver_id, records.store.forUpdate);
        if (receiver === null) throw new Error(`${receiver_id} is gone`);
        return await recover(rows, { queue, store: records.store }, receiver, { since_ms, now_ms });
      }),
    /** Two other processes on the same records. */
    restart: async () => {
      for (const [k] of watches.entries())
        watches[k] = createWatch(watchPartsOf(await world.open(), { now: () => world.now_ms, published: () => scans }));
    },
    /** Publishes a scan for each size, two minutes after the other, which both processes lay over what asks. */
    publish: async (minute: number, ...sizes: readonly number[]) => {
      for (const [k, mm] of sizes.entries()) {
        const own = { minute: minute + 2 * k };
        scans.push(mm === 0 ? own : { ...own, hail: [[PLACE.lat, PLACE.lon, mm]] });
        world.now_ms = START_MS + (own.minute + 1) * MINUTE_MS;
        await again();
      }
    },
    again,
  };
}

const WANTED = {
  name: 'Depot',
  ...PLACE,
  radius_km: 25,
  min_size_mm: 38,
  webhook_url: 'https://receiver.example/hail',
  secret: 'sealed',
};

/** What was written for a receiver, in order. */
async function toldTo(records: Records, receiver_id: string) {
  const rows = await records.reader
    .selectFrom('messages')
    .select(['event', 'body'])
    .where('receiver_id', '=', receiver_id)
    .orderBy('id')
    .execute();
  const departures = rows.flatMap(({ body }) =>
    departuresOfEvent('schema_version' in JSON.parse(body) ? 'current' : 'legacy', body),
  );
  if (departures.length > 0) throw new Error(`${receiver_id} was sent what is not described: ${departures.join(', ')}`);
  return rows.map(({ event, body }) => ({ event, body: JSON.parse(body) }));
}

/** Notes that everything that was to be sent was delivered. */
async function allDelivered(records: Records): Promise<void> {
  await records.transaction((rows) =>
    rows.updateTable('messages').set({ state: 'delivered', next_at: null }).where('state', '=', 'pending').execute(),
  );
}

/** Every row that scans have led to. */
async function raisedBy({ reader }: Records) {
  return {
    messages: await reader.selectFrom('messages').selectAll().orderBy('id').execute(),
    alerts: await reader.selectFrom('alerts').selectAll().execute(),
    matched_scans: await reader.selectFrom('matched_scans').selectAll().execute(),
  };
}

function idOf({ id }: { readonly id: string }): string {
  return id;
}

/** What was written for a receiver: event, size, and its state or what it waits for. */
async function inOrder(records: Records, receiver_id: string) {
  const rows = await records.reader
    .selectFrom('messages')
    .select(['id', 'event', 'body', 'state', 'after_id'])
    .where('receiver_id', '=', receiver_id)
    .orderBy('id')
    .execute();
  const named = new Map(rows.map((row) => [row.id, `${row.event} ${JSON.parse(row.body).data.mesh_size_mm}`]));
  return rows.map(({ event, body, state, after_id }) => [
    event,
    JSON.parse(body).data.mesh_size_mm,
    state === 'waiting' ? `after ${named.get(after_id ?? '')}` : state,
  ]);
}

/** Hail and alerts as the earlier variant tells them. */
export function earlierAlertsSuite(test: Register): void {
  test('a subscription of the earlier variant is told of any hail and of its threshold, each once, in the earlier words', async (t, world) => {
    const { records, id, mark, publish } = await watched(world);
    await mark(id);
    await publish(0, 0, 18, 24, 40, 20);
    await publish(38, 0);
    const told = await toldTo(records, id);
    t.deepEqual(
      told.map(({ event, body }) => [event, body.data.mesh_size_mm]),
      [
        ['hail.detected', 24],
        ['alert.created', 40],
        ['alert.resolved', 40],
        ['hail.cleared', 40],
      ],
    );
    t.deepEqual(told[0]?.body, {
      event: 'hail.detected',
      timestamp: '2026-05-01T20:05:00Z',
      data: {
        subscription_id: id,
        storm_id: '20260501-t1',
        mesh_size_mm: 24,
        probability: 0.8,
        coordinates: { lat: PLACE.lat, lng: PLACE.lon },
      },
    });
    const row = await records.reader.selectFrom('subscriptions').select('trigger_count').executeTakeFirstOrThrow();
    t.is(row.trigger_count, 1);
  });

  test('a webhook of the earlier variant that was disabled hears of the hail that it missed and of the end of what it was told, in order', async (t, world) => {
    const { records, id, mark, webhook, publish, setStatus, recovered } = await watched(world);
    const earlier = await webhook(['hail.detected', 'hail.cleared']);
    await mark(earlier);
    await publish(0, 0, 24);
    await allDelivered(records);
    await setStatus(earlier, 'disabled');
    await publish(34, 0, 26, 26);
    await setStatus(earlier, 'active');
    await recovered(earlier, START_MS);
    await publish(40, 22);
    await publish(72, 0);
    const open = records.reader.selectFrom('alerts').select('location_id').where('open_location', 'is not', null);
    t.deepEqual(await open.execute(), []);
    t.deepEqual(
      (await toldTo(records, earlier)).map(({ event, body }) => [
        event,
        body.data.subscription_id,
        body.data.mesh_size_mm,
      ]),
      [
        ['hail.detected', id, 24],
        ['hail.cleared', id, 24],
        ['hail.detected', id, 26],
        ['hail.cleared', id, 26],
      ],
    );
  });

  test('records that lost what a scan raised tell a receiver of the earlier variant again under the ids that were sent', async (t, world) => {
    const { records, id, mark, publish, restart, again } = await watched(world);
    await mark(id);
    for (const [minute, size] of [
      [2, 40],
      [32, 0],
    ] as const) {
      const before = await raisedBy(records);
      await publish(minute, size);
      const { messages } = await raisedBy(records);
      t.is(messages.length, before.messages.length + 2);
      await records.transaction(async (rows) => {
        for (const table of ['messages', 'alerts', 'matched_scans'] as const) {
          await rows.deleteFrom(table).execute();
          if (before[table].length > 0) await rows.insertInto(table).values(before[table]).execute();
        }
      });
      await restart();
      await again();
      t.deepEqual((await raisedBy(records)).messages.map(idOf), messages.map(idOf));
    }
  });

  test('an end that was dropped is told before new hail under its own id, with the retries of a new event', async (t, world) => {
    const { records, id, mark, publish } = await watched(world);
    await mark(id);
    await publish(0, 24);
    await allDelivered(records);
    await publish(30, 0);
    const ends = records.reader.selectFrom('messages').select(['id', 'attempts_before', 'state']);
    const [dropped] = await ends.where('event', '=', 'hail.cleared').execute();
    await records.transaction((rows) =>
      rows
        .updateTable('messages')
        .set({ state: 'dropped', attempts: 4, next_at: null })
        .where('id', '=', dropped?.id ?? '')
        .execute(),
    );
    await publish(34, 26);
    t.deepEqual(await ends.where('event', '=', 'hail.cleared').execute(), [
      { id: dropped?.id ?? '', attempts_before: 4, state: 'pending' },
    ]);
    t.deepEqual(await inOrder(records, id), [
      ['hail.detected', 24, 'delivered'],
      ['hail.cleared', 24, 'pending'],
      ['hail.detected', 26, 'after hail.cleared 24'],
    ]);
    const tasks = await records.reader.selectFrom('tasks').select('payload').execute();
    t.true(tasks.some(({ payload }) => payload === JSON.stringify({ push_id: dropped?.id, attempt: 5 })));
  });

  test('recovery tells an address of the earlier variant of the end of an alert that was closed, once', async (t, world) => {
    const { records, id, mark, writing, publish, recovered } = await watched(world);
    await mark(id);
    await publish(0, 24);
    await writing((writer) => updateSubscription(writer, id, { status: 'paused' }));
    await writing((writer) => updateSubscription(writer, id, { status: 'active' }));
    t.like(await recovered(id, 0), { dropped: 1, missed: 1 });
    t.like(await recovered(id, 0), { dropped: 0, missed: 0 });
    await publish(2, 26);
    t.deepEqual(await inOrder(records, id), [
      ['hail.detected', 24, 'pending'],
      ['hail.cleared', 24, 'after hail.detected 24'],
      ['hail.detected', 26, 'after hail.cleared 24'],
    ]);
  });

  test('recovery tells a receiver of the earlier variant of the end of what it is told, also of an end that came before', async (t, world) => {
    const { records, id, mark, publish, recovered } = await watched(world);
    await mark(id);
    await publish(0, 24);
    await allDelivered(records);
    await publish(30, 0);
    const dropped = { state: 'dropped', next_at: null } as const;
    await records.transaction((rows) =>
      rows.updateTable('messages').set(dropped).where('state', '=', 'pending').execute(),
    );
    t.like(await recovered(id, Date.now() + MINUTE_MS), { dropped: 1, missed: 0 });
    t.deepEqual(await inOrder(records, id), [
      ['hail.detected', 24, 'delivered'],
      ['hail.cleared', 24, 'pending'],
    ]);
  });

  test('recovery tells a receiver of the earlier variant of nothing that is older than what it was told last of a place', async (t, world) => {
    const { records, mark, webhook, publish, setStatus, recovered } = await watched(world);
    const earlier = await webhook(['hail.detected', 'hail.cleared']);
    await mark(earlier);
    await publish(0, 24);
    await setStatus(earlier, 'disabled');
    await publish(32, 0);
    await setStatus(earlier, 'active');
    await publish(34, 26);
    t.like(await recovered(earlier, 0), { dropped: 0, missed: 0 });
    t.deepEqual(await inOrder(records, earlier), [
      ['hail.detected', 24, 'dropped'],
      ['hail.cleared', 24, 'dropped'],
      ['hail.detected', 26, 'pending'],
    ]);
  });
}
