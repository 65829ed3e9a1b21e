import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import test from 'ava';
import { parse } from 'csv-parse/sync';
import type { FeatureCollection, Point, Polygon } from 'geojson';
import { asyncBufferFromFile, parquetMetadataAsync } from 'hyparquet';
import pino from 'pino';
import { purgeBusiness } from '../../../api/accounts/businesses.ts';
import { verifyLedger } from '../../../api/billing/usage.ts';
import { makeExport, servedParams, writeExport } from '../../../api/jobs/export.ts';
import { jobFilePath } from '../../../api/jobs/files.ts';
import { REPORT } from '../../../api/jobs/kinds.ts';
import { findPolled } from '../../../api/jobs/poll.ts';
import { jobBacklog } from '../../../api/jobs/rows.ts';
import { startJobs } from '../../../api/jobs/run.ts';
import { type Catalog, type Edition, openCatalog } from '../../../api/published/catalog.ts';
import { DataUnavailable } from '../../../api/published/data-root.ts';
import { openEngine } from '../../../api/published/duckdb.ts';
import { swathOf } from '../../../api/queries/swaths.ts';
import { regionOf } from '../../../api/rules/region.ts';
import type { Services } from '../../../api/services.ts';
import { columns } from '../../../schemas/columns.ts';
import {
  DATASETS,
  type Dataset,
  EXPORT_FORMATS,
  type ExportFormat,
  type ExportParams,
} from '../../../schemas/resources/export-job.ts';
import { EXPORT_TABLES } from '../../../schemas/resources/export-rows.ts';
import { MS_PER_DAY } from '../../../schemas/time.ts';
import { drawTenths } from '../../support/data/draw.ts';
import { PARQUET_READERS, parquetNotes } from '../../support/data/export-readers.ts';
import { publishFeeds } from '../../support/data/feeds.ts';
import { publishDays, standingHail } from '../../support/data/published-days.ts';
import { isValidMultiPolygon, positionsOf } from '../../support/data/rings.ts';
import { dayMaxRow } from '../../support/data/rows.ts';
import { SCRATCH } from '../../support/data/world.ts';
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
  smallJobHandlers,
  startJobService,
} from '../../support/service/jobs.ts';
import { closeWithoutFailures, testWith } from '../../support/service/test-with.ts';
import { until } from '../../support/until.ts';

const testJobs = testWith(startJobService, closeWithoutFailures);
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

const diskFull = () =>
  Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC', syscall: 'write' });

testJobs('two workers run each job once between them', async (t) => {
  const runs: string[] = [];
  const jobHandlers = smallJobHandlers(({ id }) => {
    runs.push(id);
  });
  t.context.work(jobHandlers);
  t.context.work(jobHandlers);
  const ids: string[] = [];
  for (let k = 0; k < 12; k++) ids.push(await accept(t.context, REPORTS, REPORT_BODY));
  for (const id of ids) t.like(await ended(t.context, REPORTS, id), { status: 'done' });
  t.deepEqual(runs.toSorted(), ids.toSorted());
  // The row is done a moment before the folder of the attempt is gone.
  await until(() => reportsIn(t.context).making.length === 0);
});

