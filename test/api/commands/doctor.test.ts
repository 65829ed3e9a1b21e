import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  closeSync,
  cpSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import test, { type ExecutionContext } from 'ava';
import { openRecords } from '../../../api/records/open.ts';
import { hasTwoDevices, onOtherDevice } from '../../support/data/other-device.ts';
import { midnight, publishedRoot } from '../../support/data/world.ts';
import { type Operator, operator } from '../../support/service/run-command.ts';

/** Records with a business, a key, a charge of 15 credits and a location; returns their file. */
async function used({ json, config, path }: Operator): Promise<string> {
  await json('business', 'create', 'acme');
  const { business_id, id } = await json('key', 'create', 'acme', '--live');
  const records = await openRecords(config);
  const at = new Date(config.now_ms).toISOString();
  await records.charge({
    business_id: String(business_id),
    key_id: String(id),
    operation: 'hail.current',
    credits: 15,
    count: 1,
    at_ms: config.now_ms,
  });
  await records.transaction((rows) =>
    rows
      .insertInto('portfolio_locations')
      .values({
        id: 'loc_1',
        business_id: String(business_id),
        name: 'Depot',
        lat: 35,
        lon: -97,
        address: '',
        tags: '[]',
        created_at: at,
        updated_at: at,
      })
      .execute(),
  );
  await records.close();
  return path('records/hail.sqlite');
}

/** Changes rows as somebody with a shell would: past every rule of the tables. */
function tamper(file: string, statements: string): void {
  const database = new DatabaseSync(file);
  database.exec(`pragma foreign_keys = off; ${statements}`);
  database.close();
}

/** What a shell did to the records, and what doctor says of it. */
const TAMPERED: readonly (readonly [name: string, statements: string, finding: RegExp])[] = [
  ['a number of calls', 'update usage set calls = 2', /fault {2}ledger: .*hail\.current: calls says 2, the ledger 1/],
  ['a number of units', 'update usage set count = 7', /fault {2}ledger: .*hail\.current: count says 7, the ledger 1/],
  ['a count in the ledger', 'update ledger set count = 9', /fault {2}ledger: .*count says 1, the ledger 9/],
  ['a missing plan', 'delete from plans', /fault {2}plans: \S+ has no plan/],
  [
    'a cap that its limits do not give',
    'update plans set cap = 5',
    /fault {2}plans: \S+ has a plan with cap 5, expected none/,
  ],
  [
    'an unknown policy',
    "update plans set overage_policy = 'maybe'",
    /fault {2}plans: \S+ has a plan whose overage_policy /,
  ],
  [
    'quotas that are no JSON',
    "update plans set quotas = 'many'",
    /fault {2}plans: \S+ has a plan whose quotas are not JSON/,
  ],
  [
    'a missing quota',
    "update plans set quotas = '{}'",
    /fault {2}plans: \S+ has a plan whose quotas do not fit: locations/,
  ],
  [
    'an unknown feature',
    'update plans set features = \'["magic"]\'',
    /fault {2}plans: \S+ has a plan whose features do not fit/,
  ],
  [
    'locations of nobody',
    "update portfolio_locations set business_id = 'biz_x'",
    /fault {2}orphaned rows: 1 row of portfolio_locations without their business/,
  ],
  [
    'charges of a key that is gone',
    "update ledger set key_id = 'key_x'; update usage set key_id = 'key_x'",
    /fault {2}orphaned rows: 1 row of ledger without their key/,
  ],
  [
    'a key replaced by none',
    "update keys set replaced_by = 'key_x'",
    /fault {2}orphaned rows: 1 row of keys without their key/,
  ],
  ['scopes that are no JSON', "update keys set scopes = '*'", /fault {2}scopes: \S+ has scopes that are not JSON/],
  [
    'an unknown scope',
    'update keys set scopes = \'["hail:fly"]\'',
    /fault {2}scopes: \S+ has scopes that do not fit: 0 is no scope/,
  ],
  [
    'tags that are no JSON',
    "update portfolio_locations set tags = 'roof'",
    /fault {2}tags: loc_1 has tags that are not JSON/,
  ],
  [
    'tags that are no texts',
    "update portfolio_locations set tags = '[1]'",
    /fault {2}tags: loc_1 has tags that do not fit/,
  ],
];

