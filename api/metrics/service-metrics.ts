import { setTimeout as sleep } from 'node:timers/promises';
import type { Kysely } from 'kysely';
import { Gauge, Registry } from 'prom-client';
import { RELEASE } from '../../schemas/release.ts';
import type { Metrics } from '../http/metrics.ts';
import { jobBacklog } from '../jobs/rows.ts';
import { NOTHING_PUBLISHED } from '../published/catalog.ts';
import { ANSWERS, JOBS } from '../published/duckdb.ts';
import type { Database } from '../records/schema.ts';
import { ingestHealth } from '../rules/staleness.ts';
import type { Services } from '../services.ts';
import { MESSAGE_TASK, messageBacklog } from '../webhooks/messages.ts';

/** How long a scrape waits for the records: it answers within a second, whatever the database does. */
const WAIT_MS = 700;
/** Ends the help of a figure that every process on one database shows: never add it up. */
const SHARED = 'The same from every process on one database.';

/** Values of a figure by labels. */
type Series<Label extends string> = readonly (readonly [labels: Readonly<Record<Label, string>>, value: number])[];

/** Returns a function that reads the metrics of a service, its counts and its gauges, in at most a second. */
export function serviceMetrics(
  { registry }: Pick<Metrics, 'registry'>,
  services: Services,
): () => Promise<Pick<Registry, 'metrics' | 'getMetricsAsArray'>> {
  const { records } = services;
  return async () => {
    const [ready, figures] = await Promise.all([inTime(records.health()), inTime(readFigures(records.reader))]);
    return Registry.merge([registry, gaugesOf(services, ready, figures)]);
  };
}

type Figures = Awaited<ReturnType<typeof readFigures>>;

/** Figures of the shared records. Times are epoch milliseconds. Throws RecordsUnavailable. */
async function readFigures(rows: Kysely<Database>) {
  const { waiting_since } = await rows
    .selectFrom('jobs')
    .select(({ fn }) => fn.min<string | null>('created_at').as('waiting_since'))
    .where('status', '=', 'pending')
    .where('started_at', 'is', null)
    .executeTakeFirstOrThrow();
  const { open_alerts } = await rows
    .selectFrom('alerts')
    .select(({ fn }) => fn.count<number>('open_location').as('open_alerts'))
    .where('open_location', 'is not', null)
    .executeTakeFirstOrThrow();
  return {
    messages: await messageBacklog(rows, Date.now()),
    jobs: await jobBacklog(rows),
    job_waiting_ms: waiting_since === null ? null : Date.parse(waiting_since),
    open_alerts: Number(open_alerts),
  };
}

/** The gauges of this moment. A value that is not known has no series. */
function gaugesOf(services: Services, ready: boolean | null, figures: Figures | null): Registry {
  const { catalog, engine, jobEngine, queue, records, now } = services;
  const registry = new Registry();
  const add = <Label extends string>(name: string, help: string, labelNames: readonly Label[], of: Series<Label>) => {
    const gauge = new Gauge({ name: `hail_${name}`, help, labelNames, registers: [registry] });
    for (const [labels, value] of of) gauge.set(labels, value);
  };
  const addOne = (name: string, help: string, value: number | null | undefined) => {
    const gauge = new Gauge({ name: `hail_${name}`, help, registers: [registry] });
    if (value == null) gauge.remove();
    else gauge.set(value);
  };
  /** Seconds since an instant; 0 for one ahead of the clock. */
  const age_s = (from_ms: number, at_ms: number) => Math.max(0, at_ms - from_ms) / 1000;

  const about = { version: RELEASE, node: process.version, records: records.store.kind };
  const kinds = ['version', 'node', 'records'] as const;
  add('build_info', 'Always 1: version of the service and of Node.js, and kind of its records.', kinds, [[about, 1]]);

  const is_readable = catalog.failure() === null;
  const edition = is_readable ? catalog.edition() : NOTHING_PUBLISHED;
  const { newest_scan_ms } = edition;
  const feeds = ingestHealth(edition, now()).sources;
  add(
    'ready',
    '1 while the part works as /readyz sees it, else 0.',
    ['part'],
    [
      [{ part: 'records' }, ready === true ? 1 : 0],
      [{ part: 'data' }, is_readable ? 1 : 0],
    ],
  );
  const scan_age_s = newest_scan_ms === null ? null : age_s(newest_scan_ms, now());
  addOne('scan_age_seconds', 'Age of the newest scan that is served.', scan_age_s);
  addOne('storm_dates', 'Storm dates that can be read.', is_readable ? edition.dates.length : null);
  const late = feeds.map(({ name, stale }) => [{ feed: name }, stale ? 1 : 0] as const);
  add('feed_stale', '1 for a feed that is late or never came, else 0.', ['feed'], late);

  const load = queue.load(MESSAGE_TASK);
  addOne('delivery_attempts_running', 'Attempts at deliveries under way.', load?.running);
  addOne('delivery_slots', 'Attempts at deliveries that may be under way.', load?.slots);
  const engines = [
    ['answers', ANSWERS, engine.load()],
    ['jobs', JOBS, jobEngine.load()],
  ] as const;
  const states = ['engine', 'state'] as const;
  const statements = engines.flatMap(([name, , { running, waiting }]) => stateSeries(name, running, waiting));
  const most = engines.flatMap(([name, { connections, waiting_max }]) => stateSeries(name, connections, waiting_max));
  add('engine_statements', 'Statements of a query engine that run or wait.', states, statements);
  add('engine_statements_max', 'Statements of a query engine that may run or wait.', states, most);

  const { messages, jobs, job_waiting_ms, open_alerts } = figures ?? {};
  const due_age_s = messages && (messages.due_since_ms === null ? 0 : age_s(messages.due_since_ms, Date.now()));
  const job_age_s = figures && (job_waiting_ms == null ? 0 : age_s(job_waiting_ms, now()));
  const due = `How long the longest due event has been due, 0 when none is. ${SHARED}`;
  const queued: Series<'state'> = jobs
    ? [
        [{ state: 'waiting' }, jobs.queued],
        [{ state: 'running' }, jobs.running],
      ]
    : [];
  addOne('deliveries_pending', `Events that are still to be delivered. ${SHARED}`, messages?.events);
  addOne('delivery_oldest_due_age_seconds', due, due_age_s);
  add('jobs', `Reports and exports that wait or run. ${SHARED}`, ['state'], queued);
  addOne('job_oldest_waiting_age_seconds', `Age of the oldest that waits, 0 when none does. ${SHARED}`, job_age_s);
  addOne('alerts_open', `Open alerts. ${SHARED}`, open_alerts);
  add(
    'scrape_failed',
    '1 when a part could not be read in time and its figures are absent; else 0.',
    ['part'],
    [
      [{ part: 'ready' }, ready === null ? 1 : 0],
      [{ part: 'records' }, figures === null ? 1 : 0],
    ],
  );
  return registry;
}

function stateSeries(engine: string, running: number, waiting: number): Series<'engine' | 'state'> {
  return [
    [{ engine, state: 'running' }, running],
    [{ engine, state: 'waiting' }, waiting],
  ];
}

/** Result of a read; null where it fails, which the service logs itself, or takes longer than a scrape waits. */
function inTime<Read>(reading: Promise<Read>): Promise<Read | null> {
  return Promise.race([reading.catch(() => null), sleep(WAIT_MS, null, { ref: false })]);
}
