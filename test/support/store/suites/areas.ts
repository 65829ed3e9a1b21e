import pino from 'pino';
import { SELF_HOSTED } from '../../../../api/accounts/plans.ts';
import { AREAS, areaUse, changeArea, insertArea, removeArea } from '../../../../api/alerts/areas.ts';
import { areaRings } from '../../../../api/alerts/places.ts';
import { createSubscription, deleteSubscription } from '../../../../api/alerts/subscriptions.ts';
import type { StoredAnswer } from '../../../../api/billing/idempotency.ts';
import type { Records } from '../../../../api/billing/records.ts';
import { startRiskWatch } from '../../../../api/legacy/risk-watch.ts';
import { deleteLocations, upsertLocations } from '../../../../api/portfolio/locations.ts';
import type { Writer } from '../../../../api/records/database.ts';
import { selectPage } from '../../../../api/records/own-rows.ts';
import { openQueue } from '../../../../api/records/tasks.ts';
import { type AreaShape, pointShape, polygonShape } from '../../../../api/rules/area-geometry.ts';
import { insertWebhook, setReceiverFormat } from '../../../../api/webhooks/receivers.ts';
import { boxRing } from '../../../../schemas/geo/position.ts';
import type { Ring } from '../../../../schemas/geo/rings.ts';
import { ANSWERED_POSITIONS_MAX } from '../../../../schemas/resources/area.ts';
import type { ClimatologyCell } from '../../../../schemas/tables/derived.ts';
import { timestamp } from '../../../../schemas/time.ts';
import { editionOf } from '../../data/alert-scans.ts';
import { departuresOfEvent } from '../../data/described-events.ts';
import { corridorRing } from '../../data/rings.ts';
import { pluck } from '../../data/rows.ts';
import { makeTenant, type Register, type Tenant, type World, withTenant } from '../world.ts';

const ANSWER: StoredAnswer = { status: 200, type: 'application/json', body: '' };

function shapeOf(ring: Ring): AreaShape {
  const shape = polygonShape(ring);
  if (typeof shape === 'string') throw new Error(shape);
  return shape;
}

/** A corridor of 4,561 positions that begins at a longitude. */
function corridor(west: number): Parameters<typeof insertArea>[1] {
  const shape = shapeOf(corridorRing([west, 34.5]));
  return { kind: 'polygon', name: 'line', real_time: true, purpose: 'both', group_id: null, shape };
}

function mast(name: string, group_id: string | null = null): Parameters<typeof insertArea>[1] {
  return {
    kind: 'point',
    name,
    real_time: false,
    purpose: 'monitoring',
    group_id,
    shape: pointShape({ lat: 35, lon: -97 }),
  };
}

/** Does some work as the write of a business does it: in turn with its others, and taken back where it throws. */
async function write<Result>(
  records: Records,
  { caller }: Tenant,
  world: World,
  work: (writer: Writer) => Promise<Result>,
): Promise<Result> {
  let result: Result | undefined;
  await records.write(caller.business_id, null, null, world.now_ms, async (writer) => {
    result = await work(writer);
    return ANSWER;
  });
  return result as Result;
}

