import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import test, { type ExecutionContext } from 'ava';
import { ensureFirstBusiness } from '../../api/accounts/keys.ts';
import { verifyLedger } from '../../api/billing/usage.ts';
import { jobFilePath } from '../../api/jobs/files.ts';
import { acceptJob } from '../../api/jobs/rows.ts';
import { openServices, type Services } from '../../api/services.ts';
import { pluck } from '../support/data/rows.ts';
import { scratch } from '../support/data/world.ts';
import { BARE_ENVIRONMENT } from '../support/kill/bare-environment.ts';
import { NOW_MS, PARTS, partOf, SETTINGS } from '../support/kill/jobs-load.ts';

const CHILD = fileURLToPath(new URL('../support/kill/jobs-child.ts', import.meta.url));
const PRICE = { operation: 'verify.report.create', credits: 100, count: 1 };
const RANGE = { date_start: '2026-04-01', date_end: '2026-05-01' };
const JOBS = 12;
/** Every third cannot be made. */
const isBad = (k: number) => k % 3 === 2;
/** Steps after which the two processes of a round are killed: through the making, the end and the failure of jobs. */
const ROUNDS = [
  [9, 61],
  [14, 38],
  [17, 29],
  [23, 47],
] as const;

/** Accepts reports, each charged; returns their ids. */
async function acceptAll({ records, queue }: Services, count = JOBS): Promise<readonly string[]> {
  const key = await records.reader
    .selectFrom('keys')
    .select(['id', 'business_id'])
    .where('kind', '=', 'live')
    .executeTakeFirstOrThrow();
  const caller = { key_id: key.id };
  const ids: string[] = [];
  for (let k = 0; k < count; k++) {
    const params = { lat: isBad(k) ? -35 : 35, lon: -97, ...RANGE };
    const charge = { ...PRICE, request_id: `req_${k}`, business_id: key.business_id, key_id: key.id, at_ms: NOW_MS };
    await records.write(key.business_id, charge, null, NOW_MS, async (writer) => {
      ids.push(await acceptJob(writer, queue, { kind: 'report', params, caller, price: PRICE }));
      return { status: 202, type: 'application/json', body: '{}' };
    });
  }
  return ids;
}

/** Runs jobs in a process of its own until that ends or is killed; the signal. */
async function run(folder: string, steps: number | 'report'): Promise<NodeJS.Signals | null> {
  const child = spawn(process.execPath, [CHILD, folder, String(steps)], {
    env: { ...BARE_ENVIRONMENT, PATH: process.env.PATH ?? '' },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const [code, signal] = await once(child, 'exit');
  if (signal === null && code !== 0) throw new Error(`the process ended with ${code}`);
  return signal;
}

/** The jobs as they are; checks what holds at any moment: whole files of one process, and sums that agree. */
async function check(t: ExecutionContext, { records: { reader } }: Services, folder: string) {
  const jobs = await reader.selectFrom('jobs').selectAll().orderBy('id').execute();
  for (const job of jobs) {
    const { id, status, sha256, summary } = job;
    if (status !== 'done') continue;
    const content = readFileSync(jobFilePath(folder, job), 'utf8');
    t.is(createHash('sha256').update(content).digest('hex'), sha256 ?? '');
    const pid = Number(JSON.parse(summary ?? '{}').verification_hash);
    t.is(content, Array.from({ length: PARTS }, (_, part) => partOf(id, pid, part)).join(''));
  }
  t.deepEqual((await verifyLedger(reader)).faults, []);
  const refunds = await reader.selectFrom('ledger').select(['credits', 'reason']).where('credits', '<', 0).execute();
  const refunded = refunds.map(({ credits, reason }) => [credits, reason]).sort();
  const failed = jobs.filter(({ status }) => status === 'failed').map(({ id }) => [-100, `${id} failed`]);
  t.deepEqual(refunded, failed);
  return jobs;
}

test('reports whose processes are killed at many moments, two at a time, end once each, with a whole file or a refund', async (t) => {
  const folder = await scratch(t);
  const { services, close } = await openServices({ data_root: folder, ...SETTINGS });
  t.teardown(close);
  await ensureFirstBusiness(services.records, NOW_MS);
  const ids = await acceptAll(services);
  const ended = new Map<string, string>();
  let killed = 0;
  for (const round of ROUNDS) {
    const signals = await Promise.all(round.map((steps) => run(folder, steps)));
    killed += signals.filter((signal) => signal === 'SIGKILL').length;
    for (const { id, status, sha256 } of await check(t, services, folder)) {
      // What has ended stays as it is, file and all.
      if (ended.has(id)) t.is(ended.get(id), `${status} ${sha256}`);
      if (status !== 'pending') ended.set(id, `${status} ${sha256}`);
    }
  }
  t.is(await run(folder, Number.POSITIVE_INFINITY), null);
  const jobs = await check(t, services, folder);
  const count = (status: string) => jobs.filter((job) => job.status === status).length;
  t.log(`${killed} killed, ${count('done')} done, ${count('failed')} failed`);
  t.true(killed >= ROUNDS.length);
  t.deepEqual(pluck(jobs, 'id'), ids.toSorted());
  t.is(count('pending'), 0);
  for (const [k, id] of ids.entries()) if (isBad(k)) t.is(jobs.find((job) => job.id === id)?.status, 'failed', id);
  // A good one fails only where six processes died over it.
  for (const { status, takes, message } of jobs)
    if (status === 'failed' && message?.includes('6 attempts')) t.true(takes > 6);
  t.true(count('done') >= JOBS / 3);
  const [{ used = -1 } = {}] = await services.records.reader.selectFrom('periods').select('used').execute();
  t.is(used, 100 * count('done'));
  const files = readdirSync(join(folder, 'reports')).filter((name) => name !== '.making');
  t.true(files.length >= count('done'));
  t.false(existsSync(join(folder, 'exports')));
});

for (const [kills, status] of [
  [5, 'done'],
  [6, 'failed'],
] as const)
  test(`a job whose process is killed ${kills} times ends as ${status}`, async (t) => {
    const folder = await scratch(t);
    const { services, close } = await openServices({ data_root: folder, ...SETTINGS });
    t.teardown(close);
    await ensureFirstBusiness(services.records, NOW_MS);
    await acceptAll(services, 1);
    for (let killed = 0; killed < kills; killed++) t.is(await run(folder, 'report'), 'SIGKILL');
    t.is(await run(folder, Number.POSITIVE_INFINITY), null);
    const [job, ...more] = await check(t, services, folder);
    t.deepEqual([job?.status, more], [status, []]);
  });
