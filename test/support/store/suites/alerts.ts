import type { ExecutionContext } from 'ava';
import fc from 'fast-check';
import { setPlan, setStatus } from '../../../../api/accounts/businesses.ts';
import { SELF_HOSTED } from '../../../../api/accounts/plans.ts';
import { createSubscription, deleteSubscription, updateSubscription } from '../../../../api/alerts/subscriptions.ts';
import { createWatch } from '../../../../api/alerts/watch.ts';
import type { Records } from '../../../../api/billing/records.ts';
import type { Writer } from '../../../../api/records/database.ts';
import {
  findReceiver,
  insertWebhook,
  setReceiverFormat,
  setReceiverStatus,
} from '../../../../api/webhooks/receivers.ts';
import { recover } from '../../../../api/webhooks/recover.ts';
import type { AnyEventType } from '../../../../schemas/webhook-events.ts';
import { editionOf, type Hail, type MadeScan, MINUTE_MS, START_MS, watchPartsOf } from '../../data/alert-scans.ts';
import { departuresOfEvent } from '../../data/described-events.ts';
import { positionsOf } from '../../data/rings.ts';
import { pluck } from '../../data/rows.ts';
import { makeTenant, type Register, type World } from '../world.ts';

const PLACE = { lat: 35.005, lon: -97.005 };
const HAIL: readonly Hail[] = [[PLACE.lat, PLACE.lon, 40]];

/** A subscription on a circle of 25 km, and somebody who watches for it. */
async function watched(world: World) {
  const records = await world.open();
  const { caller, name } = await makeTenant(records, world, 'acme');
  const { business_id } = caller;
  const scans: MadeScan[] = [];
  const parts = (own: Records) => watchPartsOf(own, { now: () => world.now_ms, published: () => scans });
  let watch = createWatch(parts(records));
  const subscription = await records.transaction((rows) =>
    createSubscription({ rows, business_id, now_ms: world.now_ms }, WANTED, 100),
  );
  return {
    records,
    business: { id: business_id, name },
    subscription_id: subscription?.id ?? '',
    /** Publishes scans beside those before, a minute after the newest of them, and has them matched. */
    publish: async (...more: readonly MadeScan[]) => {
      scans.push(...more);
      world.now_ms = START_MS + (Math.max(...scans.map(({ minute }) => minute)) + 1) * MINUTE_MS;
      await watch(editionOf(scans));
    },
    /** Another process on the same records. */
    restart: async () => {
      watch = createWatch(parts(await world.open()));
    },
  };
}

const WANTED = {
  name: 'Depot',
  ...PLACE,
  radius_km: 25,
  min_size_mm: 25,
  webhook_url: 'https://receiver.example/hail',
  secret: 'sealed',
};

/** Alerts in the order in which they were raised, times in minutes. */
async function alertsOf(records: Records) {
  const rows = await records.reader.selectFrom('alerts').selectAll().orderBy('id').execute();
  const minute = (at: string | null) => (at === null ? null : (Date.parse(at) - START_MS) / MINUTE_MS);
  return rows.map(({ status, triggered_at, last_seen_at, resolved_at, max_size_mm }) => ({
    status,
    triggered: minute(triggered_at),
    seen: minute(last_seen_at),
    resolved: minute(resolved_at),
    mm: max_size_mm,
  }));
}

/** Types of the events that were written, in order. */
async function eventsOf(records: Records): Promise<string[]> {
  const rows = await records.reader.selectFrom('messages').select('event').orderBy('id').execute();
  return rows.map(({ event }) => event);
}

const clear = (...minutes: readonly number[]): MadeScan[] => minutes.map((minute) => ({ minute }));
const hail = (...minutes: readonly number[]): MadeScan[] => minutes.map((minute) => ({ minute, hail: HAIL }));
const everyTwo = (from: number, to: number) => Array.from({ length: (to - from) / 2 + 1 }, (_, k) => from + 2 * k);

/** One episode as it should be told. */
async function isToldOnce(t: ExecutionContext, records: Records) {
  const bodies = await records.reader.selectFrom('messages').select('body').execute();
  for (const { body } of bodies) t.deepEqual(departuresOfEvent('current', body), [], body);
  t.deepEqual(await eventsOf(records), ['alert.created', 'alert.resolved']);
}