/** Areas: quotas and versions under writes at once, order, use. */
export function areasSuite(register: Register): void {
  const test = withTenant(register);
  test('areas made at once, by two servers, never take more than the quota', async (t, world, records, tenant) => {
    const servers = [records, await world.open()];
    const quotas = { ...SELF_HOSTED.quotas, point_areas: 5 };
    const outcomes = await Promise.allSettled(
      Array.from({ length: 16 }, (_, k) =>
        write(servers[k % 2] as Records, tenant, world, (writer) => insertArea(writer, mast(`mast ${k}`), quotas)),
      ),
    );
    t.is(outcomes.filter(({ status }) => status === 'fulfilled').length, 5);
    for (const outcome of outcomes)
      if (outcome.status === 'rejected') t.like(outcome.reason, { code: 'resource_exhausted' });
    t.deepEqual(await areaUse(records.reader, tenant.caller.business_id), {
      polygon_count: 0,
      point_count: 5,
      real_time_polygon_count: 0,
      total_area_sq_mi: 5,
    });
  });

  test('of changes of one version at once, by two servers, one is made and the others are told its version', async (t, world, records, tenant) => {
    const servers = [records, await world.open()];
    const { quotas } = SELF_HOSTED;
    const { id } = await write(records, tenant, world, (writer) => insertArea(writer, mast('a'), quotas));
    const outcomes = await Promise.allSettled(
      Array.from({ length: 12 }, (_, k) =>
        write(servers[k % 2] as Records, tenant, world, (writer) =>
          changeArea(writer, id, 1, { name: `name ${k}`, shape: pointShape({ lat: 36, lon: -98 }) }, quotas),
        ),
      ),
    );
    const [changed, ...others] = outcomes.toSorted((a, b) => (a.status < b.status ? -1 : 1));
    t.like(changed, { value: { version: 2, point: { lat: 36, lon: -98 } } });
    t.is(others.length, 11);
    const message = '/expected_version: is 1, the area has version 2';
    for (const other of others) t.like(other, { reason: { code: 'version_conflict', message } });
  });

  test('areas come by their last change, of equal ones the newest first; nobody else sees or deletes them', async (t, world, records, tenant) => {
    const stranger = await makeTenant(records, world, 'other');
    const { quotas } = SELF_HOSTED;
    const made = await write(records, tenant, world, async (writer) => [
      await insertArea(writer, mast('a'), quotas),
      await insertArea(writer, mast('b', 'group'), quotas),
      await insertArea(writer, mast('c'), quotas),
    ]);
    const [a, b, c] = made.map(({ id }) => id) as [string, string, string];
    world.now_ms += 1000;
    await write(records, tenant, world, (writer) => changeArea(writer, a, 1, { name: 'z' }, quotas));
    const { business_id } = tenant.caller;
    const ids = async (filter: { group_id?: string } = {}, after: Parameters<typeof selectPage>[3] = null) =>
      (await selectPage(records.reader, AREAS, { business_id, ...filter }, after, 10)).map(({ id }) => id);
    t.deepEqual(await ids(), [a, c, b]);
    t.deepEqual(await ids({ group_id: 'group' }), [b]);
    t.deepEqual(await ids({}, { sort_key: made[2]?.updated_at ?? '', id: c }), [b]);
    const not_found = { message: 'no such area' };
    await t.throwsAsync(
      write(records, stranger, world, (writer) => removeArea(writer, a)),
      not_found,
    );
    await t.throwsAsync(
      write(records, stranger, world, (writer) => changeArea(writer, a, 2, { name: 'x' }, quotas)),
      not_found,
    );
    await write(records, tenant, world, (writer) => removeArea(writer, a));
    t.deepEqual(await ids(), [c, b]);
  });

  test('the submitted ring of a polygon is what is matched, until another takes its place or the area is gone', async (t, world, records, tenant) => {
    const { quotas } = SELF_HOSTED;
    const made = await write(records, tenant, world, (writer) => insertArea(writer, corridor(-99), quotas));
    const matched = async () => (await areaRings(records.reader, [made.id])).get(made.id);
    t.deepEqual(await matched(), shapeOf(corridorRing([-99, 34.5])).submitted);
    t.is(made.ring?.length, ANSWERED_POSITIONS_MAX);
    const moved = { shape: shapeOf(corridorRing([-98, 34.5])) };
    await write(records, tenant, world, (writer) => changeArea(writer, made.id, 1, moved, quotas));
    t.deepEqual(await matched(), moved.shape.submitted);
    const small = { shape: shapeOf(boxRing([-97, 35, -96, 36])) };
    await write(records, tenant, world, (writer) => changeArea(writer, made.id, 2, small, quotas));
    t.deepEqual(await matched(), small.shape.ring);
    await write(records, tenant, world, (writer) => changeArea(writer, made.id, 3, moved, quotas));
    await write(records, tenant, world, (writer) => removeArea(writer, made.id));
    t.is(await matched(), undefined);
    t.deepEqual(await records.reader.selectFrom('area_rings').selectAll().execute(), []);
  });
}
const PLACE = { lat: 35.005, lon: -97.005 };
const YARD = { row_index: 0, name: 'Yard', ...PLACE, address: null, tags: null };
const ADDRESS = 'https://receiver.example/hail';

