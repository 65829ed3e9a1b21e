import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import test, { type ExecutionContext } from 'ava';
import { sql } from 'kysely';
import { openDatabase } from '../../api/records/database.ts';
import { CommitFailed, RecordsUnavailable } from '../../api/records/failures.ts';
import { openRecords, recordsOver } from '../../api/records/open.ts';
import { MIGRATION_NAMES } from '../../api/records/tables.ts';
import { verifyLedger } from '../../api/records/verify.ts';
import { newWatch, watchedStore } from '../support/records/watched.ts';
import { chargeOf, makeTenant, usedBy, type World } from '../support/records/world.ts';

const ANSWER = { status: 200, type: 'application/json', body: '{}' };

function fileFor(t: ExecutionContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'hail-commit-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, 'records', 'hail.sqlite');
}

async function watchedTenant(t: ExecutionContext) {
  const path = fileFor(t);
  const world: World = { now_ms: Date.parse('2026-05-20T12:00:00Z'), location: { path }, open: () => Promise.reject() };
  const watch = newWatch();
  const records = await recordsOver(watchedStore(path, watch), {
    now: () => world.now_ms,
    // Nothing but the statements of the test.
    notes_wait_ms: 600_000,
  });
  t.teardown(() => records.close());
  const tenant = await makeTenant(records, world, 'acme');
  await records.charge(chargeOf(tenant, 1, world));
  watch.statements.length = 0;
  return { records, watch, world, tenant, path };
}

test.serial('charges that arrive together share one commit, a lone one waits for no timer', async (t) => {
  const { records, watch, world, tenant } = await watchedTenant(t);
  await Promise.all(Array.from({ length: 64 }, () => records.charge(chargeOf(tenant, 3, world))));
  t.is(watch.statements.filter((statement) => statement === 'commit').length, 1);
  const inserts = watch.statements.filter((statement) => statement.startsWith('insert into "ledger"'));
  t.is(inserts.length, 2);
  t.is(watch.statements.filter((statement) => statement.startsWith('update "periods"')).length, 1);

  // The only timer here is longer than any test may take.
  t.is(await records.charge(chargeOf(tenant, 3, world)), 'charged');
});

test('when a statement of a group or its commit fails, none of it was charged, and the next group is', async (t) => {
  const { records, watch, world, tenant } = await watchedTenant(t);
  const charges = Array.from({ length: 9 }, () => chargeOf(tenant, 3, world));
  const attempt = () => Promise.allSettled(charges.map((charge) => records.charge(charge)));
  await attempt();
  const steps = watch.statements.length;
  t.true(steps >= 6);
  for (let step = 0; step < steps; step++) {
    watch.failAt = step;
    const before = await usedBy(records, tenant);
    const outcomes = await attempt();
    t.true(
      outcomes.every(
        (outcome) =>
          outcome.status === 'rejected' && outcome.reason instanceof (step === 0 ? RecordsUnavailable : CommitFailed),
      ),
      `step ${step}`,
    );
    t.is(await usedBy(records, tenant), before);
    t.deepEqual((await verifyLedger(records.reader)).faults, []);
    t.true((await attempt()).every((outcome) => outcome.status === 'fulfilled' && outcome.value === 'charged'));
  }
});

test('a commit that was made although it failed is found by its mark, and answered as made', async (t) => {
  const { records, watch, world, tenant } = await watchedTenant(t);
  const { business_id } = tenant.caller;
  watch.loseCommits = true;
  t.is(await records.charge(chargeOf(tenant, 3, world)), 'charged');
  t.deepEqual(
    await records.write(business_id, chargeOf(tenant, 10, world), null, world.now_ms, async () => ANSWER),
    ANSWER,
  );
  watch.loseCommits = false;
  t.is(await usedBy(records, tenant), 14);
  t.deepEqual((await verifyLedger(records.reader)).faults, []);
});

