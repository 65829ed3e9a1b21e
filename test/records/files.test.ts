import { type ChildProcess, execFile, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
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
import { openRecords, recordsOver } from '../../api/billing/records.ts';
import { verifyLedger } from '../../api/billing/verify.ts';
import { openDatabase } from '../../api/records/database.ts';
import { CommitFailed, RecordsUnavailable } from '../../api/records/errors.ts';
import { chargeOf, makeTenant, usedBy, type World } from '../support/store/world.ts';
import { until } from '../support/until.ts';

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
  t.deepEqual(
    outcomes.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled'],
  );
  const rows = await records.reader.selectFrom('probes').select('name').orderBy('name').execute();
  t.deepEqual(
    rows.map(({ name }) => name),
    ['first', 'third'],
  );
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
  const said = await Promise.all(
    Array.from({ length: 4 }, async () =>
      JSON.parse((await run(process.execPath, [child, join(path, '..', '..')])).stdout),
    ),
  );
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
  const child = spawn(
    process.execPath,
    [CHILD, JSON.stringify(world.location), caller.business_id, caller.key_id, '0'],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
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
      t.deepEqual(
        acknowledged.filter((operation) => !kept.has(operation)),
        [],
      );
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

test.serial(
  'everybody who waits for a file that another process keeps locked is refused, and the event loop turns',
  async (t) => {
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
  },
);

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
