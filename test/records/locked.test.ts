import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { openDatabase } from '../../api/records/database.ts';
import { RecordsUnavailable } from '../../api/records/failures.ts';
import { recordsOver } from '../../api/records/open.ts';
import type { Records } from '../../api/records/records.ts';
import { verifyLedger } from '../../api/records/verify.ts';
import { chargeOf, makeTenant, usedBy, type World } from '../support/records/world.ts';

const WAIT_MS = 400;
const NOTES_WAIT_MS = 100;
const ANSWER = { status: 200, type: 'application/json', body: '{}' };

async function tenantOnFile(t: ExecutionContext, notes_wait_ms = NOTES_WAIT_MS) {
  const folder = mkdtempSync(join(tmpdir(), 'hail-locked-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, 'hail.sqlite');
  const world: World = { now_ms: Date.parse('2026-05-20T12:00:00Z'), location: { path }, open: () => Promise.reject() };
  const records = await recordsOver(openDatabase({ path }), {
    now: () => world.now_ms,
    notes_wait_ms,
    write_wait_ms: WAIT_MS,
  });
  t.teardown(() => records.close());
  const tenant = await makeTenant(records, world, 'acme');
  await records.charge(chargeOf(tenant, 1, world));
  const { business_id } = tenant.caller;
  const request = { business_id, route: 'POST /v1/portfolio/locations', key: 'key-1', fingerprint: 'body' };
  return { records, world, tenant, path, request, business_id };
}

/** Holds the write lock as another process would; returns what lets go of it. */
function lock(path: string): () => void {
  const other = new DatabaseSync(path);
  other.exec('begin exclusive');
  return () => {
    other.exec('commit');
    other.close();
  };
}

/** Turns of the event loop in which no timer of any length can have been waited for: tries for the lock are timers. */
const TURNS = 1_000;

/** What something ends with, value or error. */
function outcome(run: Promise<unknown>): Promise<unknown> {
  return run.catch((error: unknown) => error);
}

/** The same without waiting: undefined when it has not ended after a few turns of the event loop. */
async function atOnce(run: Promise<unknown>): Promise<unknown> {
  let ended: unknown;
  void outcome(run).then((end) => {
    ended = end;
  });
  for (let turn = 0; turn < TURNS && ended === undefined; turn++) await new Promise(setImmediate);
  return ended;
}

/** Waits for something to become true. */
async function soon(isSo: () => Promise<boolean>): Promise<boolean> {
  while (!(await isSo())) await sleep(20);
  return true;
}

/** Makes it known that the lock is held. */
async function findLocked(records: Records, run: () => Promise<unknown>): Promise<void> {
  const refused = await run().then(
    () => null,
    (error: unknown) => error,
  );
  if (!(refused instanceof RecordsUnavailable))
    throw new Error('a locked file was written to, expected a refusal', { cause: refused });
  if (await records.health()) throw new Error('health does not know of the lock, expected it to');
}

test.serial('everybody who waits for a file that another process keeps locked is refused together', async (t) => {
  const { records, world, tenant, path, business_id } = await tenantOnFile(t);
  const charge = chargeOf(tenant, 3, world);
  const release = lock(path);
  const waits = [
    ...Array.from({ length: 300 }, () => records.charge(charge)),
    ...Array.from({ length: 20 }, () => records.write(business_id, charge, null, world.now_ms, async () => ANSWER)),
    records.transaction(async () => {}),
  ].map(outcome);
  t.true((await Promise.race(waits)) instanceof RecordsUnavailable);
  const rest = await atOnce(Promise.all(waits));
  t.true(Array.isArray(rest) && rest.every((error) => error instanceof RecordsUnavailable), 'nobody waits any longer');

  release();
  t.true(await soon(() => records.health()), 'the lock is free, and nobody noticed');
  t.is(await records.charge(charge), 'charged');
  t.is(await usedBy(records, tenant), 4);
  t.deepEqual((await verifyLedger(records.reader)).faults, []);
});

test.serial(
  'once the lock is known to be held, charges are refused at once, and so is the look before them',
  async (t) => {
    const { records, world, tenant, path } = await tenantOnFile(t);
    const release = lock(path);
    await findLocked(records, () => records.charge(chargeOf(tenant, 3, world)));
    for (const refused of [
      () => records.charge(chargeOf(tenant, 3, world)),
      () => records.wouldExceed(tenant.caller, 3, world.now_ms),
    ]) {
      t.true((await atOnce(refused())) instanceof RecordsUnavailable);
    }
    release();
    t.true(await soon(() => records.health()));
    t.is(await records.wouldExceed(tenant.caller, 3, world.now_ms), null);
  },
);

test.serial('waiting for the lock leaves the event loop to others', async (t) => {
  const { records, world, tenant, path } = await tenantOnFile(t);
  const release = lock(path);
  let waiting = true;
  const refused = outcome(records.charge(chargeOf(tenant, 3, world))).finally(() => {
    waiting = false;
  });
  let turns = 0;
  for (; waiting; turns++) await new Promise(setImmediate);
  release();
  t.true((await refused) instanceof RecordsUnavailable);
  t.true(await soon(() => records.health()));
  t.true(turns > 10, `the event loop turned ${turns} times during the wait`);
});

test.serial('a lock that is held again and again for moments refuses nobody', async (t) => {
  const { records, world, tenant, path } = await tenantOnFile(t);
  // Together longer than anybody waits, each far shorter: a machine that stands still for a moment counts as held.
  const rounds = 12;
  for (let round = 0; round < rounds; round++) {
    const release = lock(path);
    const charges = Array.from({ length: 20 }, () => records.charge(chargeOf(tenant, 1, world)));
    await sleep(WAIT_MS / (rounds - 2));
    release();
    t.deepEqual(new Set(await Promise.all(charges)), new Set(['charged']));
  }
  t.is(await usedBy(records, tenant), 1 + 20 * rounds);
});

test.serial('a lock that was let go without anybody asking is waited for anew', async (t) => {
  const { records, world, tenant, path } = await tenantOnFile(t);
  const release = lock(path);
  await findLocked(records, () => records.charge(chargeOf(tenant, 1, world)));
  release();
  while (records.store.writersBlocked()) await sleep(20);
  const releaseAgain = lock(path);
  const charging = records.charge(chargeOf(tenant, 1, world));
  await sleep(WAIT_MS / 10);
  releaseAgain();
  t.is(await charging, 'charged');
});

test.serial(
  'health answers before a charge would be refused while it is not yet known whether commits work again',
  async (t) => {
    const { records, world, tenant, path } = await tenantOnFile(t, 600_000);
    const release = lock(path);
    await findLocked(records, () => records.charge(chargeOf(tenant, 1, world)));
    release();
    while (records.store.writersBlocked()) await sleep(20);
    records.store.setWaits({ lock_ms: 60_000, statement_ms: 60_000 });
    const releaseAgain = lock(path); // no commit has worked since, and the lock is not known to be held
    const charge = outcome(records.charge(chargeOf(tenant, 1, world)));
    t.is(await Promise.race([records.health(), charge]), false, 'the charge waits longer');
    releaseAgain();
    t.true(await soon(() => records.health()));
  },
);

for (const [end, run] of [
  ['released', (records: Records, token: string) => records.releaseClaim(token)],
  ['finished with a refusal', (records: Records, token: string) => records.storeRefusal(token, ANSWER)],
] as const)
  test.serial(`a claim that could not be ${end} is free again soon after the lock is`, async (t) => {
    const { records, path, request } = await tenantOnFile(t);
    const claim = await records.claim(request);
    if (claim.kind !== 'claimed') throw new Error(`the claim is ${claim.kind}, expected claimed`);
    const release = lock(path);
    await findLocked(records, () => records.transaction(async () => {}));
    await run(records, claim.token);
    release();
    t.true(await soon(() => records.health()));
    t.true(await soon(async () => (await records.claim(request)).kind === 'claimed'));
  });

test.serial('what was noted while the lock was held is written after it', async (t) => {
  const { records, world, tenant, path } = await tenantOnFile(t);
  const requests = async () =>
    (await records.reader.selectFrom('request_counts').select('requests').executeTakeFirst())?.requests ?? 0;
  const release = lock(path);
  for (let k = 0; k < 5; k++) records.countRequest(tenant.caller.key_id, world.now_ms);
  await sleep(NOTES_WAIT_MS + WAIT_MS + 100);
  t.false(await records.health(), 'the notes were the first to find the lock');
  t.is(await requests(), 0);
  release();
  t.true(await soon(async () => (await requests()) === 5));
});
