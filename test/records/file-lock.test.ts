import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import test, { type ExecutionContext } from 'ava';
import { openDatabase } from '../../api/records/database.ts';
import { recordsOver } from '../../api/records/open.ts';
import { verifyLedger } from '../../api/records/verify.ts';
import { makeTenant, type World } from '../support/records/world.ts';

const CHILD = fileURLToPath(new URL('../support/records/charging-child.ts', import.meta.url));
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
  let heard = () => {};
  createInterface({ input: child.stdout }).on('line', (line) => {
    acknowledged.push(line.replace('charged ', ''));
    heard();
  });
  const more = async (count: number) => {
    for (const goal = acknowledged.length + count; acknowledged.length < goal; )
      await new Promise<void>((resolve) => {
        heard = resolve;
      });
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