type Parts = Parameters<typeof startRiskWatch>[0];

/** When the newest data of a weekly run were published. */
const asOf = (run: number) => Date.parse('2026-05-01T00:00:00Z') + run * 7 * 86_400_000;

/** A business with a subscription, a saved location and a webhook of the earlier variant, and two processes that watch. */
async function watched(world: World) {
  const records = await world.open();
  const { caller } = await makeTenant(records, world, 'acme');
  const { business_id } = caller;
  const writing = <R>(work: (writer: Writer) => Promise<R>) =>
    records.transaction((rows) => work({ rows, business_id, now_ms: world.now_ms }));
  const ids = await writing(async (writer) => {
    const wanted = { ...PLACE, radius_km: 25, min_size_mm: 25, webhook_url: ADDRESS, secret: 'sealed' };
    const subscription = await createSubscription(writer, { name: 'Depot', ...wanted }, 10);
    const secrets = { encrypt: (text: string) => text, decrypt: (text: string) => text, signatures: () => [] };
    const hook = await insertWebhook(writer, secrets, { url: ADDRESS, events: ['risk.changed'] }, 10);
    const { accepted } = await upsertLocations(writer, [{ ...YARD, id: null }], 10);
    const location = accepted[0]?.id ?? '';
    const made = { subscription: subscription?.id ?? '', webhook: hook?.webhook.id ?? '', location };
    for (const id of [made.subscription, made.webhook]) await setReceiverFormat(writer.rows, id, 'legacy');
    return made;
  });
  let runs = 0;
  let score = 0;
  let shown: ReturnType<Parts['climatology']['table']> = null;
  let meanwhile = async () => {};
  const cell = () => ({ annual_score: score }) as ClimatologyCell;
  const watchOf = (own: Records) => {
    let compare = async () => {};
    const parts: Parts = {
      catalog: {
        afterEdition: ({ react }) => {
          compare = () => react(editionOf([]), new AbortController().signal);
          return async () => {};
        },
      },
      climatology: { table: () => shown ?? { version: String(runs), data_as_of: asOf(runs), cell } },
      records: {
        ...own,
        transaction: async (work) => {
          await meanwhile();
          return await own.transaction(work);
        },
      },
      queue: openQueue(own.store, { failed: () => {}, troubled: () => {} }),
      now: () => world.now_ms,
    };
    startRiskWatch(parts, pino({ level: 'silent' }));
    return () => compare();
  };
  const watches = [watchOf(records), watchOf(await world.open())];
  /** What is told while something is done, newest last. */
  const toldBy = async (doing: () => Promise<unknown>) => {
    const before = await records.reader.selectFrom('messages').select('id').execute();
    await doing();
    const told = await records.reader.selectFrom('messages').selectAll().orderBy('id').execute();
    const departures = told.flatMap(({ body }) => departuresOfEvent('legacy', body));
    if (departures.length > 0) throw new Error(`what was told is not described: ${departures.join(', ')}`);
    return told.filter(({ id }) => !before.some((old) => old.id === id));
  };
  return {
    ...ids,
    records,
    writing,
    /** A weekly run that comes to a score, seen by both processes at once; returns what was told of it. */
    run: async (now: number) => {
      runs += 1;
      score = now;
      return await toldBy(() => Promise.all(watches.map((watch) => watch())));
    },
    /** The same weekly run once more. */
    rerun: () => toldBy(() => Promise.all(watches.map((watch) => watch()))),
    /** Lets something happen to the places between a watch's look at them and what it writes. */
    between: (happening: () => Promise<void>) => {
      meanwhile = happening;
    },
    /** What a process that starts tells of a weekly run that came to a score, while others may have seen a later one. */
    startWith: async (run: number, score_then: number) => {
      const late = watchOf(await world.open());
      const cell = () => ({ annual_score: score_then }) as ClimatologyCell;
      shown = { version: String(run), data_as_of: asOf(run), cell };
      const told = await toldBy(late);
      shown = null;
      return { told, thenSees: () => toldBy(late) };
    },
    restart: async () => {
      watches.splice(0, 1, watchOf(await world.open()));
    },
  };
}

