import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import anyTest from 'ava';
import pino from 'pino';
import { type Catalog, DataUnavailable } from '../../../api/catalog.ts';
import { jobFilePath } from '../../../api/jobs/files.ts';
import { REPORT } from '../../../api/jobs/kinds.ts';
import { findPolled } from '../../../api/jobs/poll.ts';
import { type Retention, retention } from '../../../api/jobs/retention.ts';
import { RUN_DEFAULTS, runJobTask } from '../../../api/jobs/run.ts';
import { startJobs } from '../../../api/jobs/start.ts';
import { addJobTask } from '../../../api/jobs/task.ts';
import { purgeBusiness } from '../../../api/records/businesses.ts';
import { jobBacklog } from '../../../api/records/jobs.ts';
import { verifyLedger } from '../../../api/records/verify.ts';
import { MS_PER_DAY } from '../../../schemas/time.ts';
import { creditsOf, openAccount } from '../../support/service/account.ts';
import {
  accept,
  CONTENT,
  EXPORT_BODY,
  EXPORTS,
  ended,
  type JobService,
  REPORT_BODY,
  REPORTS,
  smallMakers,
  startJobService,
} from '../../support/service/jobs.ts';
import { closeWithoutFailures, testWith } from '../../support/service/test-with.ts';

const test = testWith(startJobService, closeWithoutFailures);
const SILENT = pino({ level: 'silent' });

/** Names in the folder of reports, with what is being made. */
function reportsIn({ services: { files_root } }: JobService) {
  const folder = join(files_root, 'reports');
  const names = (path: string) => (existsSync(path) ? readdirSync(path).sort() : []);
  return { folder, files: names(folder).filter((name) => name !== '.making'), making: names(join(folder, '.making')) };
}

async function jobRow({ records }: JobService, id: string) {
  return await records.reader.selectFrom('jobs').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
}

/** Where the file of a job is that is done. */
async function fileOf(service: JobService, id: string): Promise<string> {
  return jobFilePath(service.services.files_root, await jobRow(service, id));
}

/** Resolves once the condition holds. */
async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  for (let turn = 0; turn < 2_000; turn++) {
    if (await holds()) return;
    await sleep(5);
  }
  throw new Error('waited in vain');
}

test('two workers run each job once between them', async (t) => {
  const runs: string[] = [];
  const makers = smallMakers(({ id }) => {
    runs.push(id);
  });
  t.context.work(makers);
  t.context.work(makers);
  const ids: string[] = [];
  for (let k = 0; k < 12; k++) ids.push(await accept(t.context, REPORTS, REPORT_BODY));
  for (const id of ids) t.like(await ended(t.context, REPORTS, id), { status: 'done' });
  t.deepEqual(runs.toSorted(), ids.toSorted());
  // The row is done a moment before the folder of the attempt is gone.
  await until(() => reportsIn(t.context).making.length === 0);
});

test('of two workers at one job the first to end it has made its file, and the other leaves nothing', async (t) => {
  const gates = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let begun = 0;
  const slow = smallMakers(async ({ path }) => {
    const turn = begun;
    begun += 1;
    await gates[turn]?.promise;
    writeFileSync(`${path}.note`, `turn ${turn}`);
  });
  const different = {
    ...slow,
    report: async (job: Parameters<typeof slow.report>[0]) => {
      const made = await slow.report(job);
      const turn = readFileSync(`${job.path}.note`, 'utf8');
      writeFileSync(job.path, turn);
      return { ...made, summary: { ...made.summary, verification_hash: turn } };
    },
  };
  t.context.work(different);
  const id = await accept(t.context, REPORTS, REPORT_BODY);
  await until(() => begun === 1);
  // Its lease ran out, as that of a process that stands still.
  await t.context.records.transaction((rows) => rows.updateTable('tasks').set({ lease_until_ms: 0 }).execute());
  t.context.work(different);
  await until(() => begun === 2);
  gates[1]?.resolve();
  t.is((await ended(t.context, REPORTS, id)).verification_hash, 'turn 1');
  gates[0]?.resolve();
  await until(() => reportsIn(t.context).making.length === 0);
  t.is(readFileSync(await fileOf(t.context, id), 'utf8'), 'turn 1');
  t.is((await ended(t.context, REPORTS, id)).verification_hash, 'turn 1');
});

