import { type ChildProcess, execFile, execFileSync, spawn, spawnSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import {
  chmodSync,
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import test, { type ExecutionContext } from 'ava';
import { sql } from 'kysely';
import { newKeyText, parseKeyText, withoutSecrets } from '../../api/accounts/keyring.ts';
import { isScope } from '../../api/accounts/keys.ts';
import { effectiveCap } from '../../api/accounts/plans.ts';
import { openRecords, type Records, recordsOver } from '../../api/billing/records.ts';
import { verifyLedger } from '../../api/billing/usage.ts';
import { isEncrypted, masterKeyPath, openCipher } from '../../api/records/cipher.ts';
import { openDatabase } from '../../api/records/database.ts';
import { CommitFailed, RecordsUnavailable } from '../../api/records/errors.ts';
import { newId, PATH_ID } from '../../schemas/ids.ts';
import { pluck } from '../support/data/rows.ts';
import { scratch } from '../support/data/world.ts';
import { everySuite } from '../support/store/suites/every.ts';
import { killSuite } from '../support/store/suites/kill.ts';
import { chargeOf, makeTenant, onSqlite, usedBy, type World } from '../support/store/world.ts';
import { until } from '../support/until.ts';

everySuite(onSqlite);
killSuite(onSqlite);
const now = () => Date.parse('2026-05-02T00:12:00Z');
const SECRET = 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oDuSKQkQ5mb3Y=';

/** Records of a root of their own, and a way to open their secrets. */
async function opened(t: ExecutionContext) {
  const records_root = await scratch(t);
  const records = await openRecords({ data_root: records_root, database_url: null, now });
  t.teardown(records.close);
  const open = (master_keys: readonly Buffer[] | null = null) =>
    openCipher(records.store, { records_root, master_keys, now });
  return { records, path: masterKeyPath(records_root), open };
}

/** An idempotency record is the least that holds something encrypted. */
async function keep(records: Records, body: string): Promise<void> {
  const row = { business_id: 'biz_1', route: 'POST /', fingerprint: '', status: 200, type: 'application/json' };
  await records.transaction((rows) =>
    rows
      .insertInto('idempotency')
      .values({ ...row, created_at: '2026-05-02', key: body, body })
      .execute(),
  );
}

test('the first start makes a key file that its owner alone reads, and later ones use it', async (t) => {
  const { path, open } = await opened(t);
  const stored = (await open()).encrypt(SECRET);
  t.is(statSync(path).mode & 0o777, 0o600);
  t.regex(readFileSync(path, 'utf8'), /^[0-9a-f]{64}\n$/);
  t.is((await open()).decrypt(stored), SECRET);
});

test('what is stored tells neither the secret nor that it is the same as another', async (t) => {
  const { encrypt } = await (await opened(t)).open();
  const [one, two] = [encrypt(SECRET), encrypt(SECRET)];
  t.true(isEncrypted(one));
  t.not(one, two);
  t.false(one.includes('C2FVs'));
  t.false(isEncrypted('{"secret":"v1."}'));
});

test('a stored secret that was changed is not decrypted', async (t) => {
  const { encrypt, decrypt } = await (await opened(t)).open();
  const stored = encrypt(SECRET);
  const at = stored.length - 3;
  t.throws(() => decrypt(stored.slice(0, at) + (stored[at] === 'A' ? 'B' : 'A') + stored.slice(at + 1)));
});

test('a key file that others may read refuses the start', async (t) => {
  const { path, open } = await opened(t);
  await open();
  chmodSync(path, 0o640);
  await t.throwsAsync(open(), { name: 'MasterKeyError', message: `${path} is 640, expected 600` });
});

test('a malformed key file refuses the start, and its text is not repeated', async (t) => {
  const { path, open } = await opened(t);
  await open();
  writeFileSync(path, 'not-a-key\n');
  const error = await t.throwsAsync(open(), { name: 'MasterKeyError', message: /is malformed/ });
  t.false(error?.message.includes('not-a-key'));
});

test('records without their key file refuse the start, and no other key is made', async (t) => {
  const { path, open } = await opened(t);
  await open();
  rmSync(path);
  await t.throwsAsync(open(), { name: 'MasterKeyError', message: /no such file, expected the master key/ });
  t.false(existsSync(path));
});

test('records that were written under another key refuse the start', async (t) => {
  const { open } = await opened(t);
  await open();
  await t.throwsAsync(open([randomBytes(32)]), {
    name: 'MasterKeyError',
    message: /expected [0-9a-f]{12}, which wrote/,
  });
});

test('with a new key before the old one, what is stored is encrypted anew, and the old one is needed no more', async (t) => {
  const { records, open } = await opened(t);
  const [old, fresh] = [randomBytes(32), randomBytes(32)];
  const { encrypt } = await open([old]);
  await keep(records, encrypt(SECRET));
  await keep(records, '{"plain":true}');
  await open([fresh, old]);
  const { decrypt } = await open([fresh]);
  const stored = await records.reader.selectFrom('idempotency').select('body').execute();
  t.deepEqual(stored.map(({ body }) => (isEncrypted(body) ? decrypt(body) : body)).sort(), [SECRET, '{"plain":true}']);
  await t.throwsAsync(open([old]), { name: 'MasterKeyError' });
});

test('a key is prefix, public id of 8, secret of 32 and checksum of 6 characters; its digest is SHA-256 of all of it', (t) => {
  const { text, public_id, digest } = newKeyText('live');
  t.regex(text, /^hs_live_[0-9A-Za-z]{46}$/);
  t.is(text.slice(8, 16), public_id);
  t.is(digest, createHash('sha256').update(text).digest('hex'));
  t.deepEqual(parseKeyText(text), { kind: 'live', public_id });
  t.regex(newKeyText('test').text, /^hs_test_/);
});

test('a test key of the earlier variant begins with test_, a live one like any other', (t) => {
  const { text, public_id } = newKeyText('test', 'legacy');
  t.regex(text, /^test_[0-9A-Za-z]{46}$/);
  t.deepEqual(parseKeyText(text), { kind: 'test', public_id });
  t.is(parseKeyText(`hs_${text}`), null);
  t.regex(newKeyText('live', 'legacy').text, /^hs_live_/);
});

test('the secret of a key of any kind is left out of other text', (t) => {
  for (const [kind, variant] of [
    ['live', 'current'],
    ['test', 'current'],
    ['test', 'legacy'],
  ] as const) {
    const { text, public_id } = newKeyText(kind, variant);
    const shown = withoutSecrets(`lat is '${text}', expected a number`);
    t.is(shown, `lat is '${text.slice(0, text.indexOf(public_id))}${public_id}…', expected a number`);
  }
});

test('a thousand keys have a thousand public ids and secrets, of every character', (t) => {
  const keys = Array.from({ length: 1000 }, () => newKeyText('live').text);
  t.is(new Set(keys.map((key) => key.slice(8, 16))).size, 1000);
  t.is(new Set(keys.map((key) => key.slice(16, 48))).size, 1000);
  t.is(new Set(keys.flatMap((key) => [...key.slice(16, 48)])).size, 62);
});

test('any single changed character makes a key malformed', (t) => {
  const { text } = newKeyText('live');
  for (let k = 0; k < text.length; k++) {
    const changed = text.slice(0, k) + (text[k] === 'a' ? 'b' : 'a') + text.slice(k + 1);
    t.is(parseKeyText(changed), null, changed);
  }
});

for (const [monthly_limit, spend_cap, overage_policy, cap] of [
  [null, null, 'allow', null],
  [null, null, 'block', null],
  [100, null, 'allow', null],
  [100, null, 'block', 100],
  [100, 50, 'allow', 50],
  [100, 50, 'block', 50],
  [50, 100, 'allow', 100],
  [50, 100, 'block', 50],
  [null, 100, 'block', 100],
  [0, null, 'block', 0],
] as const)
  test(`limit ${monthly_limit}, spend cap ${spend_cap}, overage ${overage_policy}: effective cap ${cap}`, (t) =>
    t.is(effectiveCap({ monthly_limit, spend_cap, overage_policy }), cap));

for (const [scope, known] of [
  ['*', true],
  ['hail:read', true],
  ['portfolio:*', true],
  ['portfolio:write', true],
  ['hail:write', false],
  ['hail', false],
  ['hail:read:x', false],
  ['constructor:*', false],
  ['*:read', false],
  ['', false],
] as const)
  test(`'${scope}' is ${known ? 'a' : 'no'} scope`, (t) => t.is(isScope(scope), known));

const isPathId = (text: string) => new RegExp(`^${PATH_ID}$`).test(text);

test('ids carry their kind, ascend within a millisecond, and may stand in a path', (t) => {
  const ids = Array.from({ length: 1000 }, () => newId('location', 1_700_000_000_000));
  t.deepEqual(ids, ids.toSorted());
  t.is(new Set(ids).size, 1000);
  t.true(ids.every((id) => /^loc_[0-9A-HJKMNP-TV-Z]{26}$/.test(id) && isPathId(id)));
  for (const text of ['', 'a b', 'é', 'a/b', 'a'.repeat(65), "'; drop"]) t.false(isPathId(text), text);
});
function fileFor(t: ExecutionContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'hail-commit-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, 'records', 'hail.sqlite');
}

/** Records in a file of their own, with a tenant that has used one credit. */
async function tenantOnFile(t: ExecutionContext, lock_ms = 20_000) {
  const path = fileFor(t);
  const world: World = { now_ms: Date.parse('2026-05-20T12:00:00Z'), location: { path }, open: () => Promise.reject() };
  const alarms: string[] = [];
  const records = await recordsOver(openDatabase({ path }, { lock_ms, statement_ms: 0 }), {
    now: () => world.now_ms,
    alarm: (line) => alarms.push(line),
  });
  t.teardown(() => records.close());
  const tenant = await makeTenant(records, world, 'acme');
  await records.charge(chargeOf(tenant, 1, world));
  return { records, world, tenant, path, alarms };
}

test('of transactions that share a commit one that throws is rolled back alone', async (t) => {
  const { records } = await tenantOnFile(t);
  const insert = (name: string) =>
    records.transaction(async (rows) => {
      await rows.insertInto('probes').values({ name, at: '' }).execute();
      if (name === 'second') throw new Error('refused');
      return name;
    });
  const outcomes = await Promise.allSettled(['first', 'second', 'third'].map(insert));
  t.deepEqual(pluck(outcomes, 'status'), ['fulfilled', 'rejected', 'fulfilled']);
  const rows = await records.reader.selectFrom('probes').select('name').orderBy('name').execute();
  t.deepEqual(pluck(rows, 'name'), ['first', 'third']);
});

test('a full disk refuses charges, counts nothing, and works again without a restart', async (t) => {
  const { records, world, tenant } = await tenantOnFile(t);
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
  t.is(await records.charge(chargeOf(tenant, 1, world)), 'charged');
  t.is(await usedBy(records, tenant), charged + 1);
});

test.serial('while another process writes, charges wait without holding up the event loop', async (t) => {
  const { records, world, tenant, path } = await tenantOnFile(t);
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
  const { records } = await tenantOnFile(t);
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
  const { records, tenant, path } = await tenantOnFile(t);
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

for (const [what, change, message] of [
  ['of a newer version', "insert into kysely_migration values ('999-later', '')", /999-later/],
  ['of an unreleased version', 'drop table kysely_migration', /already exists/],
] as const)
  test(`records ${what} are refused by name, and stay as they are`, async (t) => {
    const { records, path } = await tenantOnFile(t);
    await records.close();
    const shell = new DatabaseSync(path);
    shell.exec(change);
    const tables = () => shell.prepare('select name from sqlite_master order by name').all();
    const before = tables();
    const error = await t.throwsAsync(recordsOver(openDatabase({ path }), { now: () => 0 }), { message });
    t.regex(error.message, /^records .*hail\.sqlite: are not of this version/);
    t.deepEqual(tables(), before);
    shell.close();
  });

test('the start says in one line which migration it applied, and the next one applies none', async (t) => {
  const path = fileFor(t);
  const said: string[] = [];
  const report = (line: string) => said.push(line);
  const options = { data_root: join(path, '..', '..'), database_url: null, now: () => 0, report };
  for (let starts = 0; starts < 2; starts++) await (await openRecords(options)).close();
  t.deepEqual(said, [`records: applied migration 001-baseline to ${path}`]);
});

test('processes that start together on nothing migrate once and make one first business', async (t) => {
  const path = fileFor(t);
  const child = fileURLToPath(new URL('../support/store/start-child.ts', import.meta.url));
  const run = promisify(execFile);
  const starts = Array.from({ length: 4 }, () => run(process.execPath, [child, join(path, '..', '..')]));
  const said = (await Promise.all(starts)).map(({ stdout }) => JSON.parse(stdout));
  t.deepEqual(said.map(({ applied }) => applied).sort(), [0, 0, 0, 1]);
  t.is(said.filter(({ made }) => made).length, 1);
});

const CHILD = fileURLToPath(new URL('../support/store/charging-child.ts', import.meta.url));
const COUNT = 'select count(*) from ledger';
/** What a neighbour with SQLite runs: it opens the file, reads, and closes it. */
const NEIGHBOURS = [
  { command: 'sqlite3', args: (path: string) => [path, COUNT] },
  {
    command: 'python3',
    args: (path: string) => [
      '-c',
      `import sqlite3, sys; rows = sqlite3.connect(sys.argv[1]); rows.execute("${COUNT}").fetchall(); rows.close()`,
      path,
    ],
  },
];

/** A process that charges on and on, what it has said of it, and its end. */
interface Charging {
  readonly child: ChildProcess;
  readonly acknowledged: readonly string[];
  /** Waits for so many more acknowledged charges. */
  readonly more: (count: number) => Promise<void>;
  readonly kill: () => Promise<void>;
}

async function charging(t: ExecutionContext): Promise<Charging & { path: string }> {
  const folder = mkdtempSync(join(tmpdir(), 'hail-file-lock-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, 'hail.sqlite');
  const world: World = { now_ms: Date.now(), location: { path }, open: () => Promise.reject() };
  const records = await recordsOver(openDatabase({ path }), { now: () => world.now_ms });
  const { caller } = await makeTenant(records, world, 'acme');
  await records.close();
  const args = [CHILD, JSON.stringify(world.location), caller.business_id, caller.key_id, '0'];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = once(child, 'exit');
  t.teardown(() => child.kill('SIGKILL'));
  const acknowledged: string[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => acknowledged.push(line.replace('charged ', '')));
  const more = async (count: number) => {
    const goal = acknowledged.length + count;
    await until(() => acknowledged.length >= goal);
  };
  await more(50);
  const kill = async () => {
    child.kill('SIGKILL');
    await ended;
  };
  return { child, acknowledged, more, kill, path };
}

// Neither is installed everywhere; the test of the lock below needs none of them.
for (const { command, args } of NEIGHBOURS)
  (spawnSync(command, ['--version']).status === 0 ? test : test.skip)(
    `a neighbour that reads with ${command} leaves the write-ahead log, and a kill -9 afterwards loses no acknowledged write`,
    async (t) => {
      const { path, acknowledged, more, kill } = await charging(t);
      const log = `${path}-wal`;
      const { ino } = statSync(log);
      execFileSync(command, args(path));
      t.true(existsSync(log), 'the log was deleted under the process that writes it');
      t.is(statSync(log).ino, ino);
      await more(50);
      await kill();
      const records = await recordsOver(openDatabase({ path }), { now: Date.now });
      t.teardown(() => records.close());
      const rows = await records.reader.selectFrom('ledger').select('operation').execute();
      const kept = new Set(rows.map(({ operation }) => operation));
      const lost = acknowledged.filter((operation) => !kept.has(operation));
      t.deepEqual(lost, []);
      t.deepEqual((await verifyLedger(records.reader)).faults, []);
    },
  );

// Only Linux lists the locks of all processes.
(process.platform === 'linux' ? test : test.skip)(
  'a process that has the records open holds a lock on their file',
  async (t) => {
    const { path, child } = await charging(t);
    const { ino } = statSync(path);
    const locks = readFileSync('/proc/locks', 'utf8').split('\n');
    t.true(
      locks.some((line) => line.includes('POSIX') && line.includes(` ${child.pid} `) && line.includes(`:${ino} `)),
    );
  },
);

/** Holds the write lock as another process would; returns what lets go of it. */
function lock(path: string): () => void {
  const other = new DatabaseSync(path);
  other.exec('begin exclusive');
  return () => {
    other.exec('commit');
    other.close();
  };
}

test.serial('everybody who waits for a file locked elsewhere is refused, and the event loop turns', async (t) => {
  const { records, world, tenant, path } = await tenantOnFile(t, 400);
  const release = lock(path);
  let waiting = true;
  const refusals = Promise.allSettled([
    ...Array.from({ length: 300 }, () => records.charge(chargeOf(tenant, 3, world))),
    records.transaction(async () => {}),
  ]).finally(() => {
    waiting = false;
  });
  let turns = 0;
  for (; waiting; turns++) await new Promise(setImmediate);
  for (const refusal of await refusals)
    t.true(refusal.status === 'rejected' && refusal.reason instanceof RecordsUnavailable);
  t.true(turns > 10, `the event loop turned ${turns} times during the wait`);
  t.false(await records.health());
  for (let k = 0; k < 5; k++) records.countRequest(tenant.caller.key_id, world.now_ms);
  release();
  t.is(await records.charge(chargeOf(tenant, 3, world)), 'charged');
  t.is(await usedBy(records, tenant), 4);
  await until(() => records.health());
  const counted = records.reader.selectFrom('request_counts').select('requests');
  await until(async () => (await counted.executeTakeFirst())?.requests === 5);
});

test.serial('a caller that charges again at once leaves the event loop to others', async (t) => {
  const { records, world, tenant } = await tenantOnFile(t);
  const charges = 50;
  const charging = (async () => {
    for (let k = 0; k < charges; k++) await records.charge(chargeOf(tenant, 1, world));
  })();
  let turns = 0;
  const counting = (async () => {
    for (; turns < charges; turns++) await new Promise(setImmediate);
  })();
  await Promise.race([charging, counting]);
  t.true(turns > charges / 3, `the event loop turned ${turns} times during ${charges} charges`);
  await charging;
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
  await damage(path, () => sql`pragma wal_checkpoint(truncate)`.execute(records.store.writer));
  await sql`pragma shrink_memory`.execute(records.reader);
  const error = await t.throwsAsync(usedBy(records, tenant));
  t.true(error instanceof RecordsUnavailable || error instanceof CommitFailed, String(error));
  await until(async () => !(await records.health()));
  t.is(alarms.length, 1);
  t.regex(alarms[0] ?? '', /is damaged \(.*malformed/);
});

test('health finds out by itself that nothing can be written any more, before a charge fails', async (t) => {
  const { records } = await tenantOnFile(t);
  t.true(await records.health());
  await sql`pragma query_only = on`.execute(records.store.writer);
  await until(async () => !(await records.health()));
  await sql`pragma query_only = off`.execute(records.store.writer);
  await until(() => records.health());
});