test.serial('doctor ends with 0 on sound records', async (t) => {
  const it = operator(t);
  await used(it);
  const { code, out } = await it.run('doctor');
  t.is(code, 0, out);
  t.notRegex(out, /^fault/m);
  for (const check of ['database', 'ledger', 'plans', 'orphaned rows', 'scopes', 'tags', 'idempotency', 'data root'])
    t.regex(out, new RegExp(`^(ok   |note )  ${check}: `, 'm'));
});

for (const [name, statements, finding] of TAMPERED)
  test.serial(`doctor finds ${name}`, async (t) => {
    const it = operator(t);
    tamper(await used(it), statements);
    const { code, out } = await it.run('doctor');
    t.is(code, 5);
    t.regex(out, finding);
  });

test.serial('rows without their business that run out by themselves are a note', async (t) => {
  const it = operator(t);
  const file = await used(it);
  tamper(file, `insert into cursors values ('biz_x', '', 'locations', 'loc_1', 'Depot', '2026-05-21T00:00:00.000Z')`);
  const { code, out } = await it.run('doctor');
  t.is(code, 0);
  t.regex(out, /note {3}orphaned rows: 1 row of cursors without their business/);
});

test.serial('doctor finds a log and a shared memory that others may read', async (t) => {
  const it = operator(t);
  const file = await used(it);
  const records = await openRecords(it.config);
  // SQLite mends the mode of an empty log by itself.
  t.true(await records.health());
  for (const suffix of ['-wal', '-shm']) chmodSync(file + suffix, 0o644);
  const { code, out } = await it.run('doctor');
  await records.close();
  t.is(code, 5);
  for (const suffix of ['-wal', '-shm'])
    t.regex(out, new RegExp(`fault {2}file mode: \\S+hail\\.sqlite${suffix} is 644, expected at most 600`));
});

(hasTwoDevices ? test.serial : test.serial.skip)(
  'doctor finds that tables lie on another file system (needs /tmp and /dev/shm on two devices)',
  async (t) => {
    const it = operator(t);
    await used(it);
    mkdirSync(it.path('manifests'));
    symlinkSync(onOtherDevice(it.config.data_root), it.path('tables'));
    const { code, out } = await it.run('doctor');
    t.is(code, 5);
    t.regex(out, /fault {2}data root: \S+\/tables lies on another file system than its data root, expected one/);
  },
);

test.serial('doctor finds that a data root that was used has lost its lists or its tables', async (t) => {
  const it = operator(t);
  await used(it);
  for (const folder of ['manifests', 'tables', 'state']) mkdirSync(it.path(folder));
  t.is((await it.run('doctor')).code, 0);
  for (const lost of ['manifests', 'tables']) {
    rmSync(it.path(lost), { recursive: true });
    const { code, out } = await it.run('doctor');
    t.is(code, 5);
    t.regex(out, new RegExp(`fault {2}data root: \\S+/${lost} is missing, and the data root has been used`));
    mkdirSync(it.path(lost));
  }
});

test.serial('doctor finds what keeps the service from being ready: a part of the published data is gone', async (t) => {
  const it = operator(t);
  await used(it);
  cpSync(await publishedRoot(t, (await midnight()).slice(0, 2)), it.config.data_root, { recursive: true });
  const { out } = await it.run('doctor');
  t.regex(out, /ok {5}published: 1 storm date can be read/);
  for (const lost of ['tiles', 'tiles/scan', 'tables/detections', 'live', 'current.json']) {
    renameSync(it.path(lost), it.path('away'));
    const { code, out } = await it.run('doctor');
    t.is(code, 5);
    t.regex(out, new RegExp(`fault {2}published: data root: ${lost} is missing, and `));
    renameSync(it.path('away'), it.path(lost));
  }
});