test('one more task of a job, as of one that waited for long, is of no use while somebody is at it', async (t) => {
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  let begun = 0;
  const makers = smallMakers(() => {
    begun += 1;
    return released;
  });
  t.context.work(makers);
  const id = await accept(t.context, REPORTS, REPORT_BODY);
  await until(() => begun === 1);
  const { services, records } = t.context;
  await records.transaction(async (rows) => addJobTask(rows, services.queue, await jobRow(t.context, id)));
  t.context.work(makers);
  const other = await accept(t.context, EXPORTS, EXPORT_BODY);
  await until(() => begun === 2);
  release();
  for (const [path, each] of [
    [REPORTS, id],
    [EXPORTS, other],
  ] as const)
    t.like(await ended(t.context, path, each), { status: 'done' });
  t.is(begun, 2);
  t.is((await jobRow(t.context, id)).takes, 1);
});

test('a failure that may pass is tried six times, and then fails the job; every charge but that of a file is given back', async (t) => {
  const account = await openAccount(t.context);
  let failures = 0;
  t.context.work(
    smallMakers(() => {
      failures -= 1;
      if (failures >= 0) throw failure;
    }),
  );
  const missing = new DataUnavailable('tables/x', 'is missing');
  let failure: Error = missing;
  for (const [times, status, message, thrown] of [
    [5, 'done', null, missing],
    [6, 'failed', 'the data it needs could not be read, and what it cost was given back', missing],
    [
      6,
      'failed',
      'the data it needs could not be read, and what it cost was given back',
      new Error('IO Error: No files found that match the pattern "x.parquet"'),
    ],
    [6, 'failed', 'it could not be made, and what it cost was given back', new Error('IO Error: Could not write x')],
    [
      6,
      'failed',
      'it could not be made, and what it cost was given back',
      Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC', syscall: 'write' }),
    ],
  ] as const) {
    failures = times;
    failure = thrown;
    const id = await accept(t.context, REPORTS, REPORT_BODY, account.key);
    t.like(await ended(t.context, REPORTS, id, account.key), { status, message });
    t.is((await jobRow(t.context, id)).takes, 6);
  }
  t.is(await creditsOf(t.context, account.business_id), 100);
  t.deepEqual((await verifyLedger(t.context.records.reader)).faults, []);
  t.is(reportsIn(t.context).files.length, 1);
});

/** The one task that waits, made due; how long it had still to wait when its job was put back, rounded to hours. */
async function endWait({ records }: JobService): Promise<number> {
  for (;;) {
    const [task, ...more] = await records.reader.selectFrom('tasks').selectAll().execute();
    const wait_h = Math.round(((task?.due_ms ?? 0) - (task?.added_ms ?? 0)) / 3_600_000);
    if (task !== undefined && more.length === 0 && wait_h > 0) {
      await records.transaction((rows) => rows.updateTable('tasks').set({ due_ms: task.added_ms }).execute());
      return wait_h;
    }
    await sleep(5);
  }
}

test('a job waits five times as long after each failure that may pass', async (t) => {
  let failures = 0;
  t.context.work(
    smallMakers(() => {
      failures += 1;
      if (failures < 6)
        throw Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC', syscall: 'write' });
    }),
    { retry_wait_ms: 3_600_000 },
  );
  const id = await accept(t.context, REPORTS, REPORT_BODY);
  const waits: number[] = [];
  while (waits.length < 5) waits.push(await endWait(t.context));
  t.deepEqual(waits, [1, 5, 25, 125, 625]);
  t.like(await ended(t.context, REPORTS, id), { status: 'done' });
});

test('a job whose process died is begun again after a wait, which is no attempt', async (t) => {
  const id = await accept(t.context, REPORTS, REPORT_BODY);
  // As a process leaves it that is killed at its third attempt.
  await t.context.records.transaction(async (rows) => {
    await rows.updateTable('jobs').set({ takes: 3, started_at: '2026-05-01T00:00:00.000Z' }).execute();
    await rows.updateTable('tasks').set({ taken: 1 }).execute();
  });
  t.context.work(smallMakers(), { retry_wait_ms: 3_600_000 });
  t.is(await endWait(t.context), 25);
  t.like(await ended(t.context, REPORTS, id), { status: 'done' });
  t.is((await jobRow(t.context, id)).takes, 4);
});