/** Alerts over the records, the same on every kind of database. */
export function alertsSuite(test: Register): void {
  test('an episode of hail is one alert, told once when it begins and once when it is over', async (t, world) => {
    const { records, publish, subscription_id } = await watched(world);
    await publish(...clear(0), ...hail(2));
    t.deepEqual(await alertsOf(records), [{ status: 'open', triggered: 2, seen: 2, resolved: null, mm: 40 }]);
    await publish({ minute: 4, hail: [[PLACE.lat, PLACE.lon, 55]] }, ...hail(6));
    for (const minute of everyTwo(8, 40)) await publish(...clear(minute));
    t.deepEqual(await alertsOf(records), [{ status: 'resolved', triggered: 2, seen: 6, resolved: 36, mm: 55 }]);
    await isToldOnce(t, records);
    const row = await records.reader
      .selectFrom('subscriptions')
      .select(['trigger_count', 'last_triggered_at', 'version'])
      .where('id', '=', subscription_id)
      .executeTakeFirstOrThrow();
    t.deepEqual(row, { trigger_count: 1, last_triggered_at: '2026-05-01T20:02:00.000Z', version: 1 });
  });

  test('the events carry what the alert is, and the second waits for the first', async (t, world) => {
    const { records, publish, subscription_id } = await watched(world);
    await publish(...hail(2));
    await publish(...clear(40));
    const alert = await records.reader.selectFrom('alerts').selectAll().executeTakeFirstOrThrow();
    const messages = await records.reader.selectFrom('messages').selectAll().orderBy('id').execute();
    const [created, resolved] = messages.map(({ body }) => JSON.parse(body).data);
    t.like(created, {
      alert_id: alert.id,
      subscription_id,
      area_id: null,
      location_name: 'Depot',
      estimated_size_mm: 40,
      confidence: 0.8,
      location: PLACE,
      detected_at: '2026-05-01T20:02:00Z',
      track_id: '20260501-t1',
      distance_km: 0,
    });
    t.like(resolved, {
      alert_id: alert.id,
      threat_level: 'CLEAR',
      threat_cleared_at: '2026-05-01T20:32:00Z',
      max_size_during_event: 40,
      duration_seconds: 1800,
    });
    t.deepEqual(pluck(messages, 'state'), ['pending', 'waiting']);
    t.deepEqual(pluck(messages, 'after_id'), [null, messages[0]?.id ?? '']);
  });

  test('a feed that stops, and scans without coverage, resolve nothing', async (t, world) => {
    const { records, publish } = await watched(world);
    await publish(...hail(2));
    world.now_ms += 600 * MINUTE_MS;
    await publish();
    await publish({ minute: 40, covered: false }, { minute: 42, covered: 'unknown' });
    t.deepEqual(await eventsOf(records), ['alert.created']);
    await publish(...clear(44));
    t.like((await alertsOf(records))[0], { status: 'resolved', resolved: 32 });
    await isToldOnce(t, records);
  });

  test('a scan that is more than half an hour old when it comes raises no alert', async (t, world) => {
    const { records, publish } = await watched(world);
    await publish(...clear(60));
    await publish(...hail(29));
    t.deepEqual(await alertsOf(records), []);
    await publish(...hail(31));
    t.like((await alertsOf(records))[0], { triggered: 31 });
  });

  test('what was published while nobody watched raises no old alert, and prolongs and resolves those that are open', async (t, world) => {
    const { records, publish, restart } = await watched(world);
    await publish(...hail(2));
    await restart();
    await publish(...hail(...everyTwo(4, 20)), ...clear(52), ...hail(90), ...clear(180));
    t.deepEqual(await alertsOf(records), [{ status: 'resolved', triggered: 2, seen: 20, resolved: 50, mm: 40 }]);
    await isToldOnce(t, records);
  });

  test('an older scan whose detections cannot be read holds up no other', async (t, world) => {
    const { records, publish, restart } = await watched(world);
    await publish(...hail(2));
    await restart();
    const damaged = { minute: 4, hail: HAIL, is_damaged: true };
    await publish(damaged, ...hail(...everyTwo(6, 20)), ...clear(52), ...clear(180));
    t.deepEqual(await alertsOf(records), [{ status: 'resolved', triggered: 2, seen: 20, resolved: 50, mm: 40 }]);
    await isToldOnce(t, records);
  });

  test('a subscription that is paused, changed or deleted closes its alert, and nobody is told', async (t, world) => {
    const { records, publish, business, subscription_id: id } = await watched(world);
    const writing = <R>(work: (writer: Writer) => Promise<R>) =>
      records.transaction((rows) => work({ rows, business_id: business.id, now_ms: world.now_ms }));
    await publish(...hail(2));
    await writing((writer) => updateSubscription(writer, id, { status: 'paused' }));
    t.like(await records.reader.selectFrom('messages').selectAll().executeTakeFirst(), { state: 'dropped' });
    await publish(...hail(4));
    await writing((writer) => updateSubscription(writer, id, { status: 'active' }));
    await publish(...hail(6));
    await writing((writer) => updateSubscription(writer, id, { min_size_mm: 41 }));
    await publish(...hail(8), { minute: 10, hail: [[PLACE.lat, PLACE.lon, 41]] });
    await writing((writer) => deleteSubscription(writer, id));
    await publish(...hail(12), ...clear(60));
    t.deepEqual(
      (await alertsOf(records)).map(({ status, triggered }) => `${status} ${triggered}`),
      ['closed 2', 'closed 6', 'closed 10'],
    );
    t.deepEqual(await eventsOf(records), [], 'what was to be sent goes with its subscription');
  });

  test('a business that is suspended, or has no real-time delivery, is told of no new hail, and that the old is over', async (t, world) => {
    const { records, publish, business } = await watched(world);
    await publish(...hail(2));
    await records.transaction((rows) => setStatus(rows, business, 'suspended', world.now_ms));
    await publish(...clear(40), ...hail(42));
    await records.transaction((rows) => setStatus(rows, business, 'active', world.now_ms));
    await records.transaction((rows) => setPlan(rows, business, { ...SELF_HOSTED, features: [] }, world.now_ms));
    await publish(...hail(44));
    await isToldOnce(t, records);
    await records.transaction((rows) => setPlan(rows, business, SELF_HOSTED, world.now_ms));
    await publish(...hail(46));
    t.deepEqual(await eventsOf(records), ['alert.created', 'alert.resolved', 'alert.created']);
  });

  test('areas are watched as subscriptions are: a polygon and a point raise an alert at 25 mm, canvassing raises none', async (t, world) => {
    const { records, publish, business } = await watched(world);
    await records.transaction(async (rows) => {
      const ring = positionsOf('-97.5 34.5, -96.5 34.5, -96.5 35.5, -97.5 35.5, -97.5 34.5');
      const polygon = {
        kind: 'polygon' as const,
        lat: null,
        lon: null,
        geometry: JSON.stringify({ type: 'Polygon', coordinates: [ring] }),
      };
      const point = { kind: 'point' as const, ...PLACE, geometry: null };
      const area = { business_id: business.id, ...AREA };
      await rows
        .insertInto('areas')
        .values([
          { ...area, ...polygon, id: 'area_9', name: 'County', real_time: 1, purpose: 'both' },
          { ...area, ...point, id: 'area_2', name: 'Roof', real_time: 0, purpose: 'monitoring' },
          { ...area, ...polygon, id: 'area_3', name: 'Doors', real_time: 0, purpose: 'canvassing' },
        ])
        .execute();
      await rows.deleteFrom('subscriptions').execute();
    });
    await publish({ minute: 2, hail: [[PLACE.lat, PLACE.lon, 24.9]] });
    t.deepEqual(await alertsOf(records), []);
    await publish({ minute: 4, hail: [[PLACE.lat, PLACE.lon, 25]] });
    const alerts = await records.reader.selectFrom('alerts').selectAll().orderBy('id').execute();
    t.deepEqual(
      alerts.map(({ location_id, location_kind, location_name }) => `${location_id} ${location_kind} ${location_name}`),
      ['area_9 area County', 'area_2 area Roof'],
    );
    await records.transaction((rows) =>
      rows.updateTable('areas').set({ purpose: 'canvassing', version: 2 }).where('id', '=', 'area_9').execute(),
    );
    await records.transaction((rows) => rows.deleteFrom('areas').where('id', '=', 'area_2').execute());
    await publish(...clear(6));
    t.deepEqual(pluck(await alertsOf(records), 'status'), ['closed', 'closed']);
  });

  test('an area whose outline was moved away from its hail closes the alert, and nobody is told', async (t, world) => {
    const { records, publish, business } = await watched(world);
    await records.transaction(async (rows) => {
      const point = { kind: 'point' as const, ...PLACE, geometry: null };
      await rows
        .insertInto('areas')
        .values({ business_id: business.id, ...AREA, ...point, id: 'area_1', name: '', real_time: 0, purpose: 'both' })
        .execute();
      await rows.deleteFrom('subscriptions').execute();
    });
    await publish(...hail(2));
    await records.transaction((rows) => rows.updateTable('areas').set({ lat: 40, version: 2 }).execute());
    await publish(...clear(40));
    t.like((await alertsOf(records))[0], { status: 'closed', resolved: null });
    t.deepEqual(await eventsOf(records), []);
  });

  test('a scan whose archive cannot be read raises alerts, and resolves none', async (t, world) => {
    const { records, publish } = await watched(world);
    await publish({ ...hail(2)[0], minute: 2, covered: 'broken' });
    await publish({ minute: 40, covered: 'broken' });
    t.like((await alertsOf(records))[0], { status: 'open' });
    await publish(...clear(42));
    await isToldOnce(t, records);
  });

  test('two processes that match the same scans raise and resolve each alert once', async (t, world) => {
    const { records } = await watched(world);
    const other = await world.open();
    const scans: MadeScan[] = [];
    const watches = [records, other].map((own) => createWatch(watchPartsOf(own, { now: () => world.now_ms })));
    for (const scan of [...clear(0), ...hail(2, 4, 6), ...clear(...everyTwo(8, 40))]) {
      scans.push(scan);
      world.now_ms = START_MS + (scan.minute + 1) * MINUTE_MS;
      await Promise.all(watches.map((watch) => watch(editionOf(scans))));
    }
    await isToldOnce(t, records);
    t.deepEqual(await alertsOf(records), [{ status: 'resolved', triggered: 2, seen: 6, resolved: 36, mm: 40 }]);
  });

  test('what failed is matched with the next edition, and nothing of it is lost or doubled', async (t, world) => {
    const { records } = await watched(world);
    const scans: MadeScan[] = [];
    let failing = true;
    const parts = watchPartsOf(records, { now: () => world.now_ms });
    const queue = {
      ...parts.queue,
      add: async (...given: Parameters<typeof parts.queue.add>) => {
        await parts.queue.add(...given);
        if (failing) throw new Error('the disk is full');
      },
    };
    const watch = createWatch({ ...parts, queue });
    const publish = async (...more: readonly MadeScan[]) => {
      scans.push(...more);
      world.now_ms = START_MS + ((scans.at(-1)?.minute ?? 0) + 1) * MINUTE_MS;
      await watch(editionOf(scans));
    };
    await t.throwsAsync(publish(...hail(2)), { message: 'the disk is full' });
    t.deepEqual([await alertsOf(records), await eventsOf(records)], [[], []]);
    failing = false;
    await publish(...clear(4));
    t.like((await alertsOf(records))[0], { status: 'open', triggered: 2 });
    await publish(...clear(40));
    await isToldOnce(t, records);
  });
}