testJobs('of two workers at one job the first to end it has made its file, and the other leaves nothing', async (t) => {
  const gates = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let begun = 0;
  const slow = smallJobHandlers(async ({ path }) => {
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

testJobs(
  'a failure that may pass is tried six times, and then fails the job; every charge but that of a file is given back',
  async (t) => {
    const account = await openAccount(t.context);
    let failures = 0;
    t.context.work(
      smallJobHandlers(() => {
        failures -= 1;
        if (failures >= 0) throw failure;
      }),
    );
    const missing = new DataUnavailable('tables/x', 'is missing');
    let failure: Error = missing;
    for (const [times, status, reason, thrown] of [
      [5, 'done', null, missing],
      [6, 'failed', 'the data it needs could not be read', missing],
      [
        6,
        'failed',
        'the data it needs could not be read',
        new Error('IO Error: No files found that match "x.parquet"'),
      ],
      [6, 'failed', 'it could not be made', new Error('IO Error: Could not write x')],
      [6, 'failed', 'it could not be made', diskFull()],
    ] as const) {
      failures = times;
      failure = thrown;
      const id = await accept(t.context, REPORTS, REPORT_BODY, account.key);
      t.like(await ended(t.context, REPORTS, id, account.key), {
        status,
        message: reason === null ? null : `${reason}, and what it cost was given back`,
      });
      t.is((await jobRow(t.context, id)).takes, 6);
    }
    t.is(await creditsOf(t.context, account.business_id), 100);
    t.deepEqual((await verifyLedger(t.context.records.reader)).faults, []);
    t.is(reportsIn(t.context).files.length, 1);
  },
);

/** The one task that waits, made due; how long it had still to wait, rounded to hours. */
async function endWait({ records }: JobService): Promise<number> {
  let wait_h = 0;
  await until(async () => {
    const tasks = await records.reader.selectFrom('tasks').select('due_ms').execute();
    wait_h = Math.round(((tasks[0]?.due_ms ?? 0) - Date.now()) / 3_600_000);
    return tasks.length === 1 && wait_h > 0;
  });
  await records.transaction((rows) => rows.updateTable('tasks').set({ due_ms: Date.now() }).execute());
  return wait_h;
}

testJobs('a job waits five times as long after each failure that may pass', async (t) => {
  let failures = 0;
  t.context.work(
    smallJobHandlers(() => {
      failures += 1;
      if (failures < 6) throw diskFull();
    }),
    { retry_wait_ms: 3_600_000 },
  );
  const id = await accept(t.context, REPORTS, REPORT_BODY);
  const waits: number[] = [];
  while (waits.length < 5) waits.push(await endWait(t.context));
  t.deepEqual(waits, [1, 5, 25, 125, 625]);
  t.like(await ended(t.context, REPORTS, id), { status: 'done' });
});

testJobs('a maker that never ends is given up, whether it listens or not', async (t) => {
  let begun = 0;
  const deaf = smallJobHandlers(() => {
    begun += 1;
    return new Promise(() => {});
  });
  t.context.work(deaf, { limit_ms: 20 });
  const id = await accept(t.context, REPORTS, REPORT_BODY);
  const { status, message } = await ended(t.context, REPORTS, id);
  t.deepEqual([status, begun], ['failed', 1]);
  t.regex(String(message), /^it took too long to make/);
  await until(() => reportsIn(t.context).making.length === 0);
});

testJobs('a maker that leaves no file fails its job', async (t) => {
  const small = smallJobHandlers();
  t.context.work({
    ...small,
    report: async (job) => {
      const made = await small.report(job);
      rmSync(job.path);
      return made;
    },
  });
  t.like(await ended(t.context, REPORTS, await accept(t.context, REPORTS, REPORT_BODY)), { status: 'failed' });
  t.deepEqual(reportsIn(t.context).files, []);
});

testJobs('a worker that is stopped gives its job back at once, and the next one makes it', async (t) => {
  let begun = 0;
  const first = t.context.work(
    smallJobHandlers(() => {
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
  t.context.work(smallJobHandlers());
  t.like(await ended(t.context, REPORTS, id), { status: 'done' });
});

testJobs('a job over which six processes died fails, and nobody tries it a seventh time', async (t) => {
  const account = await openAccount(t.context);
  const id = await accept(t.context, REPORTS, REPORT_BODY, account.key);
  await t.context.records.transaction((rows) => rows.updateTable('jobs').set({ takes: 6 }).execute());
  t.context.work(smallJobHandlers(() => t.fail('it is made a seventh time')));
  const { status, message } = await ended(t.context, REPORTS, id, account.key);
  t.is(status, 'failed');
  t.regex(String(message), /^it could not be made in 6 attempts/);
  t.is(await creditsOf(t.context, account.business_id), 0);
});

testJobs('businesses take turns: the job of one does not wait for all of another', async (t) => {
  const [busy, quiet, other] = [
    await openAccount(t.context),
    await openAccount(t.context),
    await openAccount(t.context),
  ];
  const ofBusiness = new Map<string, string>();
  for (const { business_id, key } of [busy, busy, busy, quiet, quiet, other])
    ofBusiness.set(await accept(t.context, EXPORTS, EXPORT_BODY, key), business_id);
  const order: string[] = [];
  t.context.work(
    smallJobHandlers(({ id }) => {
      order.push(ofBusiness.get(id) ?? '');
    }),
  );
  await until(() => order.length === ofBusiness.size);
  t.deepEqual(
    order,
    [busy, quiet, other, busy, quiet, busy].map(({ business_id }) => business_id),
  );
});

/** Starts and stops a worker every six hours for a day and a little more: each sweeps at its start. */
async function sweepForADay({ clock, work }: JobService): Promise<void> {
  for (let times = 0; times < 5; times++) {
    await work(smallJobHandlers())();
    clock.ms += MS_PER_DAY / 4;
  }
}

testJobs('what is not kept any more is marked, and deleted with a trace a day later; what is kept stays', async (t) => {
  const end = t.context.work(smallJobHandlers());
  const { services, records, clock } = t.context;
  const report = await accept(t.context, REPORTS, REPORT_BODY);
  const exported = await accept(t.context, EXPORTS, EXPORT_BODY);
  await ended(t.context, REPORTS, report);
  await ended(t.context, EXPORTS, exported);
  await end();
  const left = join(reportsIn(t.context).folder, '.making', `${report}-dead`);
  mkdirSync(left);
  utimesSync(left, 0, 0);
  const kept = async () => (await records.reader.selectFrom('jobs').select('id').orderBy('id').execute()).length;

  const expires_at = new Date(clock.ms).toISOString();
  await records.transaction((rows) =>
    rows.updateTable('jobs').set({ expires_at }).where('id', '=', exported).execute(),
  );
  await t.context.work(smallJobHandlers())();
  t.is(await kept(), 2, 'marked');
  await sweepForADay(t.context);
  t.deepEqual(readdirSync(join(services.files_root, 'exports')), ['.making']);
  t.is(await kept(), 1);
  t.like(reportsIn(t.context), { files: [basename(await fileOf(t.context, report))], making: [] });
  const acts = await records.reader.selectFrom('audit').select(['act', 'subject', 'detail']).execute();
  t.like(acts.at(-1), { act: 'export.expire', subject: exported });
  t.regex(acts.at(-1)?.detail ?? '', /"sha256":"[0-9a-f]{64}"/);
});

testJobs('a sweep that fails is logged', async (t) => {
  const lines: string[] = [];
  const log = pino({}, { write: (line: string) => lines.push(line) });
  const failure = () => {
    throw new Error('no catalog');
  };
  const { services } = t.context;
  await startJobs({ ...services, catalog: { ...services.catalog, failure } }, log, smallJobHandlers())();
  t.regex(lines.join(), /no catalog.*Jobs:Sweep:Failed/);
});

testJobs('while the data root is lost, a file that is not there is not said to be', async (t) => {
  t.context.work(smallJobHandlers());
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

testJobs('while the data root is missing, no job makes a folder in its place, and each is tried again', async (t) => {
  const { services } = t.context;
  let looks = 0;
  const edition = () => {
    looks += 1;
    if (looks < 6) throw new DataUnavailable('/data', 'has lost what it held');
    t.false(existsSync(reportsIn(t.context).folder));
    return services.catalog.edition();
  };
  const losing = {
    ...services,
    catalog: { ...services.catalog, failure: () => new DataUnavailable('/data', 'is missing'), edition },
  };
  const end = startJobs(losing, SILENT, smallJobHandlers(), { retry_wait_ms: 0 });
  t.like(await ended(t.context, REPORTS, await accept(t.context, REPORTS, REPORT_BODY)), { status: 'done' });
  await end();
});

testJobs(
  'a job whose file is lost fails with the first poll that misses it, and is given back once, whoever polls',
  async (t) => {
    const account = await openAccount(t.context);
    t.context.work(smallJobHandlers());
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
  },
);

testJobs('a job whose business is purged while it is made leaves no file and no row', async (t) => {
  const account = await openAccount(t.context);
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  let begun = false;
  t.context.work(
    smallJobHandlers(() => {
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

testJobs('health counts what waits and what is at work', async (t) => {
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const ids = [await accept(t.context, REPORTS, REPORT_BODY), await accept(t.context, REPORTS, REPORT_BODY)];
  const backlog = () => jobBacklog(t.context.records.reader);
  t.deepEqual(await backlog(), { queued: 2, running: 0 });
  t.context.work(smallJobHandlers(() => released));
  await until(async () => (await backlog()).running === 1);
  t.deepEqual(await backlog(), { queued: 1, running: 1 });
  release();
  for (const id of ids) await ended(t.context, REPORTS, id);
  t.deepEqual(await backlog(), { queued: 0, running: 0 });
});

const DAY = '2026-05-01';
const NEXT = '2026-05-02';
const LATER = '2026-05-05';
const QUIET = '2026-05-09';
const NOW_MS = Date.parse('2026-05-10T00:00:00Z');

const root = mkdtempSync(join(SCRATCH, 'hail-export-'));
const unfed = mkdtempSync(join(SCRATCH, 'hail-export-unfed-'));
const out = mkdtempSync(join(SCRATCH, 'hail-export-out-'));
let catalog: Catalog;
let unfedCatalog: Catalog;

/** From 40 N, 100 W, tenths of a millimetre: one row in Nebraska, two in Kansas. */
const FIELD = drawTenths(
  [
    [0, 0, 200, 0, 0],
    [120, 200, 260, 190, 0],
    [0, 0, 390, 189, 60],
  ],
  { row0: 1499, col0: 3000 },
);

/** Words that a spreadsheet, a shell of SQL or a careless writer would stumble over. */
const HOSTILE = [
  '=HYPERLINK("http://example.org","click")',
  '+1',
  '-2+3',
  '@SUM(A1)',
  '＝1+1',
  '－1',
  `'; COPY (SELECT 1) TO '/tmp/x'; --`,
  'two\r\nlines, "quoted", a comma and NULL',
  '$1 $$ %00 {} \\ ünïcode “quotes” 雹',
  'plain words',
];

test.before(async () => {
  const at = (date: string, ...clocks: string[]) => clocks.map((clock) => Date.parse(`${date}T${clock}:00Z`));
  const hail = standingHail(DAY, FIELD, at(DAY, '20:00', '20:02'));
  const filled = dayMaxRow({
    row: 1500,
    col: 3004,
    max_mm: 45,
    interpolated: true,
    first_detected: null,
    detection_scans: 0,
  });
  const seen = hail.detections.map((detection, k) => ({
    ...detection,
    track_id: k % 3 === 0 ? null : '20260501-a',
    cell_index: k % 3 === 0 ? null : k,
    posh_pct: k % 2 === 0 ? null : 30.5,
    flag_small: k % 2 === 0,
  }));
  const days = [
    { storm_date: DAY, rows: { ...hail, detections: seen, day_max: [...hail.day_max, filled] } },
    { storm_date: NEXT, rows: standingHail(NEXT, drawTenths([[250]], { row0: 1500, col0: 3000 }), at(NEXT, '01:00')) },
  ];
  await publishDays(root, days, 'observed', NOW_MS);
  await publishDays(unfed, days.slice(1), 'simulated', NOW_MS);
  const later = standingHail(LATER, drawTenths([[250]], { row0: 1500, col0: 3000 }), at(LATER, '01:00'));
  await publishDays(unfed, [{ storm_date: LATER, rows: later }], 'observed', NOW_MS);
  const features = HOSTILE.map((words, k) => ({
    type: 'Feature',
    geometry: { type: 'Point', coordinates: [-99.5 + k / 100, k < 5 ? 39.5 : 40.5] },
    properties: {
      ...{
        valid: `${DAY}T20:${10 + k}:00Z`,
        magnitude: 1 + k / 4,
        unit: 'Inch',
        typetext: 'HAIL',
        wfo: 'GLD',
        state: 'KS',
      },
      ...{ city: words, county: words, remark: words, qualifier: 'M', product_id: '202605012100-KGLD-NWUS53-LSRGLD' },
    },
  }));
  const bytes = Buffer.from(JSON.stringify({ type: 'FeatureCollection', features }));
  await publishFeeds(root, [{ name: 'lsrs_20260501.geojson', bytes, received_ms: NOW_MS }], NOW_MS);
  catalog = await openCatalog(root, 0);
  unfedCatalog = await openCatalog(unfed, 0);
});
test.after.always(async () => {
  await catalog.close();
  await unfedCatalog.close();
  for (const folder of [root, unfed, out]) rmSync(folder, { recursive: true, force: true });
});

let files = 0;

type Asked = Partial<ExportParams> & Pick<ExportParams, 'dataset' | 'format'>;

function paramsOf(asked: Asked): ExportParams {
  return { date_start: DAY, date_end: NEXT, bbox: null, state: null, ...asked };
}

async function written(asked: Asked, { cap, from = catalog }: { readonly cap?: number; readonly from?: Catalog } = {}) {
  const params = paramsOf(asked);
  const path = join(out, `${++files}.${params.format}`);
  const { signal } = new AbortController();
  const made = await writeExport(from.edition(), params, path, signal, cap);
  return { ...made, path, text: () => readFileSync(path, 'utf8') };
}

type Row = Readonly<Record<string, unknown>>;
type Table = { readonly rows: readonly Row[]; readonly names: readonly string[] };

function csvTable(text: string): Table {
  const [names = [], ...cells] = parse(text, { record_delimiter: '\r\n' }) as string[][];
  return { names, rows: cells.map((row) => Object.fromEntries(names.map((name, k) => [name, row[k]]))) };
}

function collection(text: string): FeatureCollection<Point | Polygon, Row> & Row {
  return JSON.parse(text);
}

/** A value as text, whatever a reader made of it: instants as epoch milliseconds, nothing as an empty text. */
function plain(type: string, value: unknown): string {
  if (value === null || value === undefined || value === '') return '';
  if (type === 'TIMESTAMPTZ' || type === 'DATE') {
    const time =
      typeof value === 'bigint' ? Number(value) : typeof value === 'string' ? Date.parse(value) : Number(value);
    return new Date(time).toISOString();
  }
  if (type === 'BOOLEAN') return String(value);
  return type === 'VARCHAR' ? String(value) : String(Number(value));
}

function plainRows(dataset: Dataset, rows: readonly Row[]): readonly (readonly string[])[] {
  const fields = columns(EXPORT_TABLES[dataset]).filter(({ type }) => type !== 'GEOMETRY');
  return rows.map((row) => fields.map(({ name, type }) => plain(type, row[name])));
}

const apostrophes = (dataset: Dataset, rows: readonly (readonly string[])[]) =>
  dataset !== 'reports' ? rows : rows.map((row) => row.map((cell) => cell.replace(/^'(?=[=+\-@＝－])/, '')));

for (const dataset of DATASETS)
  test(`csv, geojson and parquet of ${dataset} hold the same rows, whoever reads the parquet`, async (t) => {
    const [csv, geojson, parquet] = await Promise.all(EXPORT_FORMATS.map((format) => written({ dataset, format })));
    const expected = plainRows(dataset, await PARQUET_READERS.DuckDB(parquet!.path));
    t.is(expected.length, { detections: 15, swaths: 5, reports: HOSTILE.length }[dataset]);
    t.deepEqual(apostrophes(dataset, plainRows(dataset, csvTable(csv!.text()).rows)), expected);
    const features = collection(geojson!.text()).features.map(({ properties }) => properties);
    t.deepEqual(plainRows(dataset, features), expected);
    for (const [reader, read] of Object.entries(PARQUET_READERS))
      t.deepEqual(plainRows(dataset, await read(parquet!.path)), expected, reader);
    for (const { summary } of [csv!, geojson!, parquet!])
      t.deepEqual(summary, { row_count: expected.length, truncated: false });
  });

for (const dataset of DATASETS)
  test(`an export of ${dataset} without rows is a valid file in every format`, async (t) => {
    const nothing = { dataset, date_start: QUIET, date_end: QUIET };
    const [csv, geojson, parquet] = await Promise.all(
      EXPORT_FORMATS.map((format: ExportFormat) => written({ ...nothing, format })),
    );
    const fields = columns(EXPORT_TABLES[dataset]).map(({ name }) => name);
    t.deepEqual(csvTable(csv!.text()), { names: dataset === 'swaths' ? fields : fields.slice(0, -1), rows: [] });
    t.like(collection(geojson!.text()), { type: 'FeatureCollection', features: [], row_count: 0, truncated: false });
    for (const [reader, read] of Object.entries(PARQUET_READERS)) t.deepEqual(await read(parquet!.path), [], reader);
    t.like(JSON.parse((await parquetNotes(parquet!.path)).geo ?? ''), { primary_column: 'geometry' });
    for (const { summary } of [csv!, geojson!, parquet!]) t.deepEqual(summary, { row_count: 0, truncated: false });
  });

test('texts that a spreadsheet would run begin with an apostrophe in csv, numbers and other formats are as they are', async (t) => {
  const csv = await written({ dataset: 'reports', format: 'csv' });
  const { rows } = csvTable(csv.text());
  const shown = rows.map(({ place }) => place);
  t.deepEqual(
    shown,
    HOSTILE.map((words, k) => (k < 6 ? `'${words}` : words)),
  );
  t.is(rows[0]?.lon, '-99.5');
  t.true(csv.text().endsWith('\r\n'));
  const { features } = collection((await written({ dataset: 'reports', format: 'geojson' })).text());
  const places = features.map(({ properties }) => properties.place);
  t.deepEqual(places, HOSTILE);
});

test('a geojson export is a FeatureCollection of RFC 7946 that says whose data it holds', async (t) => {
  const points = collection((await written({ dataset: 'detections', format: 'geojson' })).text());
  t.like(points, { data_source: 'observed', row_count: 15, truncated: false, data_as_of: '2026-05-02T23:59:59Z' });
  t.like(points.features[0], {
    type: 'Feature',
    id: '20260501T200000Z-1499-3002',
    geometry: { type: 'Point', coordinates: [-99.975, 40.005] },
    properties: {
      scan_time: '2026-05-01T20:00:00Z',
      storm_date: DAY,
      size_category: 'nickel',
      data_source: 'observed',
    },
  });
  const hulls = collection((await written({ dataset: 'swaths', format: 'geojson' })).text());
  for (const { geometry } of hulls.features) {
    const { coordinates } = geometry as Polygon;
    t.is(isValidMultiPolygon([coordinates]), null, 'closed, simple, counter-clockwise');
  }
  t.false('crs' in hulls);
});

test('a parquet export is GeoParquet that says what it holds, of which data, in which units', async (t) => {
  const { path } = await written({ dataset: 'detections', format: 'parquet', state: 'KS' });
  const { geo = '', hail_export = '', columns: described = '', ...notes } = await parquetNotes(path);
  t.like(JSON.parse(geo), { primary_column: 'geometry', columns: { geometry: { geometry_types: ['Point'] } } });
  t.like(JSON.parse(hail_export), { dataset: 'detections', query: { state: 'KS' }, row_count: 13 });
  t.like(JSON.parse(described), { estimated_size_mm: { unit: 'mm' } });
  t.like(notes, { source: 'observed', schema_version: '1' });
  t.deepEqual((await PARQUET_READERS.DuckDB(path)).at(-1)?.geometry, 'POINT (-99.995 39.995)');
});

test('rows are those of the region: pixels by their centre, reports by their place', async (t) => {
  const counts = async (region: Pick<ExportParams, 'bbox'> | Pick<ExportParams, 'state'>) =>
    Promise.all(
      DATASETS.map(async (dataset) => (await written({ dataset, format: 'csv', ...region })).summary.row_count),
    );
  t.deepEqual(await counts({ bbox: null }), [15, 5, 10]);
  t.deepEqual(await counts({ state: 'KS' }), [13, 5, 5]);
  t.deepEqual(await counts({ state: 'NE' }), [2, 1, 5]);
  t.deepEqual(await counts({ state: 'HI' }), [0, 0, 0]);
  t.deepEqual(await counts({ bbox: [-99.995, 39.995, -99.5, 40.0] }), [9, 5, 0], 'edges belong to a box');
  t.deepEqual(await counts({ bbox: [-99.5, 39.5, -99.5, 39.501] }), [0, 0, 1]);
  t.deepEqual(await counts({ bbox: [10, 40, 20, 50] }), [0, 0, 0]);
});

test('a cap cuts the latest rows, and two exports of one edition are the same bytes', async (t) => {
  for (const dataset of ['detections', 'reports'] as const) {
    const whole = csvTable((await written({ dataset, format: 'csv' })).text()).rows;
    for (const cap of [1, 8, whole.length]) {
      const { summary, text } = await written({ dataset, format: 'csv' }, { cap });
      t.deepEqual(summary, { row_count: cap, truncated: cap < whole.length });
      t.deepEqual(csvTable(text()).rows, whole.slice(0, cap));
    }
    const times = whole.map((row) => `${row.scan_time ?? row.time} ${row.id}`);
    t.deepEqual(times, times.toSorted());
  }
  for (const format of EXPORT_FORMATS) {
    const [one, other] = [
      await written({ dataset: 'detections', format }),
      await written({ dataset: 'detections', format }),
    ];
    t.deepEqual(readFileSync(one.path), readFileSync(other.path), format);
  }
});

test('figures of a swath row are those of /v1/hail/swaths from its bound on, and its hull holds every pixel', async (t) => {
  const engine = openEngine(root);
  t.teardown(engine.close);
  const { text } = await written({ dataset: 'swaths', format: 'csv', state: 'KS' });
  const { rows } = csvTable(text());
  t.is(rows.length, 5);
  for (const { storm_date, threshold_mm, n_detections, max_size_mm, footprint_km2, hull_area_km2, category } of rows) {
    const swath = await swathOf(engine, catalog.edition(), {
      date: String(storm_date),
      region: regionOf({ bbox: null, state: 'KS' }),
      min_size_mm: Number(threshold_mm),
      simplify_m: 0,
    });
    t.is(Number(n_detections), swath.n_detections);
    t.is(max_size_mm === '' ? null : Number(max_size_mm), swath.max_size_mm);
    t.is(category, swath.tiers[0]?.category);
    t.is(Number(footprint_km2), Math.round(10 * (swath.tiers[0]?.area_km2 ?? 0)) / 10);
    t.true(Number(hull_area_km2) >= Number(footprint_km2));
  }
  const { features } = collection((await written({ dataset: 'swaths', format: 'geojson', state: 'KS' })).text());
  t.deepEqual(features[0]?.geometry.coordinates, [
    positionsOf('-99.99 39.99, -99.98 39.98, -99.97 39.98, -99.95 39.99, -99.95 40, -99.99 40, -99.99 39.99'),
  ]);
});

/** What an export says of itself. */
async function factsOf(asked: Omit<Asked, 'format'>, from = catalog): Promise<Row> {
  const { text } = await written({ ...asked, format: 'geojson' }, { from });
  const { features: _, ...facts } = collection(text());
  return facts;
}

test('what was never taken in is said to be unknown, not empty', async (t) => {
  const reports = await factsOf({ dataset: 'reports' }, unfedCatalog);
  t.like(reports, { data_source: null, data_as_of: null, row_count: 0, dates_without_data: [DAY, NEXT] });
  t.regex(String(reports.note), /no ground report was ever taken in/);
  const early = await factsOf({ dataset: 'detections' }, unfedCatalog);
  t.like(early, { dates_without_data: [DAY], data_source: 'simulated', note: null });
  const never = await factsOf({ dataset: 'swaths', date_start: QUIET, date_end: QUIET });
  t.like(never, { dates_without_data: [QUIET], data_source: null });
  t.regex(String(never.note), /no scan of these dates was taken in/);
});

test('reports are without data where the feeds say nothing, whatever radar saw', async (t) => {
  const withoutRadar = await factsOf({ dataset: 'reports', date_start: DAY, date_end: QUIET });
  t.is(withoutRadar.row_count, HOSTILE.length);
  // A file that only adds records no time: of dates without a report from it nothing is known.
  const without = withoutRadar.dates_without_data as readonly string[];
  const isWithout = [DAY, QUIET].map((date) => without.includes(date));
  t.deepEqual(isWithout, [false, true]);
  const before = await factsOf({ dataset: 'reports', date_start: '2026-04-29', date_end: DAY });
  t.deepEqual(before.dates_without_data, ['2026-04-29', '2026-04-30']);
  const late = await factsOf({ dataset: 'reports', date_start: '2026-05-10', date_end: '2026-05-12' });
  t.deepEqual(late.dates_without_data, ['2026-05-10', '2026-05-11', '2026-05-12']);
});

test('rows of observed and simulated dates say which they are, and the file that it is mixed', async (t) => {
  for (const dataset of ['detections', 'swaths'] as const) {
    const made = await written({ dataset, format: 'geojson', date_end: LATER }, { from: unfedCatalog });
    const { features, data_source } = collection(made.text());
    t.deepEqual([made.data_source, data_source], ['mixed', 'mixed']);
    const sources = features.map(({ properties }) => `${properties.storm_date} ${properties.data_source}`);
    t.deepEqual([...new Set(sources)], [`${NEXT} simulated`, `${LATER} observed`]);
  }
});

test('an export that is given up throws the reason and leaves no temporary data; the next one is made', async (t) => {
  const stop = new AbortController();
  const edition = catalog.edition();
  const stopping: Edition = {
    ...edition,
    datesBetween: (...asked) => {
      stop.abort(new Error('the service stops')); // with the engine open
      return edition.datesBetween(...asked);
    },
  };
  const params = paramsOf({ dataset: 'swaths', format: 'csv' });
  const running = writeExport(stopping, params, join(out, 'running'), stop.signal);
  await t.throwsAsync(running, { message: 'the service stops' });
  t.is((await written({ dataset: 'detections', format: 'csv' })).summary.row_count, 15);
  const leftFiles = readdirSync(out).filter((name) => name.startsWith('running.'));
  t.deepEqual(leftFiles, []);
});

test('a file of the edition that is gone is data that cannot be read now, never fewer rows', async (t) => {
  const copy = mkdtempSync(join(SCRATCH, 'hail-export-lost-'));
  cpSync(root, copy, { recursive: true });
  const from = await openCatalog(copy, 0);
  try {
    const [lost] = from.edition().paths('detections', [DAY]);
    if (lost === undefined) throw new Error('no file of detections, expected one');
    renameSync(lost, `${lost}.away`);
    for (const dataset of ['detections', 'swaths'] as const)
      await t.throwsAsync(written({ dataset, format: 'csv' }, { from }), { message: /^(IO|Permission) Error/ });
    renameSync(`${lost}.away`, lost);
    t.is((await written({ dataset: 'detections', format: 'csv' }, { from })).summary.row_count, 15);
  } finally {
    await from.close();
    rmSync(copy, { recursive: true, force: true });
  }
});

test('instants of a parquet export are adjusted to UTC, in microseconds as its metadata say', async (t) => {
  for (const [dataset, name] of [
    ['detections', 'scan_time'],
    ['reports', 'time'],
  ] as const) {
    const { path } = await written({ dataset, format: 'parquet' });
    const { schema } = await parquetMetadataAsync(await asyncBufferFromFile(path));
    t.deepEqual(schema.find((field) => field.name === name)?.logical_type, {
      type: 'TIMESTAMP',
      isAdjustedToUTC: true,
      unit: 'MICROS',
    });
    t.true(schema.every(({ logical_type }) => logical_type?.type !== 'TIMESTAMP' || logical_type.isAdjustedToUTC));
    t.like(JSON.parse((await parquetNotes(path)).columns ?? ''), { [name]: { unit: 'us since 1970 UTC' } });
  }
});

for (const [asked, served, word] of [
  [{ bbox: [-130, 20, -96.5, 36] }, { bbox: [-125, 24, -96.5, 36] }, '125W-24N-96.5W-36N'],
  [
    { bbox: [-100.123456, 35.000001, -97, 38.5] },
    { bbox: [-100.123456, 35.000001, -97, 38.5] },
    '100.1235W-35N-97W-38.5N',
  ],
  [{ bbox: [10, -20, 20, 50] }, { bbox: [10, -20, 20, 50] }, '10E-20S-20E-50N'],
  [{ state: 'KS' }, { state: 'KS', bbox: null }, 'KS'],
  [{ date_end: '2026-05-31' }, { date_end: '2026-05-10' }, 'conus'],
  [{ date_end: '2026-05-11' }, { date_end: '2026-05-10' }, 'conus'],
  [{ date_end: '2026-05-10' }, { date_end: '2026-05-10' }, 'conus'],
] as const)
  test(`of ${JSON.stringify(asked)} is exported ${JSON.stringify(served)}, named ${word}, and the file says so`, async (t) => {
    const params = servedParams(paramsOf({ dataset: 'detections', format: 'geojson', ...asked }), NOW_MS);
    t.like(params, served);
    const { file_name, text } = await written(params);
    t.is(file_name, `hail-detections-${word}-${params.date_start}-${params.date_end}.geojson`);
    const { date_start, date_end, bbox, state } = params;
    t.deepEqual(collection(text()).query, { date_start, date_end, bbox, state });
  });

test('the job says how the file is sent and named, and when its data were seen', async (t) => {
  const path = join(out, 'job');
  const services = { catalog } as Partial<Services> as Services;
  const job = { id: 'exp_1', path, services, signal: new AbortController().signal };
  t.deepEqual(await makeExport({ ...job, params: paramsOf({ dataset: 'swaths', format: 'geojson' }) }), {
    media_type: 'application/geo+json',
    file_name: `hail-swaths-conus-${DAY}-${NEXT}.geojson`,
    summary: { row_count: 5, truncated: false },
    data_as_of_ms: Date.parse(`${NEXT}T23:59:59Z`),
    data_source: 'observed',
  });
  const csv = await makeExport({ ...job, path: `${path}.csv`, params: paramsOf({ dataset: 'swaths', format: 'csv' }) });
  t.is(csv.media_type, 'text/csv; charset=utf-8; header=present');
  await t.throwsAsync(
    makeExport({ ...job, params: { ...paramsOf({ dataset: 'swaths', format: 'csv' }), state: `x' OR 1` } }),
    { instanceOf: RangeError },
  );
});