test('a maker that never ends is given up, whether it listens or not', async (t) => {
  let begun = 0;
  const deaf = smallMakers(() => {
    begun += 1;
    return new Promise(() => {});
  });
  t.context.work(deaf, { limit_ms: 20 });
  const id = await accept(t.context, REPORTS, REPORT_BODY);
  const { status, message } = await ended(t.context, REPORTS, id);
  t.deepEqual([status, begun], ['failed', 3]);
  t.regex(String(message), /^it took too long to make/);
  await until(() => reportsIn(t.context).making.length === 0);
});

test('a run that hangs takes the process with it, so that the jobs behind it and its own go on elsewhere', async (t) => {
  const hanging = `
    import { RUN_DEFAULTS, startRunning } from '${new URL('../../../api/jobs/run.ts', import.meta.url)}';
    const queue = { work: (name, settings, run) => run({ payload: { job_id: 'rpt_1' } }) };
    const records = { transaction: () => new Promise(() => {}) };
    await startRunning({ services: { queue, records, now: Date.now }, settings: { ...RUN_DEFAULTS, limit_ms: 20, hang_ms: 30 } });
  `;
  const end = promisify(execFile)(process.execPath, ['--input-type=module', '-e', hanging]);
  t.like(await t.throwsAsync(end), {
    signal: 'SIGKILL',
    stderr: 'hail-api: a job is not over after 50 ms: the process ends itself\n',
  });
});

test('a maker that leaves no file, or says what no poll can tell, fails its job', async (t) => {
  const small = smallMakers();
  t.context.work({
    report: async (job) => {
      const made = await small.report(job);
      rmSync(job.path);
      return made;
    },
    export: async (job) => {
      const made = await small.export(job);
      return { ...made, summary: { ...made.summary, row_count: -1 } };
    },
  });
  t.like(await ended(t.context, EXPORTS, await accept(t.context, EXPORTS, EXPORT_BODY)), { status: 'failed' });
  t.like(await ended(t.context, REPORTS, await accept(t.context, REPORTS, REPORT_BODY)), { status: 'failed' });
  t.deepEqual(reportsIn(t.context).files, []);
});

test('a worker that is stopped gives its job back at once, and the next one makes it', async (t) => {
  let begun = 0;
  const first = t.context.work(
    smallMakers(() => {
      begun += 1;
      return new Promise(() => {});
    }),
  );
  const id = await accept(t.context, REPORTS, REPORT_BODY);
  await until(() => begun === 1);
  t.like(await jobRow(t.context, id), { takes: 1, started_at: '2026-05-02T00:55:00.000Z' });
  await first();
  t.like(await jobRow(t.context, id), { status: 'pending', takes: 0, started_at: null });
  await until(() => reportsIn(t.context).making.length === 0);
  t.context.work(smallMakers());
  t.like(await ended(t.context, REPORTS, id), { status: 'done' });
});

test('a job over which six processes died fails, and nobody tries it a seventh time', async (t) => {
  const account = await openAccount(t.context);
  const id = await accept(t.context, REPORTS, REPORT_BODY, account.key);
  await t.context.records.transaction((rows) => rows.updateTable('jobs').set({ takes: 6 }).execute());
  t.context.work(smallMakers(() => t.fail('it is made a seventh time')));
  const { status, message } = await ended(t.context, REPORTS, id, account.key);
  t.is(status, 'failed');
  t.regex(String(message), /^it could not be made in 6 attempts/);
  t.is(await creditsOf(t.context, account.business_id), 0);
});

test('businesses take turns: the job of one does not wait for all of another', async (t) => {
  const [busy, quiet, other] = [
    await openAccount(t.context),
    await openAccount(t.context),
    await openAccount(t.context),
  ];
  const asked = [busy, busy, busy, quiet, quiet, other];
  for (const { key } of asked) await accept(t.context, EXPORTS, EXPORT_BODY, key);
  const order: string[] = [];
  t.context.work(
    smallMakers(({ business_id }) => {
      order.push(business_id);
    }),
  );
  await until(() => order.length === asked.length);
  t.deepEqual(
    order,
    [busy, quiet, other, busy, quiet, busy].map(({ business_id }) => business_id),
  );
});

/** Lets the rows of jobs run out now. */
async function runOut({ records, clock }: JobService, ids: readonly string[]): Promise<void> {
  const expires_at = new Date(clock.ms).toISOString();
  await records.transaction((rows) => rows.updateTable('jobs').set({ expires_at }).where('id', 'in', ids).execute());
}

/** Sweeps every six hours for a day and a little more. */
async function sweepForADay({ clock }: JobService, kept: Retention): Promise<void> {
  for (let times = 0; times < 5; times++) {
    await kept.sweep(performance.now());
    clock.ms += MS_PER_DAY / 4;
  }
}