const AREA = {
  description: null,
  tags: '[]',
  priority: 'normal' as const,
  group_id: null,
  bbox: '[-97.5,34.5,-96.5,35.5]',
  centroid_geohash4: '9y6u',
  area_sq_mi: 1,
  version: 1,
  created_at: '2026-05-01T00:00:00.000Z',
  updated_at: '2026-05-01T00:00:00.000Z',
  geometry_at: '2026-05-01T00:00:00.000Z',
};

/** Any order of arrival within ten minutes, in any editions, with restarts in between. */
export function alertOrdersSuite(test: Register): void {
  test('any order of editions, with restarts and repeated scans, gives one created and one resolved for each storm', async (t, world) => {
    const { records, subscription_id } = await watched(world);
    const storms = fc.tuple(
      fc.array(fc.integer({ min: 1, max: 7 }), { maxLength: 4 }),
      fc.infiniteStream(fc.nat(5)),
      fc.infiniteStream(fc.nat(7)),
    );
    const property = fc.asyncProperty(storms, async ([steps, delays, chances]) => {
      await records.transaction(async (rows) => {
        for (const table of ['messages', 'alerts', 'matched_scans', 'tasks'] as const)
          await rows.deleteFrom(table).execute();
      });
      const hailAt = [4];
      for (const step of steps) hailAt.push((hailAt.at(-1) ?? 0) + 2 * step);
      const last = hailAt.at(-1) ?? 4;
      const scans = everyTwo(0, last + 44).map(
        (minute) => (hailAt.includes(minute) ? hail(minute) : clear(minute))[0] as MadeScan,
      );
      const arriving = scans
        .map((scan) => ({ scan, at: scan.minute + 2 * (delays.next().value ?? 0) }))
        .sort((a, b) => a.at - b.at);
      const published: MadeScan[] = [];
      const parts = watchPartsOf(records, { now: () => world.now_ms, published: () => published });
      let watch = createWatch(parts);
      for (const { scan, at } of arriving) {
        published.push(scan);
        world.now_ms = START_MS + at * MINUTE_MS;
        const chance = chances.next().value ?? 0;
        if (chance === 0) continue; // comes with the next edition
        if (chance === 1) watch = createWatch(parts); // a restart
        await watch(editionOf(published));
        if (chance === 2) await createWatch(parts)(editionOf(published)); // another process
      }
      await watch(editionOf(published));
      t.deepEqual(await eventsOf(records), ['alert.created', 'alert.resolved']);
      t.like((await alertsOf(records))[0], { status: 'resolved', seen: last, resolved: last + 30 });
    });
    await fc.assert(property, { numRuns: 20 });
    t.truthy(subscription_id);
  });
}