test('marks of commits are removed by the next one', async (t) => {
  const { records, world, tenant } = await watchedTenant(t);
  for (let n = 0; n < 5; n++) await records.charge(chargeOf(tenant, 1, world));
  t.is((await records.reader.selectFrom('commits').select('id').execute()).length, 1);
});

test('a write whose statement fails anywhere leaves the state before it, and its claim free', async (t) => {
  const { records, watch, world, tenant } = await watchedTenant(t);
  const { business_id } = tenant.caller;
  const request = (key: string) => ({ business_id, route: 'POST /v1/portfolio/locations', key, fingerprint: 'body' });
  const write = async (key: string) => {
    const claim = await records.claim(request(key));
    if (claim.kind !== 'claimed') throw new Error(`the claim is ${claim.kind}, expected claimed`);
    watch.statements.length = 0;
    try {
      return await records.write(
        business_id,
        chargeOf(tenant, 10, world),
        claim.token,
        world.now_ms,
        async ({ rows }) => {
          await rows.insertInto('probes').values({ name: key, at: '' }).execute();
          return ANSWER;
        },
      );
    } finally {
      watch.failAt = null;
    }
  };
  await write('sound');
  const steps = watch.statements.length;
  t.is(watch.statements.at(-1), 'commit');
  for (let step = 0; step < steps; step++) {
    const before = await usedBy(records, tenant);
    const claim = await records.claim(request(`broken ${step}`));
    if (claim.kind !== 'claimed') throw new Error(`the claim is ${claim.kind}, expected claimed`);
    watch.failAt = step;
    const charge = chargeOf(tenant, 10, world);
    await t.throwsAsync(
      records.write(business_id, charge, claim.token, world.now_ms, async ({ rows }) => {
        await rows
          .insertInto('probes')
          .values({ name: `broken ${step}`, at: '' })
          .execute();
        return ANSWER;
      }),
      { instanceOf: step === 0 ? RecordsUnavailable : CommitFailed },
    );
    t.is(await usedBy(records, tenant), before);
    await records.releaseClaim(claim.token);
    t.is((await records.claim(request(`broken ${step}`))).kind, 'claimed');
  }
  const rows = await records.reader.selectFrom('probes').select('name').execute();
  t.deepEqual(
    rows,
    [{ name: 'sound' }].map((row) => Object.assign(Object.create(null), row)),
  );
});

test('a full disk refuses charges, counts nothing, and works again without a restart', async (t) => {
  const { records, world, tenant } = await watchedTenant(t);
  const { writer } = records.store;
  const pages = await sql<{ page_count: number }>`pragma page_count`.execute(writer);
  await sql`pragma max_page_count = ${sql.lit(pages.rows[0]?.page_count ?? 0)}`.execute(writer);
  let charged = 1;
  const failure = await t.throwsAsync(async () => {
    for (;;) {
      await records.charge(chargeOf(tenant, 1, world, `operation ${charged}`));
      charged += 1;
    }
  });
  t.true(failure instanceof CommitFailed);
  t.regex(failure.message, /full/);
  t.is(await usedBy(records, tenant), charged);

  await sql`pragma max_page_count = 1000000`.execute(writer);
  t.true(await records.health());
  t.is(await records.charge(chargeOf(tenant, 1, world)), 'charged');
  t.is(await usedBy(records, tenant), charged + 1);
});

test('health says that commits fail, until one works', async (t) => {
  const { records, watch, world, tenant } = await watchedTenant(t);
  t.true(await records.health());
  watch.failAt = 1;
  await t.throwsAsync(records.charge(chargeOf(tenant, 1, world)), { instanceOf: CommitFailed });
  watch.failAt = 2;
  t.false(await records.health(), 'the commit of the probe failed too');
  t.true(await records.health());
});