async function kept({ records }: JobService): Promise<readonly string[]> {
  return (await records.reader.selectFrom('jobs').select('id').orderBy('id').execute()).map(({ id }) => id);
}

test('what is not kept any more is marked, and deleted with a trace a day later; what belongs to nobody a day after it was seen', async (t) => {
  t.context.work(smallMakers());
  const { services, records } = t.context;
  const report = await accept(t.context, REPORTS, REPORT_BODY);
  const exported = await accept(t.context, EXPORTS, EXPORT_BODY);
  await ended(t.context, REPORTS, report);
  await ended(t.context, EXPORTS, exported);
  const { folder } = reportsIn(t.context);
  const own = basename(await fileOf(t.context, report));
  const strange = ['rpt_UNKNOWN.pdf', `${report}-ab.pdf`];
  for (const name of strange) writeFileSync(join(folder, name), CONTENT);
  const left = join(folder, '.making', `${report}-dead`);
  writeFileSync(left, CONTENT);
  const sweeps = retention(services, SILENT);

  await runOut(t.context, [exported]);
  await sweeps.sweep(0);
  t.deepEqual(await kept(t.context), [exported, report].sort(), 'marked');
  await sweepForADay(t.context, sweeps);
  t.deepEqual(readdirSync(join(services.files_root, 'exports')), ['.making']);
  t.deepEqual(await kept(t.context), [report]);
  const acts = await records.reader.selectFrom('audit').select(['act', 'subject', 'detail']).execute();
  t.like(acts.at(-1), { act: 'export.expire', subject: exported });
  t.regex(acts.at(-1)?.detail ?? '', /"sha256":"[0-9a-f]{64}"/);

  t.deepEqual(reportsIn(t.context).making, [`${report}-dead`]);
  const other = retention(services, SILENT);
  await other.sweep(0);
  await other.sweep(MS_PER_DAY - 1);
  t.deepEqual(reportsIn(t.context), { folder, files: [...strange, own].sort(), making: [] });
  await other.sweep(MS_PER_DAY);
  t.deepEqual(reportsIn(t.context).files, [own]);
});

test('no clock that is set wrong, while the service runs or before it starts, deletes a report', async (t) => {
  t.context.work(smallMakers());
  const { services, clock } = t.context;
  const report = await accept(t.context, REPORTS, REPORT_BODY);
  await ended(t.context, REPORTS, report);
  const right_ms = clock.ms;
  const first = retention(services, SILENT);
  await first.sweep(0);
  clock.ms += 2 * 366 * MS_PER_DAY;
  for (const sweeps of [first, retention(services, SILENT)])
    for (let hour = 0; hour < 100; hour++) {
      await sweeps.sweep(hour);
      clock.ms += 3_600_000;
    }
  t.deepEqual(await kept(t.context), [report]);
  clock.ms = right_ms + MS_PER_DAY;
  await sweepForADay(t.context, first);
  t.deepEqual(await kept(t.context), [report]);
  t.is(reportsIn(t.context).files.length, 1);
});

test('a service that looks at the clock for the first time in the wrong year deletes nothing', async (t) => {
  t.context.work(smallMakers());
  const { services, records, clock } = t.context;
  const report = await accept(t.context, REPORTS, REPORT_BODY);
  await ended(t.context, REPORTS, report);
  await records.transaction((rows) => rows.deleteFrom('settings').execute());
  clock.ms += 2 * 366 * MS_PER_DAY;
  const sweeps = retention(services, SILENT);
  for (let days = 0; days < 3; days++) await sweepForADay(t.context, sweeps);
  t.deepEqual(await kept(t.context), [report]);
});

test('a sweep deletes a twentieth of the jobs at most', async (t) => {
  const { services, records } = t.context;
  const ids: string[] = [];
  const { business_id, key } = await openAccount(t.context);
  const first = await accept(t.context, REPORTS, REPORT_BODY, key);
  const row = await jobRow(t.context, first);
  for (let k = 10; k < 50; k++) {
    const id = `rpt_${k}`;
    ids.push(id);
    await records.transaction((rows) =>
      rows
        .insertInto('jobs')
        .values({ ...row, id, business_id, status: 'failed' })
        .execute(),
    );
  }
  await runOut(t.context, ids);
  const sweeps = retention(services, SILENT);
  await sweepForADay(t.context, sweeps);
  t.is((await kept(t.context)).length, 41 - 3);
  await sweeps.sweep(0);
  t.is((await kept(t.context)).length, 41 - 5);
});