/** A subscription of 38 mm, and somebody who watches for it. */
async function watchedEarlier(world: World) {
  const records = await world.open();
  const { caller } = await makeTenant(records, world, 'acme');
  const { business_id } = caller;
  const writing = <R>(work: (writer: Writer) => Promise<R>) =>
    records.transaction((rows) => work({ rows, business_id, now_ms: world.now_ms }));
  const scans: MadeScan[] = [];
  const parts = [records, await world.open()].map((own) =>
    watchPartsOf(own, { now: () => world.now_ms, published: () => scans }),
  );
  const watches = parts.map((own) => createWatch(own));
  const again = () => Promise.all(watches.map((watch) => watch(editionOf(scans))));
  const [{ queue }] = parts as [(typeof parts)[number]];
  const subscription = await writing((writer) => createSubscription(writer, EARLIER_WANTED, 100));
  const id = subscription?.id ?? '';
  return {
    records,
    id,
    writing,
    mark: (receiver_id: string) => writing(({ rows }) => setReceiverFormat(rows, receiver_id, 'legacy')),
    webhook: async (events: readonly AnyEventType[]) => {
      const secrets = { encrypt: (text: string) => text, decrypt: (text: string) => text, signatures: () => [] };
      const made = await writing((writer) =>
        insertWebhook(writer, secrets, { url: EARLIER_WANTED.webhook_url, events }, 10),
      );
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

const EARLIER_WANTED = { ...WANTED, min_size_mm: 38 };

function messagesTo({ reader }: Records, receiver_id: string) {
  return reader.selectFrom('messages').selectAll().where('receiver_id', '=', receiver_id).orderBy('id').execute();
}

/** What was written for a receiver, in order. */
async function toldTo(records: Records, receiver_id: string) {
  const rows = await messagesTo(records, receiver_id);
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

/** What was written for a receiver: event, size, and its state or what it waits for. */
async function inOrder(records: Records, receiver_id: string) {
  const rows = await messagesTo(records, receiver_id);
  const named = new Map(rows.map((row) => [row.id, `${row.event} ${JSON.parse(row.body).data.mesh_size_mm}`]));
  const stateOf = ({ state, after_id }: (typeof rows)[number]) =>
    state === 'waiting' ? `after ${named.get(after_id ?? '')}` : state;
  return rows.map((row) => `${named.get(row.id)}: ${stateOf(row)}`);
}

/** Hail and alerts as the earlier variant tells them. */
export function earlierAlertsSuite(test: Register): void {
  test('a subscription of the earlier variant is told of any hail and of its threshold, each once, in the earlier words', async (t, world) => {
    const { records, id, mark, publish } = await watchedEarlier(world);
    await mark(id);
    await publish(0, 0, 18, 24, 40, 20);
    await publish(38, 0);
    const told = await toldTo(records, id);
    t.deepEqual(
      told.map(({ event, body }) => `${event} ${body.data.mesh_size_mm}`),
      ['hail.detected 24', 'alert.created 40', 'alert.resolved 40', 'hail.cleared 40'],
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
    const { records, id, mark, webhook, publish, setStatus, recovered } = await watchedEarlier(world);
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
      (await toldTo(records, earlier)).map(
        ({ event, body: { data } }) => `${event} ${data.subscription_id} ${data.mesh_size_mm}`,
      ),
      [`hail.detected ${id} 24`, `hail.cleared ${id} 24`, `hail.detected ${id} 26`, `hail.cleared ${id} 26`],
    );
  });

  test('records that lost what a scan raised tell a receiver of the earlier variant again under the ids that were sent', async (t, world) => {
    const { records, id, mark, publish, restart, again } = await watchedEarlier(world);
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
      t.deepEqual(pluck((await raisedBy(records)).messages, 'id'), pluck(messages, 'id'));
    }
  });

  test('an end that was dropped is told before new hail under its own id, with the retries of a new event', async (t, world) => {
    const { records, id, mark, publish } = await watchedEarlier(world);
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
      'hail.detected 24: delivered',
      'hail.cleared 24: pending',
      'hail.detected 26: after hail.cleared 24',
    ]);
    const tasks = await records.reader.selectFrom('tasks').select('payload').execute();
    t.true(tasks.some(({ payload }) => payload === JSON.stringify({ push_id: dropped?.id, attempt: 5 })));
  });

  test('recovery tells an address of the earlier variant of the end of an alert that was closed, once', async (t, world) => {
    const { records, id, mark, writing, publish, recovered } = await watchedEarlier(world);
    await mark(id);
    await publish(0, 24);
    await writing((writer) => updateSubscription(writer, id, { status: 'paused' }));
    await writing((writer) => updateSubscription(writer, id, { status: 'active' }));
    t.like(await recovered(id, 0), { dropped: 1, missed: 1 });
    t.like(await recovered(id, 0), { dropped: 0, missed: 0 });
    await publish(2, 26);
    t.deepEqual(await inOrder(records, id), [
      'hail.detected 24: pending',
      'hail.cleared 24: after hail.detected 24',
      'hail.detected 26: after hail.cleared 24',
    ]);
  });

  test('recovery tells a receiver of the earlier variant of the end of what it is told, also of an end that came before', async (t, world) => {
    const { records, id, mark, publish, recovered } = await watchedEarlier(world);
    await mark(id);
    await publish(0, 24);
    await allDelivered(records);
    await publish(30, 0);
    const dropped = { state: 'dropped', next_at: null } as const;
    await records.transaction((rows) =>
      rows.updateTable('messages').set(dropped).where('state', '=', 'pending').execute(),
    );
    t.like(await recovered(id, Date.now() + MINUTE_MS), { dropped: 1, missed: 0 });
    t.deepEqual(await inOrder(records, id), ['hail.detected 24: delivered', 'hail.cleared 24: pending']);
  });

  test('recovery tells a receiver of the earlier variant of nothing that is older than what it was told last of a place', async (t, world) => {
    const { records, mark, webhook, publish, setStatus, recovered } = await watchedEarlier(world);
    const earlier = await webhook(['hail.detected', 'hail.cleared']);
    await mark(earlier);
    await publish(0, 24);
    await setStatus(earlier, 'disabled');
    await publish(32, 0);
    await setStatus(earlier, 'active');
    await publish(34, 26);
    t.like(await recovered(earlier, 0), { dropped: 0, missed: 0 });
    t.deepEqual(await inOrder(records, earlier), [
      'hail.detected 24: dropped',
      'hail.cleared 24: dropped',
      'hail.detected 26: pending',
    ]);
  });
}
