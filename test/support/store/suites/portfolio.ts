import type { Records } from '../../../../api/billing/records.ts';
import {
  allLocations,
  countLocations,
  deleteLocations,
  type LocationChange,
  locationCursor,
  locationCursorNote,
  selectLocations,
  type UpsertResult,
  upsertLocations,
} from '../../../../api/portfolio/locations.ts';
import type { Writer } from '../../../../api/records/database.ts';
import { makeTenant, type Register, type Tenant, type World } from '../world.ts';

const QUOTA = 10_000;

function place(name: string, changes: Partial<LocationChange> = {}): LocationChange {
  return { id: null, name, lat: 35.5, lon: -97.5, address: null, tags: null, ...changes };
}

async function within<T>(
  records: Records,
  { caller }: Tenant,
  world: World,
  work: (writer: Writer) => Promise<T>,
): Promise<T> {
  return await records.transaction((rows) => work({ rows, business_id: caller.business_id, now_ms: world.now_ms }));
}

async function upload(
  records: Records,
  tenant: Tenant,
  world: World,
  changes: readonly LocationChange[],
  quota = QUOTA,
): Promise<UpsertResult> {
  return await within(records, tenant, world, (writer) => upsertLocations(writer, changes, quota));
}

function idsOf({ outcomes }: UpsertResult): string[] {
  return outcomes.flatMap((outcome) => ('id' in outcome ? [outcome.id] : []));
}

async function names(records: Records, { caller }: Tenant): Promise<string[]> {
  return (await selectLocations(records.reader, caller.business_id, null, 1000)).map(({ name }) => name);
}