test('a folder beside the files stays, and a file that cannot be deleted keeps nothing else from being swept', async (t) => {
  const { services } = t.context;
  t.context.work(smallMakers());
  const first = await accept(t.context, REPORTS, REPORT_BODY);
  await ended(t.context, REPORTS, first);
  const { folder } = reportsIn(t.context);
  const stubborn = await fileOf(t.context, first);
  rmSync(stubborn);
  mkdirSync(stubborn);
  writeFileSync(join(folder, 'rpt_UNKNOWN.pdf'), CONTENT);
  await runOut(t.context, [first]);
  const sweeps = retention(services, SILENT);
  await sweepForADay(t.context, sweeps);
  t.deepEqual(await kept(t.context), []);
  await sweeps.sweep(performance.now() + MS_PER_DAY);
  t.deepEqual(reportsIn(t.context).files, [basename(stubborn)]);
});

test('while the data root is lost, a file that is not there is not said to be', async (t) => {
  t.context.work(smallMakers());
  const id = await accept(t.context, REPORTS, REPORT_BODY);
  await ended(t.context, REPORTS, id);
  rmSync(await fileOf(t.context, id));
  const { business_id } = await jobRow(t.context, id);
  const lost = new DataUnavailable('/data', 'has lost what it held');
  const edition = () => {
    throw lost;
  };
  const { services, clock } = t.context;
  const polledWith = (catalog: Catalog) =>
    findPolled({ ...services, catalog }, REPORT, { business_id, kind: 'report', id }, clock.ms);
  await t.throwsAsync(polledWith({ ...services.catalog, edition }), { is: lost });
  t.is((await jobRow(t.context, id)).status, 'done');
  t.like(await polledWith(services.catalog), { status: 'failed' });
});

test('while the data root is lost, no job makes a folder in its place, and each is made once it is back, or given back where it waited in vain', async (t) => {
  const account = await openAccount(t.context);
  const { services } = t.context;
  let looks = 0;
  let is_lost = true;
  const edition = () => {
    looks += 1;
    if (is_lost) throw new DataUnavailable('/data', 'has lost what it held');
    return services.catalog.edition();
  };
  const losing = { ...services, catalog: { ...services.catalog, edition } };
  const impatient = startJobs(losing, SILENT, smallMakers(), { retry_wait_ms: 0, data_wait_ms: 0 });
  const first = await accept(t.context, REPORTS, REPORT_BODY, account.key);
  const message = 'the data it needs could not be read, and what it cost was given back';
  t.like(await ended(t.context, REPORTS, first, account.key), { status: 'failed', message });
  await impatient();
  t.is(await creditsOf(t.context, account.business_id), 0);

  const patient = startJobs(losing, SILENT, smallMakers(), { retry_wait_ms: 0 });
  const second = await accept(t.context, REPORTS, REPORT_BODY, account.key);
  looks = 0;
  await until(() => looks > 10);
  t.false(existsSync(reportsIn(t.context).folder));
  t.is((await jobRow(t.context, second)).status, 'pending');
  is_lost = false;
  t.like(await ended(t.context, REPORTS, second, account.key), { status: 'done' });
  t.is((await jobRow(t.context, second)).takes, 1);
  await patient();
});

anyTest.serial('a clock that is put forward by an hour ends no wait of a job for the data root', async (t) => {
  const context = await startJobService();
  t.teardown(context.close);
  const { services, records } = context;
  const edition = () => {
    throw new DataUnavailable('/data', 'has lost what it held');
  };
  const losing = { ...services, catalog: { ...services.catalog, edition } };
  const stop = new AbortController().signal;
  const parts = { services: losing, makers: smallMakers(), settings: RUN_DEFAULTS, log: SILENT, stop };
  const id = await accept(context, REPORTS, REPORT_BODY);
  const runNext = async () => {
    const task = await records.reader.selectFrom('tasks').select(['id', 'payload']).executeTakeFirstOrThrow();
    await records.transaction((rows) => rows.deleteFrom('tasks').where('id', '=', task.id).execute());
    await runJobTask(parts, { payload: JSON.parse(task.payload), taken: 1 });
  };
  await runNext();
  const clock = Date.now;
  t.teardown(() => {
    Date.now = clock;
  });
  Date.now = () => clock() + 3_600_000;
  await runNext();
  t.is((await jobRow(context, id)).status, 'pending');
  // Its waits alone, 20 minutes of them, end it.
  for (let waits = 2; waits <= RUN_DEFAULTS.data_wait_ms / 30_000; waits++) await runNext();
  t.is((await jobRow(context, id)).status, 'failed');
});