test.serial('while another process writes, charges wait without holding up the event loop', async (t) => {
  const { records, world, tenant, path } = await watchedTenant(t);
  const other = new DatabaseSync(path);
  other.exec('begin immediate');
  const charging = records.charge(chargeOf(tenant, 3, world));
  // Held up, the loop would not come to the commit that lets the charge through.
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
  other.exec('commit');
  other.close();
  t.is(await charging, 'charged');
});

test('a fault of a statement itself is passed on as the bug it is', async (t) => {
  const { records } = await watchedTenant(t);
  const error = await t.throwsAsync(records.transaction((rows) => sql`select * from nowhere`.execute(rows)));
  t.false(error instanceof CommitFailed || error instanceof RecordsUnavailable);
  t.regex(error?.message ?? '', /no such table/);
});

test('records that cannot be reached are said to be unavailable', async (t) => {
  const nowhere = { data_root: tmpdir(), database_url: 'postgres://nobody:hunter2@127.0.0.1:1/none', now: () => 0 };
  const error = await t.throwsAsync(openRecords(nowhere), { instanceOf: RecordsUnavailable });
  t.false(error.message.includes('hunter2'));
  const path = fileFor(t);
  mkdirSync(dirname(path));
  writeFileSync(path, 'not a database, '.repeat(1000));
  await t.throwsAsync(recordsOver(openDatabase({ path }), { now: () => 0 }), { instanceOf: RecordsUnavailable });
  await t.throwsAsync(openRecords({ data_root: '/dev/null', database_url: null, now: () => 0 }), {
    instanceOf: RecordsUnavailable,
  });
});

test('the records are for their owner alone, and hold no text of a key anywhere', async (t) => {
  const { records, tenant, path } = await watchedTenant(t);
  const folder = join(path, '..');
  t.is(statSync(folder).mode & 0o777, 0o700);
  const files = readdirSync(folder);
  t.true(files.includes('hail.sqlite-wal'));
  for (const file of files) {
    t.is(statSync(join(folder, file)).mode & 0o777, 0o600, file);
    t.false(readFileSync(join(folder, file)).includes(tenant.key.slice(16, 48)), file);
  }
  await records.close();
  t.false(readFileSync(path).includes(tenant.key.slice(16, 48)));
  t.true(readFileSync(path).includes(tenant.key.slice(8, 16)));
});

test('records of a newer version are refused, and stay as they are', async (t) => {
  const path = fileFor(t);
  const records = await recordsOver(openDatabase({ path }), { now: () => 0 });
  await records.transaction((rows) =>
    rows.insertInto('migrations').values({ name: '999-later', applied_at: '' }).execute(),
  );
  await records.close();
  await t.throwsAsync(recordsOver(openDatabase({ path }), { now: () => 0 }), {
    message: /hold 999-later, expected none newer/,
  });
});

test('the start says which migrations it applied, and the next one applies none', async (t) => {
  const path = fileFor(t);
  const said: string[] = [];
  const options = {
    data_root: join(path, '..', '..'),
    database_url: null,
    now: () => 0,
    report: (line: string) => said.push(line),
  };
  await (await openRecords(options)).close();
  t.is(said.length, MIGRATION_NAMES.length);
  t.regex(said[0] ?? '', /^records: applied migration 001-.* to .*hail\.sqlite$/);
  await (await openRecords(options)).close();
  t.is(said.length, MIGRATION_NAMES.length);
});

test('processes that start together on nothing migrate once and make one first business', async (t) => {
  const path = fileFor(t);
  const child = fileURLToPath(new URL('../support/records/start-child.ts', import.meta.url));
  const run = promisify(execFile);
  const said = await Promise.all(
    Array.from({ length: 4 }, async () =>
      JSON.parse((await run(process.execPath, [child, join(path, '..', '..')])).stdout),
    ),
  );
  t.deepEqual(said.map(({ applied }) => applied).sort(), [0, 0, 0, MIGRATION_NAMES.length]);
  t.is(said.filter(({ made }) => made).length, 1);
});
