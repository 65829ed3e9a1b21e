import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  closeSync,
  cpSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  unlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { gunzipSync, gzipSync } from 'node:zlib';
import test, { type ExecutionContext } from 'ava';
import { openCatalog } from '../../../api/catalog.ts';
import { openRecords } from '../../../api/metering/records.ts';
import { verifyLedger } from '../../../api/metering/verify.ts';
import { upsertLocations } from '../../../api/portfolio/locations.ts';
import { createVerification } from '../../../api/routes/verify.ts';
import { rootMemory } from '../../../api/store/remembered-root.ts';
import { drawTenths } from '../../support/data/draw.ts';
import { hasTwoDevices, onOtherDevice } from '../../support/data/other-device.ts';
import { hasPdftotext, pagesByPoppler } from '../../support/data/pdf-reading.ts';
import { publishDays, standingHail } from '../../support/data/published-days.ts';
import { midnight, publish, publishedRoot, scansBetween } from '../../support/data/world.ts';
import { sending } from '../../support/service/portfolio.ts';
import { type Operator, operator } from '../../support/service/run-command.ts';
import { startService } from '../../support/service/service.ts';

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

/** Changes rows by plain SQL, without the rules of the service. */
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
  await once(child.stdout, 'readable');
  if (child.stdout.read() === null) throw new Error('the neighbour ended before it had the records open');
  return child.pid;
}

// Only Linux lists which process holds which lock.
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

test.serial('a backup taken while charges are written restores into an empty root with sums that agree', async (t) => {
  const source = operator(t);
  await source.json('business', 'create', 'acme');
  const { id: key_id, business_id, key } = await source.json('key', 'create', 'acme', '--live');
  const records = await openRecords(source.config);
  const business = String(business_id);
  await records.transaction((rows) =>
    upsertLocations(
      { rows, business_id: business, now_ms: source.config.now_ms },
      Array.from({ length: 1500 }, (_, k) => ({
        id: null,
        name: `p${k}`,
        lat: 35,
        lon: -97,
        address: null,
        tags: ['é'],
      })),
      10_000,
    ),
  );
  let charging = true;
  const charge = {
    business_id: business,
    key_id: String(key_id),
    operation: 'x',
    credits: 3,
    count: 1,
    at_ms: source.config.now_ms,
  };
  const load = (async () => {
    while (charging) await Promise.all(Array.from({ length: 20 }, () => records.charge(charge)));
  })();
  const { rows } = await source.json('backup', 'create', source.path('backup.gz'));
  charging = false;
  await load;
  await records.close();
  t.is(statSync(source.path('backup.gz')).mode & 0o777, 0o600);
  t.false(gunzipSync(readFileSync(source.path('backup.gz'))).includes(String(key).slice(16)));

  const target = operator(t);
  const restored = await target.json('backup', 'restore', source.path('backup.gz'));
  t.is(restored.rows, rows);
  const copy = await openRecords(target.config);
  t.deepEqual((await verifyLedger(copy.reader)).faults, []);
  t.is((await copy.authenticate(String(key), target.config.now_ms))?.key_id, String(key_id));
  t.is((await copy.reader.selectFrom('portfolio_locations').selectAll().execute()).length, 1500);
  t.is(await copy.charge(charge), 'charged');
  await copy.close();
  t.is((await target.run('backup', 'restore', source.path('backup.gz'))).code, 4);
});

test.serial('a backup that is cut short, changed or something else restores nothing', async (t) => {
  const source = operator(t);
  await source.json('business', 'create', 'acme');
  await source.json('backup', 'create', source.path('good.gz'));
  const text = gunzipSync(readFileSync(source.path('good.gz'))).toString();
  const lines = text.trimEnd().split('\n');
  const cases: Record<string, Buffer> = {
    'without its end': gzipSync(lines.slice(0, -1).join('\n')),
    'with a row less': gzipSync(lines.toSpliced(1, 1).join('\n')),
    'of a newer version': gzipSync(text.replace('001-', '999-')),
    'of another kind': gzipSync('{"hello":1}\n'),
    'not packed': Buffer.from(text),
    empty: Buffer.alloc(0),
  };
  for (const [name, bytes] of Object.entries(cases)) {
    writeFileSync(source.path('bad.gz'), bytes);
    const target = operator(t);
    t.is((await target.run('backup', 'restore', source.path('bad.gz'))).code, 1, name);
    t.deepEqual(await target.json('business', 'list'), { businesses: [] }, name);
  }
  truncateSync(source.path('good.gz'), 100);
  t.is((await operator(t).run('backup', 'restore', source.path('good.gz'))).code, 1);
  t.is((await source.run('backup', 'create', source.path('good.gz'))).code, 4);
  t.is((await source.run('backup', 'restore', source.path('none.gz'))).code, 3);
});

