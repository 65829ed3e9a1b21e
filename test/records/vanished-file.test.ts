import {
  closeSync,
  copyFileSync,
  existsSync,
  mkdtempSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { sql } from 'kysely';
import { openDatabase } from '../../api/records/database.ts';
import { CommitFailed, RecordsUnavailable } from '../../api/records/failures.ts';
import { recordsOver } from '../../api/records/open.ts';
import { chargeOf, makeTenant, usedBy, type World } from '../support/records/world.ts';

async function tenantOnFile(t: ExecutionContext) {
  const folder = mkdtempSync(join(tmpdir(), 'hail-vanished-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, 'hail.sqlite');
  const world: World = { now_ms: Date.parse('2026-05-20T12:00:00Z'), location: { path }, open: () => Promise.reject() };
  const alarms: string[] = [];
  const told: string[] = [];
  const records = await recordsOver(openDatabase({ path }), {
    now: () => world.now_ms,
    // Nothing that is written when the test ends, where there is nothing to write to.
    notes_wait_ms: 600_000,
    report: (line) => told.push(line),
    alarm: (line) => alarms.push(line),
  });
  const tenant = await makeTenant(records, world, 'acme');
  await records.charge(chargeOf(tenant, 1, world));
  told.length = 0;
  return { path, world, alarms, told, records, tenant, charge: () => records.charge(chargeOf(tenant, 1, world)) };
}

/** Waits for health to say that, at most half a minute. */
async function healthBecomes(health: () => Promise<boolean>, expected: boolean): Promise<boolean> {
  for (const until_ms = performance.now() + 30_000; performance.now() < until_ms; await sleep(50))
    if ((await health()) === expected) return true;
  return false;
}

/** How files disappear under a server. */
const LOSSES = {
  'were deleted': (path: string) => unlinkSync(path),
  'were replaced by a copy': (path: string) => {
    copyFileSync(path, `${path}.copy`);
    renameSync(`${path}.copy`, path);
  },
  'lost their log': (path: string) => unlinkSync(`${path}-wal`),
  'lost their shared memory': (path: string) => unlinkSync(`${path}-shm`),
} as const;

for (const [loss, lose] of Object.entries(LOSSES))
  test(`records whose files ${loss} take no write from then on, nor reads a second later, and sound the alarm once`, async (t) => {
    const { path, alarms, records, charge, tenant } = await tenantOnFile(t);
    t.true(await records.health());
    t.deepEqual(alarms, []);
    lose(path);
    await t.throwsAsync(charge(), { instanceOf: RecordsUnavailable, message: /hail\.sqlite\S* is / });
    t.false(await records.health());
    await t.throwsAsync(usedBy(records, tenant), { instanceOf: RecordsUnavailable });
    await t.throwsAsync(charge(), { instanceOf: RecordsUnavailable });
    t.is(alarms.length, 1);
    t.regex(alarms[0] ?? '', /^records: .*hail\.sqlite/);
    await t.throwsAsync(records.close(), { instanceOf: RecordsUnavailable });
  });

test('files that disappear while nothing is written are noticed, and reads are refused', async (t) => {
  const { path, alarms, records, tenant } = await tenantOnFile(t);
  unlinkSync(path);
  t.true(await healthBecomes(records.health, false));
  await t.throwsAsync(usedBy(records, tenant), { instanceOf: RecordsUnavailable });
  t.is(alarms.length, 1);
});

test('a connection that is opened after the file was moved away makes no new file in its place', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'hail-vanished-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, 'hail.sqlite');
  // Migrations write; nothing was read yet.
  const records = await recordsOver(openDatabase({ path }), { now: () => 0 });
  renameSync(path, `${path}.away`);
  await t.throwsAsync(records.reader.selectFrom('keys').selectAll().execute(), { instanceOf: RecordsUnavailable });
  t.false(existsSync(path));
  renameSync(`${path}.away`, path);
  t.true(await healthBecomes(records.health, true));
  t.deepEqual(await records.reader.selectFrom('keys').selectAll().execute(), []);
  await records.close();
});

test('records whose very file is put back work again, and what was acknowledged is in it', async (t) => {
  const { path, told, alarms, records, tenant, charge } = await tenantOnFile(t);
  renameSync(path, `${path}.away`);
  await t.throwsAsync(charge(), { instanceOf: RecordsUnavailable });
  renameSync(`${path}.away`, path);
  t.true(await healthBecomes(records.health, true));
  t.is(await charge(), 'charged');
  t.is(await usedBy(records, tenant), 2);
  t.deepEqual([alarms.length, told.length], [1, 1]);
  t.regex(told[0] ?? '', /is in its place again$/);
  await records.close();
});

/** Overwrites every page of the file but the first two, once nothing lies in the log any more. */
async function damage(path: string, checkpoint: () => Promise<unknown>): Promise<void> {
  await checkpoint();
  const file = openSync(path, 'r+');
  const PAGE_BYTES = 4096;
  writeSync(file, Buffer.alloc(statSync(path).size - 2 * PAGE_BYTES, 0x5a), 0, null, 2 * PAGE_BYTES);
  closeSync(file);
}

test('a read of a damaged file makes health false, though other rows can still be read and written', async (t) => {
  const { path, alarms, records, tenant } = await tenantOnFile(t);
  t.true(await records.health());
  await damage(path, () => sql`pragma wal_checkpoint(truncate)`.execute(records.store.writer));
  await sql`pragma shrink_memory`.execute(records.reader);
  const error = await t.throwsAsync(usedBy(records, tenant));
  t.true(error instanceof RecordsUnavailable || error instanceof CommitFailed, String(error));
  t.false(await records.health());
  t.false(await records.health());
  t.is(alarms.length, 1);
  t.regex(alarms[0] ?? '', /is damaged \(.*malformed/);
});

test('health finds out by itself that nothing can be written any more, before a charge fails', async (t) => {
  const { records } = await tenantOnFile(t);
  t.true(await records.health());
  await sql`pragma query_only = on`.execute(records.store.writer);
  t.true(await healthBecomes(records.health, false));
  await sql`pragma query_only = off`.execute(records.store.writer);
  t.true(await healthBecomes(records.health, true));
  await records.close();
});

test('each look of health at an idle store writes another value', async (t) => {
  const { records } = await tenantOnFile(t);
  const written = async () => (await records.reader.selectFrom('probes').selectAll().execute()).map(({ at }) => at);
  const seen = new Set<string>();
  for (const until_ms = performance.now() + 30_000; seen.size < 2 && performance.now() < until_ms; await sleep(50)) {
    t.true(await records.health());
    for (const at of await written()) seen.add(at);
  }
  t.is(seen.size, 2);
  t.is((await written()).length, 1);
  await records.close();
});
