import { type ChildProcess, execFile, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  closeSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  unlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import test, { type ExecutionContext } from 'ava';
import { type DatabaseConnection, type Dialect, sql } from 'kysely';
import { openRecords, type Records, recordsOver } from '../../api/billing/records.ts';
import { verifyLedger } from '../../api/billing/verify.ts';
import { openDatabase, ReadingSqlite, type Store, sqliteStore, WritingSqlite } from '../../api/records/database.ts';
import { CommitFailed, RecordsUnavailable } from '../../api/records/errors.ts';
import { MIGRATION_NAMES } from '../../api/records/schema.ts';
import { WriteLock } from '../../api/records/sqlite-locks.ts';
import { chargeOf, makeTenant, usedBy, type World } from '../support/store/world.ts';
import { until } from '../support/until.ts';

/** Every statement that a store wrote, `begin` and `commit` among them; and where it fails. */
interface Watch {
  readonly statements: string[];
  /** Fails the statement of this number from now on, 0 being the next; null: none. */
  failAt: number | null;
  /** Commits are made, and fail all the same: as when the answer is lost. */
  loseCommits: boolean;
  /** The failure: as SQLite reports a broken disk. */
  failure: () => Error;
}

function newWatch(): Watch {
  return { statements: [], failAt: null, loseCommits: false, failure: diskBroken };
}

/** A SQLite store whose writes are watched. */
function watchedStore(path: string, watch: Watch): Store {
  const lock = new WriteLock();
  return sqliteStore(path, lock, watched(new WritingSqlite(path, lock), watch), new ReadingSqlite(path));
}

function diskBroken(): Error {
  return Object.assign(new Error('disk I/O error'), { code: 'ERR_SQLITE_ERROR', errcode: 10 });
}

function watched(dialect: Dialect, watch: Watch): Dialect {
  const step = async <T>(statement: string, run: () => Promise<T>): Promise<T> => {
    watch.statements.push(statement);
    if (watch.failAt !== null && watch.failAt-- === 0) {
      watch.failAt = null;
      throw watch.failure();
    }
    return await run();
  };
  return {
    createAdapter: () => dialect.createAdapter(),
    createQueryCompiler: () => dialect.createQueryCompiler(),
    createIntrospector: (db) => dialect.createIntrospector(db),
    createDriver: () => {
      const driver = dialect.createDriver();
      const inner = new WeakMap<DatabaseConnection, DatabaseConnection>();
      const bare = (connection: DatabaseConnection) => inner.get(connection) ?? connection;
      return {
        init: (options) => driver.init(options),
        acquireConnection: async (options) => {
          const connection = await driver.acquireConnection(options);
          const guard: DatabaseConnection = {
            executeQuery: (query, given) => step(query.sql, () => connection.executeQuery(query, given)),
            streamQuery: (query, size, given) => connection.streamQuery(query, size, given),
          };
          inner.set(guard, connection);
          return guard;
        },
        beginTransaction: (connection, settings) =>
          step('begin', () => driver.beginTransaction(bare(connection), settings)),
        commitTransaction: async (connection) => {
          await step('commit', () => driver.commitTransaction(bare(connection)));
          if (watch.loseCommits) throw watch.failure();
        },
        rollbackTransaction: (connection) => driver.rollbackTransaction(bare(connection)),
        releaseConnection: (connection, options) => driver.releaseConnection(bare(connection), options),
        destroy: (options) => driver.destroy(options),
      };
    },
  };
}

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
    deferred_wait_ms: 600_000,
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

test('each charge leaves one row with a request id of its own, and nothing else to look its commit up by', async (t) => {
  const { records, world, tenant } = await watchedTenant(t);
  for (let n = 0; n < 5; n++) await records.charge(chargeOf(tenant, 1, world));
  const rows = await records.reader.selectFrom('ledger').select('request_id').execute();
  t.is(new Set(rows.map(({ request_id }) => request_id)).size, 5 + 1);
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

test('the start says in one line which migrations it applied, and the next one applies none', async (t) => {
  const path = fileFor(t);
  const said: string[] = [];
  const options = {
    data_root: join(path, '..', '..'),
    database_url: null,
    now: () => 0,
    report: (line: string) => said.push(line),
  };
  await (await openRecords(options)).close();
  const [first, last] = [MIGRATION_NAMES.at(0), MIGRATION_NAMES.at(-1)];
  t.deepEqual(said, [`records: applied migrations ${first} to ${last} to ${path}`]);
  await (await openRecords(options)).close();
  t.is(said.length, 1);
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

const WAIT_MS = 400;
const NOTES_WAIT_MS = 100;

async function tenantOnFile(t: ExecutionContext, deferred_wait_ms = NOTES_WAIT_MS) {
  const folder = mkdtempSync(join(tmpdir(), 'hail-locked-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, 'hail.sqlite');
  const world: World = { now_ms: Date.parse('2026-05-20T12:00:00Z'), location: { path }, open: () => Promise.reject() };
  const records = await recordsOver(openDatabase({ path }), {
    now: () => world.now_ms,
    deferred_wait_ms,
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
  await until(() => records.health());
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
    await until(() => records.health());
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
  await until(() => records.health());
  t.true(turns > 10, `the event loop turned ${turns} times during the wait`);
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
  await until(() => !records.store.writersBlocked());
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
    await until(() => !records.store.writersBlocked());
    records.store.setWaits({ lock_ms: 60_000, statement_ms: 60_000 });
    const releaseAgain = lock(path); // no commit has worked since, and the lock is not known to be held
    const charge = outcome(records.charge(chargeOf(tenant, 1, world)));
    t.is(await Promise.race([records.health(), charge]), false, 'the charge waits longer');
    releaseAgain();
    await until(() => records.health());
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
    await until(() => records.health());
    await t.notThrowsAsync(until(async () => (await records.claim(request)).kind === 'claimed'));
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
  await until(async () => (await requests()) === 5);
});

async function vanishedTenantOnFile(t: ExecutionContext) {
  const folder = mkdtempSync(join(tmpdir(), 'hail-vanished-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, 'hail.sqlite');
  const world: World = { now_ms: Date.parse('2026-05-20T12:00:00Z'), location: { path }, open: () => Promise.reject() };
  const alarms: string[] = [];
  const told: string[] = [];
  const records = await recordsOver(openDatabase({ path }), {
    now: () => world.now_ms,
    // Nothing that is written when the test ends, where there is nothing to write to.
    deferred_wait_ms: 600_000,
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
    const { path, alarms, records, charge, tenant } = await vanishedTenantOnFile(t);
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
  const { path, alarms, records, tenant } = await vanishedTenantOnFile(t);
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
  const { path, told, alarms, records, tenant, charge } = await vanishedTenantOnFile(t);
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
  const { path, alarms, records, tenant } = await vanishedTenantOnFile(t);
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
  const { records } = await vanishedTenantOnFile(t);
  t.true(await records.health());
  await sql`pragma query_only = on`.execute(records.store.writer);
  t.true(await healthBecomes(records.health, false));
  await sql`pragma query_only = off`.execute(records.store.writer);
  t.true(await healthBecomes(records.health, true));
  await records.close();
});

test('each look of health at an idle store writes another value', async (t) => {
  const { records } = await vanishedTenantOnFile(t);
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
