import {
  closeSync,
  cpSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import test from 'ava';
import { openRecords } from '../../../api/billing/records.ts';
import { jobFilePath } from '../../../api/jobs/files.ts';
import type { Job } from '../../../api/jobs/rows.ts';
import { midnight, publishedRoot } from '../../support/data/world.ts';
import { withReports } from '../../support/service/done-reports.ts';
import { type Operator, operator } from '../../support/service/run-command.ts';

/** Records with a business, a key, a charge of 15 credits and a location; returns their file. */
async function used({ json, config, path }: Operator): Promise<string> {
  await json('business', 'create', 'acme');
  const { business_id, id } = await json('key', 'create', 'acme', '--live');
  const records = await openRecords(config);
  const at = new Date(config.now_ms).toISOString();
  await records.charge({
    request_id: 'req_1',
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

test.serial('doctor ends with 0 on sound records', async (t) => {
  const it = operator(t);
  await used(it);
  const { code, out } = await it.run('doctor');
  t.is(code, 0, out);
  t.notRegex(out, /^fault/m);
  t.is(out.match(/^(ok {3}|note ) {2}\w[\w ]*: /gm)?.length, 9);
});

test.serial('doctor finds what keeps the service from being ready: a part of the published data is gone', async (t) => {
  const it = operator(t);
  await used(it);
  cpSync(await publishedRoot(t, (await midnight()).slice(0, 2)), it.config.data_root, { recursive: true });
  const { out } = await it.run('doctor');
  t.regex(out, /note {3}published: 1 storm date can be read; the newest scan \(simulated\) is [\d,]+ minutes old/);
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
  ['a header that is no database', 0, /^fault {2}database: .*is malformed \(file is not a database\)$/m],
  ['pages that are torn', 2 * 4096, /^fault {2}database: .*is malformed.*$/m],
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

test.serial(
  'a backup taken while charges are written is a data root whose sums agree, with the key and the files',
  async (t) => {
    const source = operator(t);
    const [report] = await withReports(source, ['one']);
    const { id: key_id, business_id, key } = await source.json('key', 'create', 'acme', '--live');
    const records = await openRecords(source.config);
    const common = { business_id: String(business_id), key_id: String(key_id), at_ms: source.config.now_ms };
    let charges = 0;
    const newCharge = () => ({ ...common, request_id: `req_${charges++}`, operation: 'x', credits: 3, count: 1 });
    let charging = true;
    const load = (async () => {
      while (charging) await Promise.all(Array.from({ length: 20 }, () => records.charge(newCharge())));
    })();
    writeFileSync(source.path('records/master.key'), 'key', { mode: 0o600 });
    await source.json('backup', source.path('copy'));
    charging = false;
    await load;
    await records.close();

    const copy = operator(t);
    cpSync(source.path('copy'), copy.config.data_root, { recursive: true });
    t.deepEqual(readdirSync(copy.path('records')).toSorted(), ['hail.sqlite', 'master.key']);
    t.is(statSync(source.path('copy')).mode & 0o777, 0o700);
    for (const name of ['hail.sqlite', 'master.key']) t.is(statSync(copy.path(`records/${name}`)).mode & 0o777, 0o600);
    t.true(existsSync(jobFilePath(copy.config.data_root, report as Job)));
    t.is((await copy.run('usage', 'verify')).code, 0);
    const copied = await openRecords(copy.config);
    t.is((await copied.authenticate(String(key), copy.config.now_ms))?.key_id, String(key_id));
    t.is(await copied.charge(newCharge()), 'charged');
    await copied.close();
  },
);

test.serial('a backup needs a new folder in one that exists, and SQLite', async (t) => {
  const it = operator(t);
  await used(it);
  t.is((await it.run('backup', it.path('records'))).code, 4);
  t.is((await it.run('backup', it.path('none/copy'))).code, 3);
  it.config.database_url = 'postgres://db.example.com/hail';
  const { code, err } = await it.run('backup', it.path('copy'));
  t.is(code, 2);
  t.regex(err, /expected SQLite: run pg_dump/);
  t.false(existsSync(it.path('copy')));
});