/** Opens a catalog as the service does, and says why it has no edition; null when it has one. */
async function failureOf(t: ExecutionContext, { config }: Operator): Promise<string | null> {
  const records = await openRecords(config);
  const catalog = await openCatalog(
    config.data_root,
    0,
    rootMemory(records, config.now, (error) => t.fail(String(error))),
  );
  await catalog.refresh();
  await catalog.close();
  await records.close();
  return catalog.failure();
}

test.serial(
  'a data root whose data vanished is refused after a restart too, until it is to be forgotten',
  async (t) => {
    const it = operator(t);
    const { code, err } = await it.run('data', 'show');
    t.deepEqual([code, /no such file/.test(err)], [3, true]);
    await publish(it.config.data_root, await scansBetween('23:54', '00:02'));
    t.is(await failureOf(t, it), null);
    const shown = await it.json('data', 'show');
    t.deepEqual(Object.keys(shown.commits as object), ['2026-05-01', '2026-05-02']);
    t.regex((await it.run('data', 'show')).out, /^root_\w+ held 2 partitions on 2026-05-20T12:00:00.000Z\.\n$/);

    for (const name of ['manifests', 'current.json', 'root.json']) rmSync(it.path(name), { recursive: true });
    t.regex((await failureOf(t, it)) ?? '', /holds nothing, and held 2 partitions before/);
    t.regex((await failureOf(t, it)) ?? '', /holds nothing/, 'looking does not forget');

    t.deepEqual(await it.json('data', 'forget'), { forgotten: String(shown.root_id) });
    t.is(await failureOf(t, it), null);
    t.is((await it.run('data', 'forget')).code, 3);
    const { acts } = await it.json('business', 'audit');
    t.like((acts as object[]).at(-1), { act: 'data.forget', subject: shown.root_id });
  },
);

const PLACE = ['35.2', '-97'];
const RANGE = ['2026-04-25', '2026-05-02'];

test.serial('verify answers without a server or records what POST /v1/verify answers', async (t) => {
  const it = operator(t);
  await publish(it.config.data_root, await scansBetween('23:54', '00:02'));
  const service = await startService({
    endpoints: [createVerification],
    data_root: it.config.data_root,
    now_ms: it.config.now_ms,
  });
  t.teardown(() => service.close());
  const body = { lat: 35.2, lon: -97, date_start: RANGE[0], date_end: RANGE[1] };
  const answer = await service.json('/v1/verify', sending('POST', body));
  t.deepEqual<unknown, unknown>(await it.json('verify', ...PLACE, ...RANGE), answer);
  const { event_count, verification_hash } = answer as { event_count: number; verification_hash: string };
  const { code, out } = await it.run('verify', ...PLACE, ...RANGE);
  t.is(code, 0);
  t.is(out.match(/^2026-05-0\d {2}(?:hit|marginal|miss) /gm)?.length ?? 0, event_count);
  t.true(out.includes(verification_hash));
  t.true(out.includes('\nWithout radar data: 2026-04-25 to 2026-04-30.\n'));
  t.regex(out, /\nSeen in part: 2026-05-01 \(\d\.\d % seen; nothing from 00:00 to 23:\d\d UTC\)\.\n/u);
  t.regex(out, /\nSeen in part: 2026-05-02 \(100 % seen up to 00:\d\d UTC, its newest scan\)\.\n/u);
  t.regex(
    (await it.run('verify', '45', '-80', ...RANGE)).out,
    /0 storm dates .*\n\nNo echo of 5 mm and no report in what is published\./,
  );
});

test.serial('verify refuses with exit code 2 what POST /v1/verify would refuse', async (t) => {
  const it = operator(t);
  for (const [args, said] of [
    [['91', '-97', ...RANGE], /'91'/],
    [['35,2', '-97', ...RANGE], /'35,2'/],
    [[...PLACE, '2026-02-01', '2026-05-02'], /^hail-api: date_end is too far from date_start/],
    [[...PLACE, '2026-05-01', '2026-06-02'], /^hail-api: date_end is 2026-06-02, expected at most tomorrow/],
    [[...PLACE, '2026-05-01'], /missing required argument 'to'/],
  ] as const) {
    const { code, err } = await it.run('verify', ...args);
    t.is(code, 2, args.join(' '));
    t.regex(err, said);
  }
});