test.serial(
  'doctor finds a job that waits for more than an hour, and files of jobs that are gone or of another size, unless they were given back',
  async (t) => {
    const it = operator(t);
    const file = await used(it);
    const at = (hours: number) => new Date(it.config.now_ms - hours * 3_600_000).toISOString();
    const job = (id: string, status: string, created_at: string, name: string, bytes: number) =>
      `insert into jobs select '${id}', id, 'report', '${status}', '{}', '{}', '${created_at}', null, 1, null, '${at(-24)}', null, null, null, null, null, '${name}', ${bytes}, ${status === 'pending' ? 'null' : "'ab'"} from businesses;`;
    const well = [
      job('rpt_new', 'pending', at(0.9), 'x.pdf', 0),
      job('rpt_there', 'done', at(2), 'x.pdf', 4),
      job('rpt_given_back', 'failed', at(2), 'x.pdf', 4),
    ];
    tamper(file, well.join(''));
    mkdirSync(it.path('reports'));
    writeFileSync(it.path('reports/rpt_there-ab.pdf'), 'file');
    t.is((await it.run('doctor')).code, 0);
    const ill = [job('rpt_old', 'pending', at(1.1), 'x.pdf', 0), job('rpt_gone', 'done', at(2), 'x.pdf', 4)];
    tamper(file, ill.join(''));
    writeFileSync(it.path('reports/rpt_there-ab.pdf'), 'fi');
    const { code, out } = await it.run('doctor');
    t.is(code, 5);
    t.regex(out, /fault {2}jobs: rpt_old waits since 2026-05-20T10:54/);
    t.regex(out, /fault {2}job files: the file of rpt_gone is gone; the file of rpt_there has 2 bytes, its row says 4/);

    const { businesses } = (await it.json('business', 'list')) as { businesses: { name: string }[] };
    await it.json('business', 'delete', businesses[0]?.name ?? '', '--purge');
    t.deepEqual(readdirSync(it.path('reports')), []);
  },
);

/** Damage to the file, and the reason that SQLite gives. */
const DAMAGES = [
  ['a header that is no database', 0, /^fault {2}database: \S+hail\.sqlite is malformed \(file is not a database\)$/m],
  ['pages that are torn', 2 * 4096, /^fault {2}database: \S+hail\.sqlite is malformed.*$/m],
] as const;

for (const [name, from, finding] of DAMAGES)
  test.serial(`doctor ends with 5 and one sentence about ${name}`, async (t) => {
    const it = operator(t);
    const path = await used(it);
    const file = openSync(path, 'r+');
    writeSync(file, Buffer.alloc(statSync(path).size - from, 0x5a), 0, null, from);
    closeSync(file);
    const { code, out, err } = await it.run('doctor');
    t.is(code, 5, err);
    t.regex(out, finding);
    t.is(err, '');
    t.is(out.split('\n').filter((line) => line.startsWith('fault')).length, 1);
  });

/** A process that has the records open as a server has, after which it does something. */
async function neighbour(t: ExecutionContext, file: string, then: string): Promise<number> {
  const script = `
    const [path] = process.argv.slice(1);
    const fs = require('node:fs');
    const database = new (require('node:sqlite').DatabaseSync)(path);
    database.exec("update businesses set writes = writes + 1");
    ${then}
    process.stdout.write('open');
    setInterval(() => {}, 1000);`;
  const child = spawn(process.execPath, ['-e', script, file], { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = once(child, 'exit');
  t.teardown(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  if (child.stdout === null || child.pid === undefined) throw new Error('the neighbour did not start');
  await once(child.stdout, 'data');
  return child.pid;
}

// Only Linux tells which process holds which lock.
const onLinux = process.platform === 'linux' ? test.serial : test.serial.skip;

onLinux('doctor says that the process that has the records open holds their lock', async (t) => {
  const it = operator(t);
  const pid = await neighbour(t, await used(it), '');
  const { code, out } = await it.run('doctor');
  t.is(code, 0, out);
  t.regex(out, new RegExp(`^ok {5}file lock: process ${pid} holds the lock of \\S+hail\\.sqlite$`, 'm'));
});

onLinux('doctor finds a process that lost its lock, and leaves the records closed to save its log', async (t) => {
  const it = operator(t);
  const file = await used(it);
  const pid = await neighbour(t, file, "fs.closeSync(fs.openSync(path, 'a'));");
  const { code, out } = await it.run('doctor');
  t.is(code, 5, out);
  t.regex(out, new RegExp(`^fault {2}file lock: process ${pid} holds no lock on `, 'm'));
  t.regex(out, /^note {3}database: \S+ was not opened/m);
  t.true(existsSync(`${file}-wal`));
});

for (const suffix of ['', '-wal'])
  onLinux(`doctor finds a process under which hail.sqlite${suffix} was deleted`, async (t) => {
    const it = operator(t);
    const file = await used(it);
    const pid = await neighbour(t, file, '');
    unlinkSync(file + suffix);
    const { code, out } = await it.run('doctor');
    t.is(code, 5, out);
    t.regex(
      out,
      new RegExp(`^fault {2}file lock: process ${pid} has \\S+hail\\.sqlite${suffix} open, which was deleted`, 'm'),
    );
  });