/** Portfolio locations: quota, order, pages, tenancy. */
export function portfolioSuite(test: Register): void {
  test('new rows get ids in order and are there as sent', async (t, world) => {
    const records = await world.open();
    const tenant = await makeTenant(records, world, 'acme');
    const result = await upload(records, tenant, world, [
      place('Barn', { address: '1 Elm St', tags: ['north', 'roof'], lat: 35.123456789, lon: -97.000001 }),
      place('Shed'),
    ]);
    t.deepEqual([result.locations_before, result.locations_after], [0, 2]);
    const [barn, shed] = idsOf(result);
    t.regex(barn ?? '', /^loc_[0-9A-HJKMNP-TV-Z]{26}$/);
    t.true((barn ?? '') < (shed ?? ''));
    const at = '2026-05-20T12:00:00.000Z';
    t.deepEqual(await allLocations(records.reader, tenant.caller.business_id), [
      {
        id: barn ?? '',
        name: 'Barn',
        lat: 35.123456789,
        lon: -97.000001,
        address: '1 Elm St',
        tags: ['north', 'roof'],
        created_at: at,
        updated_at: at,
      },
      { id: shed ?? '', name: 'Shed', lat: 35.5, lon: -97.5, address: '', tags: [], created_at: at, updated_at: at },
    ]);
  });

  test('an update replaces name and place, keeps absent address and tags, clears empty ones', async (t, world) => {
    const records = await world.open();
    const tenant = await makeTenant(records, world, 'acme');
    const [id = ''] = idsOf(
      await upload(records, tenant, world, [place('Barn', { address: '1 Elm St', tags: ['north'] })]),
    );
    world.now_ms += 60_000;
    await upload(records, tenant, world, [place('Big barn', { id, lat: 36 })]);
    t.like((await allLocations(records.reader, tenant.caller.business_id))[0], {
      name: 'Big barn',
      lat: 36,
      address: '1 Elm St',
      tags: ['north'],
      created_at: '2026-05-20T12:00:00.000Z',
      updated_at: '2026-05-20T12:01:00.000Z',
    });
    await upload(records, tenant, world, [place('Big barn', { id, address: '', tags: [] })]);
    t.like((await allLocations(records.reader, tenant.caller.business_id))[0], { address: '', tags: [] });
  });

  test('rows beyond the quota are refused in order, and updates need none', async (t, world) => {
    const records = await world.open();
    const tenant = await makeTenant(records, world, 'acme');
    const [id = ''] = idsOf(await upload(records, tenant, world, [place('a')], 2));
    const result = await upload(records, tenant, world, [place('b'), place('c'), place('a2', { id }), place('d')], 2);
    t.deepEqual(
      result.outcomes.map(({ kind }) => kind),
      ['created', 'quota_exceeded', 'updated', 'quota_exceeded'],
    );
    t.deepEqual([result.locations_before, result.locations_after], [1, 2]);
    t.deepEqual(await names(records, tenant), ['a2', 'b']);
  });

  test('two uploads at once share the quota', async (t, world) => {
    const servers = [await world.open(), await world.open()];
    const tenant = await makeTenant(servers[0] as Records, world, 'acme');
    const { business_id } = tenant.caller;
    const changes = Array.from({ length: 60 }, (_, k) => place(`place ${k}`));
    await Promise.all(
      servers.map((records) =>
        records.write(business_id, null, null, world.now_ms, async (writer) => {
          await upsertLocations(writer, changes, 100);
          return { status: 200, type: 'application/json', body: '' };
        }),
      ),
    );
    t.is(await countLocations((servers[0] as Records).reader, business_id), 100);
  });

  test("another business's location is unknown, and stays as it was", async (t, world) => {
    const records = await world.open();
    const acme = await makeTenant(records, world, 'acme');
    const other = await makeTenant(records, world, 'other');
    const [id = ''] = idsOf(await upload(records, acme, world, [place('Barn')]));
    const result = await upload(records, other, world, [place('Mine now', { id }), place('x', { id: 'loc_none' })]);
    t.deepEqual(
      result.outcomes.map(({ kind }) => kind),
      ['unknown_id', 'unknown_id'],
    );
    t.deepEqual(await within(records, other, world, (writer) => deleteLocations(writer, [id])), []);
    t.deepEqual(await names(records, acme), ['Barn']);
  });

  test('names are ordered by code points, equal ones by id', async (t, world) => {
    const records = await world.open();
    const tenant = await makeTenant(records, world, 'acme');
    const mixed = ['b', 'a', 'Z', 'é', 'z', '𝒜', '\uff21', '10', '9', 'a', ' b'];
    const ids = idsOf(
      await upload(
        records,
        tenant,
        world,
        mixed.map((name) => place(name)),
      ),
    );
    t.deepEqual(await names(records, tenant), [' b', '10', '9', 'Z', 'a', 'a', 'b', 'z', 'é', '\uff21', '𝒜']);
    const twins = (await selectLocations(records.reader, tenant.caller.business_id, null, 100)).filter(
      ({ name }) => name === 'a',
    );
    t.deepEqual(
      twins.map(({ id }) => id),
      [ids[1], ids[9]],
    );
  });

  test('a walk through pages sees each row once and ends', async (t, world) => {
    const records = await world.open();
    const tenant = await makeTenant(records, world, 'acme');
    const { business_id, rate_bucket } = tenant.caller;
    await upload(
      records,
      tenant,
      world,
      Array.from({ length: 25 }, (_, k) => place(`name ${k % 4}`)),
    );
    const seen: string[] = [];
    let cursor: string | null = null;
    for (let page = 0; page < 4; page++) {
      const after: Awaited<ReturnType<typeof locationCursor>> =
        cursor === null
          ? null
          : await locationCursor(records.reader, { business_id, holder: rate_bucket }, cursor, world.now_ms);
      const rows = await selectLocations(records.reader, business_id, after, 10);
      seen.push(...rows.map(({ id }) => id));
      cursor = rows.at(-1)?.id ?? null;
    }
    t.is(seen.length, 25);
    t.is(new Set(seen).size, 25);
    t.is(cursor, null);
  });

  test('a cursor keeps its place for the key that got it when its location is renamed', async (t, world) => {
    const records = await world.open();
    const tenant = await makeTenant(records, world, 'acme');
    const { business_id, rate_bucket: holder } = tenant.caller;
    const [id = ''] = idsOf(await upload(records, tenant, world, [place('b'), place('c'), place('d')]));
    records.rememberCursor(locationCursorNote({ business_id, holder }, { name: 'b', id }, world.now_ms));
    await records.close();

    const again = await world.open();
    await upload(again, tenant, world, [place('z', { id })]);
    const cursorOf = (who: string) => locationCursor(again.reader, { business_id, holder: who }, id, world.now_ms);
    t.deepEqual(await cursorOf(holder), { name: 'b', id });
    t.deepEqual(await cursorOf('another key'), { name: 'z', id });
    world.now_ms += 3_600_000;
    t.deepEqual(await cursorOf(holder), { name: 'z', id });
  });

  test('a cursor whose location was deleted stays valid for a day, an unknown or foreign one never is', async (t, world) => {
    const records = await world.open();
    const tenant = await makeTenant(records, world, 'acme');
    const other = await makeTenant(records, world, 'other');
    const [id = '', kept = ''] = idsOf(await upload(records, tenant, world, [place('b'), place('c')]));
    await within(records, tenant, world, (writer) => deleteLocations(writer, [id]));
    const cursorOf = ({ caller }: Tenant, cursor: string) =>
      locationCursor(
        records.reader,
        { business_id: caller.business_id, holder: caller.rate_bucket },
        cursor,
        world.now_ms,
      );
    world.now_ms += 24 * 3_600_000 - 1;
    t.deepEqual(await cursorOf(tenant, id), { name: 'b', id });
    t.is(await cursorOf(other, id), null);
    t.is(await cursorOf(other, kept), null);
    t.is(await cursorOf(tenant, 'loc_none'), null);
    world.now_ms += 1;
    t.is(await cursorOf(tenant, id), null);
  });

  test('2,000 locations are deleted in one go, repeated and unknown ids aside', async (t, world) => {
    const records = await world.open();
    const tenant = await makeTenant(records, world, 'acme');
    const ids = idsOf(
      await upload(
        records,
        tenant,
        world,
        Array.from({ length: 2001 }, (_, k) => place(`p${k}`)),
      ),
    );
    const asked = [...ids.slice(0, 1999), ids[0] ?? '', 'loc_none'];
    const deleted = await within(records, tenant, world, (writer) => deleteLocations(writer, asked));
    t.deepEqual(deleted, ids.slice(0, 1999));
    t.is(await countLocations(records.reader, tenant.caller.business_id), 2);
  });
}