test('a job whose file is lost fails with the first poll that misses it, and is given back once, whoever polls', async (t) => {
  const account = await openAccount(t.context);
  t.context.work(smallMakers());
  const id = await accept(t.context, EXPORTS, EXPORT_BODY, account.key);
  t.like(await ended(t.context, EXPORTS, id, account.key), { status: 'done' });
  const path = await fileOf(t.context, id);
  truncateSync(path, 7);
  const polled = await Promise.all(Array.from({ length: 8 }, () => ended(t.context, EXPORTS, id, account.key)));
  const message = 'its file was lost or damaged, and what it cost was given back: ask for the export again';
  const failed = {
    status: 'failed',
    error: 'export_generation_failed',
    message,
    download_url: null,
    generated_at: null,
  };
  for (const each of polled) t.like(each, failed);
  const { reader } = t.context.records;
  const ledger = reader.selectFrom('ledger').select(['operation', 'credits', 'reason']);
  t.deepEqual(await ledger.where('business_id', '=', account.business_id).orderBy('credits').execute(), [
    { operation: 'exports.create.refund', credits: -40, reason: `the file of ${id} was lost` },
    { operation: 'exports.create', credits: 40, reason: null },
  ]);
  t.deepEqual((await verifyLedger(reader)).faults, []);
  // What was told and given back stays so, whatever comes back to the place.
  writeFileSync(path, CONTENT);
  t.like(await ended(t.context, EXPORTS, id, account.key), failed);
  t.is(await creditsOf(t.context, account.business_id), 0);
});

test('a job that lost its task, as one of a restored backup, is queued again', async (t) => {
  const { services, records, clock } = t.context;
  const id = await accept(t.context, REPORTS, REPORT_BODY);
  await records.transaction((rows) => rows.deleteFrom('tasks').execute());
  clock.ms += 3_600_001;
  await retention(services, SILENT).sweep(Date.now());
  t.context.work(smallMakers());
  t.like(await ended(t.context, REPORTS, id), { status: 'done' });
});

test('a job that waits after a failure for long keeps its wait, and gets no second task', async (t) => {
  const { services, records, clock } = t.context;
  const id = await accept(t.context, REPORTS, REPORT_BODY);
  const due_ms = Date.now() + 3_000_000;
  await records.transaction((rows) => rows.updateTable('tasks').set({ due_ms }).execute());
  clock.ms += 3_600_001;
  await retention(services, SILENT).sweep(Date.now());
  const tasks = await records.reader.selectFrom('tasks').select(['payload', 'due_ms']).execute();
  t.deepEqual(tasks, [{ payload: JSON.stringify({ job_id: id }), due_ms }]);
});

test('a job whose business is purged while it is made leaves no file and no row', async (t) => {
  const account = await openAccount(t.context);
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  let begun = false;
  t.context.work(
    smallMakers(() => {
      begun = true;
      return released;
    }),
  );
  await accept(t.context, REPORTS, REPORT_BODY, account.key);
  await until(() => begun);
  const { records } = t.context;
  await records.transaction((rows) =>
    purgeBusiness(rows, records.store, { id: account.business_id, name: 'gone' }, t.context.clock.ms),
  );
  release();
  await until(() => reportsIn(t.context).making.length === 0);
  t.deepEqual(reportsIn(t.context).files, []);
  t.deepEqual(await records.reader.selectFrom('jobs').select('id').execute(), []);
});

test('health counts what waits and what is at work', async (t) => {
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const ids = [await accept(t.context, REPORTS, REPORT_BODY), await accept(t.context, REPORTS, REPORT_BODY)];
  const backlog = () => jobBacklog(t.context.records.reader);
  t.deepEqual(await backlog(), { queued: 2, running: 0 });
  t.context.work(smallMakers(() => released));
  await until(async () => (await backlog()).running === 1);
  t.deepEqual(await backlog(), { queued: 1, running: 1 });
  release();
  for (const id of ids) await ended(t.context, REPORTS, id);
  t.deepEqual(await backlog(), { queued: 0, running: 0 });
});
