import { setTimeout as sleep } from 'node:timers/promises';
import { type Kysely, sql } from 'kysely';
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
import HELP from './service-metrics-help.json' with { type: 'json' };

/** How long a scrape waits for the records: it answers within a second, whatever the database does. */
const WAIT_MS = 700;

/** A value of a figure, null where it is not known, and the labels that it is for. */
type Series = readonly [value: number | null | undefined, ...labels: readonly string[]];

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
  const found = await sql<{ readonly waiting_since: string | null; readonly open_alerts: number }>`
    select (select min(created_at) from jobs where status = 'pending' and started_at is null) as waiting_since,
      (select count(open_location) from alerts) as open_alerts`.execute(rows);
  const { waiting_since = null, open_alerts = 0 } = found.rows[0] ?? {};
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
  const add = (name: keyof typeof HELP, labelNames: string[], ...series: readonly Series[]) => {
    const gauge = new Gauge({ name: `hail_${name}`, help: HELP[name], labelNames, registers: [registry] });
    if (labelNames.length === 0) gauge.remove(); // without labels it begins at 0
    for (const [value, ...labels] of series)
      if (value != null) gauge.set(Object.fromEntries(labelNames.map((label, at) => [label, labels[at] ?? ''])), value);
  };
  /** Seconds since an instant; 0 for one ahead of the clock. */
  const age_s = (from_ms: number, at_ms: number) => Math.max(0, at_ms - from_ms) / 1000;

  add('build_info', ['version', 'node', 'records'], [1, RELEASE, process.version, records.store.kind]);
  const is_readable = catalog.failure() === null;
  const edition = is_readable ? catalog.edition() : NOTHING_PUBLISHED;
  const { newest_scan_ms } = edition;
  add('ready', ['part'], [ready === true ? 1 : 0, 'records'], [is_readable ? 1 : 0, 'data']);
  add('scan_age_seconds', [], [newest_scan_ms === null ? null : age_s(newest_scan_ms, now())]);
  add('storm_dates', [], [is_readable ? edition.dates.length : null]);
  const feeds = ingestHealth(edition, now()).sources;
  add('feed_stale', ['feed'], ...feeds.map(({ name, stale }): Series => [stale ? 1 : 0, name]));

  const load = queue.load(MESSAGE_TASK);
  add('delivery_attempts_running', [], [load?.running]);
  add('delivery_slots', [], [load?.slots]);
  const engines = Object.entries({ answers: [engine.load(), ANSWERS], jobs: [jobEngine.load(), JOBS] } as const);
  const current = engines.flatMap(([name, [{ running, waiting }]]): Series[] => [
    [running, name, 'running'],
    [waiting, name, 'waiting'],
  ]);
  const most = engines.flatMap(([name, [, { connections, waiting_max }]]): Series[] => [
    [connections, name, 'running'],
    [waiting_max, name, 'waiting'],
  ]);
  add('engine_statements', ['engine', 'state'], ...current);
  add('engine_statements_max', ['engine', 'state'], ...most);

  const { messages, jobs, job_waiting_ms, open_alerts } = figures ?? {};
  const due_age_s = messages && (messages.due_since_ms === null ? 0 : age_s(messages.due_since_ms, Date.now()));
  add('deliveries_pending', [], [messages?.events]);
  add('delivery_oldest_due_age_seconds', [], [due_age_s]);
  add('jobs', ['state'], [jobs?.queued, 'waiting'], [jobs?.running, 'running']);
  const job_age_s = figures && (job_waiting_ms == null ? 0 : age_s(job_waiting_ms, now()));
  add('job_oldest_waiting_age_seconds', [], [job_age_s]);
  add('alerts_open', [], [open_alerts]);
  add('scrape_failed', ['part'], [ready === null ? 1 : 0, 'ready'], [figures === null ? 1 : 0, 'records']);
  return registry;
}

/** Result of a read; null where it fails, which the service logs itself, or takes longer than a scrape waits. */
function inTime<Read>(reading: Promise<Read>): Promise<Read | null> {
  return Promise.race([reading.catch(() => null), sleep(WAIT_MS, null, { ref: false })]);
}