/** Risk scores as the earlier variant tells them. */
export function riskScoresSuite(test: Register): void {
  test('a risk score is told once it has moved by more than 10 points since it was told last, once in two processes', async (t, world) => {
    const { run, restart, subscription, webhook, location } = await watched(world);
    t.deepEqual(await run(40), []);
    t.deepEqual(await run(50), []);
    const told = await run(51);
    t.deepEqual(told.map(({ receiver_id }) => receiver_id).toSorted(), [subscription, webhook, webhook].toSorted());
    t.deepEqual(
      told
        .filter(({ receiver_id }) => receiver_id === webhook)
        .map(({ body }) => JSON.parse(body))
        .toSorted((a) => (a.data.location_id === null ? -1 : 1)),
      [
        { subscription_id: subscription, location_id: null },
        { subscription_id: null, location_id: location },
      ].map((place) => ({
        event: 'risk.changed',
        timestamp: timestamp(world.now_ms),
        data: {
          ...place,
          previous_score: 40,
          risk_score: 51,
          ...{ storm_id: null, mesh_size_mm: null, probability: null },
          coordinates: { lat: PLACE.lat, lng: PLACE.lon },
        },
      })),
    );
    await restart();
    t.deepEqual(await run(51), []);
    t.deepEqual(await run(45), []);
    t.is((await run(39)).length, 3);
  });

  test('records that lost a change of a score tell it again under the ids that were sent', async (t, world) => {
    const { records, run, restart, rerun } = await watched(world);
    await run(40);
    const before = await records.reader.selectFrom('risk_scores').selectAll().execute();
    const told = await run(60);
    t.is(told.length, 3);
    await records.transaction(async (rows) => {
      for (const table of ['messages', 'risk_scores'] as const) await rows.deleteFrom(table).execute();
      await rows.insertInto('risk_scores').values(before).execute();
    });
    await restart();
    t.deepEqual(
      pluck(await rerun(), 'id'),
      told.map(({ id }) => id),
    );
  });

  test('a saved location that was moved begins anew, and nobody is told', async (t, world) => {
    const { run, writing, location, webhook } = await watched(world);
    await run(40);
    await writing((writer) => upsertLocations(writer, [{ ...YARD, id: location, lat: 40.005 }], 10));
    const told = await run(80);
    t.deepEqual(
      told
        .filter(({ receiver_id }) => receiver_id === webhook)
        .map(({ body }) => Object.keys(JSON.parse(body).data)[0]),
      ['subscription_id'],
    );
  });

  test('of a subscription or location that is deleted while scores are compared nothing is told', async (t, world) => {
    const { run, writing, between, subscription, location } = await watched(world);
    await run(40);
    between(async () => {
      await writing(async (writer) => {
        await deleteSubscription(writer, subscription);
        await deleteLocations(writer, [location]);
      });
    });
    t.deepEqual(await run(80), []);
  });

  test('a service that starts with the climatology before tells nothing of it once scores of the new one were told', async (t, world) => {
    const { run, startWith } = await watched(world);
    await run(40);
    t.is((await run(60)).length, 3);
    const { told, thenSees } = await startWith(1, 40);
    t.deepEqual(told, []);
    t.deepEqual(await thenSees(), []);
    t.is((await run(80)).length, 3);
  });
}