test.serial(
  'verify --pdf prints the texts it is given on the document, which change nothing of the finding',
  async (t) => {
    const it = operator(t);
    await publish(it.config.data_root, await scansBetween('23:54', '00:02'));
    const files = ['plain.pdf', 'named.pdf'].map((name) => join(it.config.data_root, name)) as [string, string];
    const named = ['--reference', 'Claim 4711', '--address', '千代田区', '--prepared-for', 'A company'];
    const [plain, labelled] = [
      await it.json('verify', ...PLACE, ...RANGE, '--pdf', files[0]),
      await it.json('verify', ...PLACE, ...RANGE, '--pdf', files[1], ...named),
    ];
    t.deepEqual(labelled, plain);
    if (hasPdftotext) {
      const [first = ''] = pagesByPoppler(readFileSync(files[1]));
      t.regex(first, /Prepared for A company Reference Claim 4711 Address QianDaiTianQu /);
    } else t.log('the text of the document is not read: pdftotext is absent');
    for (const [args, said] of [
      [['--reference', 'Claim 4711'], /^hail-api: reference is printed on a document, expected --pdf as well/],
      [
        ['--pdf', `${files[0]}2`, '--address', 'a\nb'],
        /^hail-api: address holds a control character, expected plain text/,
      ],
      [
        ['--pdf', `${files[0]}2`, '--prepared-for', 'x'.repeat(201)],
        /^hail-api: prepared_for is too long, expected at most 200 characters/,
      ],
    ] as const) {
      const { code, err } = await it.run('verify', ...PLACE, ...RANGE, ...args);
      t.is(code, 2);
      t.regex(err, said);
    }
    t.false(existsSync(`${files[0]}2`));
  },
);

const DAY = '2026-05-01';

test.serial(
  'export writes a file whole, leaves one that exists alone, and refuses what contradicts itself',
  async (t) => {
    const { config, run, json, path } = operator(t);
    const field = drawTenths([[250, 300]], { row0: 1500, col0: 3000 });
    const rows = standingHail(DAY, field, [Date.parse(`${DAY}T20:00:00Z`)]);
    await publishDays(config.data_root, [{ storm_date: DAY, rows }], 'simulated', config.now_ms);
    const out = path('rows.csv');
    const asked = ['export', 'detections', DAY, DAY, '--format', 'csv', '--out', out];
    t.deepEqual(await json(...asked), {
      ...{ file: out, row_count: 2, truncated: false, data_as_of: '2026-05-01T23:59:59Z', data_source: 'simulated' },
      ...{ dates_without_data: [], note: null },
    });
    t.is(readFileSync(out, 'utf8').split('\r\n').length, 4);

    const month = ['export', 'detections', DAY, '2026-05-31', '--format', 'geojson', '--out', path('month.geojson')];
    t.like(await json(...month, '--bbox=-130,20,-66,50'), { row_count: 2 });
    t.deepEqual(JSON.parse(readFileSync(path('month.geojson'), 'utf8')).query, {
      ...{ date_start: DAY, date_end: '2026-05-20', bbox: [-125, 24, -66, 50], state: null },
    });

    writeFileSync(out, 'mine');
    t.like(await run(...asked), { code: 4, err: `hail-api: export ${out}: exists, expected a new file or --force\n` });
    t.is(readFileSync(out, 'utf8'), 'mine');
    t.like(await run(...asked, '--force', '--state', 'NE'), {
      out: `Wrote 0 rows to ${out}, simulated.\nUp to 2026-05-01T23:59:59Z.\n`,
    });
    execFileSync('mkfifo', [path('pipe')]);
    for (const special of [path('pipe'), config.data_root]) {
      const { code, err } = await run(...asked.slice(0, -1), special, '--force');
      t.deepEqual([code, err], [4, `hail-api: export ${special}: is no file, expected one or none\n`]);
    }
    t.true(statSync(path('pipe')).isFIFO());
    const never = await run('export', 'reports', DAY, DAY, '--format', 'geojson', '--out', path('r.geojson'));
    t.regex(never.out, /Note: no ground report was ever taken in/);
    const long_ago = ['1998-05-15', '1998-05-16', '--format', 'csv', '--out', path('long-ago.csv')];
    t.regex((await run('export', 'swaths', ...long_ago)).out, /no scan of these dates was taken in/);

    for (const [wrong, message] of [
      [['export', 'hail', DAY, DAY], /Found 'hail', expected detections, swaths, reports/],
      [['export', 'swaths', DAY, '2026-04-31'], /Found '2026-04-31', expected a date/],
      [['export', 'swaths', DAY, '2026-04-30'], /last date 2026-04-30 is before the first/],
      [['export', 'swaths', DAY, '2026-06-01'], /are over 31 dates/],
      [
        ['export', 'swaths', '2026-05-21', '2026-05-22'],
        /date_start is 2026-05-21, expected at most today, 2026-05-20 UTC/,
      ],
      [['export', 'swaths', DAY, DAY, '--state', 'XX'], /It is 'XX', expected a two-letter USPS state code/],
      [['export', 'swaths', DAY, DAY, '--state', 'KS', '--bbox=-99,39,-98,40'], /expected one of them/],
    ] as const) {
      const { code, err } = await run(...wrong, '--format', 'csv', '--out', path('wrong.csv'));
      t.is(code, 2);
      t.regex(err, message);
    }
    t.false(existsSync(path('wrong.csv')));
    t.like(await run(...asked.slice(0, -1), path('none/rows.csv')), {
      code: 3,
      err: `hail-api: export ${path('none/rows.csv')}: there is no folder ${path('none')}, expected one\n`,
    });
    t.deepEqual(
      readdirSync(config.data_root).filter((name) => name.startsWith('.hail-export')),
      [],
    );
  },
);
