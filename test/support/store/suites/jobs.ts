import type { Records } from '../../../../api/billing/records.ts';
import { verifyLedger } from '../../../../api/billing/usage.ts';
import { acceptJob, beginJob, failJob, findServedJob, finishJob } from '../../../../api/jobs/rows.ts';
import { wholeSeconds } from '../../../../schemas/time.ts';
import { chargeOf, makeTenant, type Register, type Tenant, usedBy, type World, withTenant } from '../world.ts';

const ROUNDS = 8;
const RESULT = {
  summary: {},
  data_as_of_ms: null,
  data_source: null,
  media_type: 'application/pdf',
  file_name: 'report.pdf',
  bytes: 1,
  sha256: 'ab',
} as const;

const NO_QUEUE = { add: async () => {} };
const PRICE = { operation: 'verify.report.create', credits: 100, count: 1 };
const RANGE = { lat: 35, lon: -97, date_start: '2026-04-01', date_end: '2026-05-01' };

/** Accepts a job for 100 credits; its id. */
async function accept(records: Records, tenant: Tenant, world: World): Promise<string> {
  let id = '';
  const { business_id, key_id } = tenant.caller;
  const charge = chargeOf(tenant, 100, world, PRICE.operation);
  await records.write(business_id, charge, null, world.now_ms, async (writer) => {
    id = await acceptJob(writer, NO_QUEUE, { kind: 'report', params: RANGE, caller: { key_id }, price: PRICE });
    return { status: 202, type: 'application/json', body: '{}' };
  });
  return id;
}

/** Jobs end once, whoever ends them. */
export function jobsSuite(test: Register): void {
  const tenantTest = withTenant(test);
  test('a job that is ended by two processes at once ends once, done or failed, and a failure is given back once', async (t, world) => {
    const all = [await world.open(), await world.open()] as const;
    const [records] = all;
    const tenant = await makeTenant(records, world, 'acme');
    let done = 0;
    for (let round = 0; round < ROUNDS; round++) {
      const id = await accept(records, tenant, world);
      const job = await records.transaction((rows) => beginJob(rows, id, world.now_ms));
      if (job === null) throw new Error('a new job is not pending');
      const finish = (each: Records) => each.transaction((rows) => finishJob(rows, id, RESULT, world.now_ms));
      const fail = (each: Records) => each.transaction((rows) => failJob(rows, job, 'it failed', world.now_ms));
      const ends = all.flatMap((each, k) =>
        k === round % 2 ? [finish(each), fail(each)] : [fail(each), finish(each)],
      );
      const outcomes = await Promise.all(ends);
      t.is(outcomes.filter((is_own) => is_own).length, 1);
      t.is(await records.transaction((rows) => beginJob(rows, id, world.now_ms)), null);
      const { status } = await records.reader
        .selectFrom('jobs')
        .select('status')
        .where('id', '=', id)
        .executeTakeFirstOrThrow();
      if (status === 'done') done += 1;
    }
    t.is(await usedBy(records, tenant), 100 * done);
    const { faults, credits } = await verifyLedger(records.reader);
    t.deepEqual([faults, credits], [[], 100 * done]);
  });

  test('a job whose file is lost is given back once, however many services miss it at once', async (t, world) => {
    const all = [await world.open(), await world.open()] as const;
    const [records] = all;
    const tenant = await makeTenant(records, world, 'acme');
    for (let round = 0; round < ROUNDS; round++) {
      const id = await accept(records, tenant, world);
      t.true(await records.transaction((rows) => finishJob(rows, id, RESULT, world.now_ms)));
      const done = await findServedJob(records.reader, id, world.now_ms);
      if (done === null) throw new Error('a job that ended well is not done');
      const misses = [...all, ...all].map((each) =>
        each.transaction((rows) => failJob(rows, done, 'its file is gone', world.now_ms)),
      );
      t.is((await Promise.all(misses)).filter((is_own) => is_own).length, 1);
      t.false(await records.transaction((rows) => finishJob(rows, id, RESULT, world.now_ms)));
    }
    t.is(await usedBy(records, tenant), 0);
    const { faults, rows } = await verifyLedger(records.reader);
    t.deepEqual([faults, rows], [[], 2 * ROUNDS]);
  });

  tenantTest(
    'up to when the data of a job go is kept to the second with its file, and is nothing where nobody knows',
    async (t, world, records, tenant) => {
      for (const data_as_of_ms of [Date.parse('2026-05-01T23:58:40Z'), null]) {
        const id = await accept(records, tenant, world);
        const result = { ...RESULT, data_as_of_ms };
        t.true(await records.transaction((rows) => finishJob(rows, id, result, world.now_ms)));
        const done = await findServedJob(records.reader, id, world.now_ms);
        t.is(wholeSeconds(done?.data_as_of ?? null), data_as_of_ms === null ? null : '2026-05-01T23:58:40Z');
      }
    },
  );

  tenantTest(
    'a refund has a line and an operation of its own, on the day of its charge, and is nobody’s call',
    async (t, world, records, tenant) => {
      const id = await accept(records, tenant, world);
      const job = await records.transaction((rows) => beginJob(rows, id, world.now_ms));
      if (job === null) throw new Error('a new job is not pending');
      await records.transaction((rows) => failJob(rows, job, 'it failed', world.now_ms + 40 * 86_400_000));
      const usage = await records.reader.selectFrom('usage').selectAll().orderBy('operation').execute();
      t.deepEqual(
        usage.map(({ day, operation, calls, count, credits }) => [day, operation, calls, count, credits]),
        [
          ['2026-05-20', 'verify.report.create', 1, 1, 100],
          ['2026-05-20', 'verify.report.create.refund', 0, 1, -100],
        ],
      );
      t.deepEqual((await verifyLedger(records.reader)).faults, []);
    },
  );

  test('a business has no more pending jobs than it may, however many it asks for at once', async (t, world) => {
    const all = [await world.open(), await world.open()] as const;
    const tenant = await makeTenant(all[0], world, 'acme');
    const asked = Array.from({ length: 24 }, (_, k) => accept(all[k % 2 === 0 ? 0 : 1], tenant, world));
    const refusals = (await Promise.allSettled(asked)).filter(({ status }) => status === 'rejected');
    t.is(refusals.length, 4);
    t.is(await usedBy(all[0], tenant), 2_000);
  });
}
