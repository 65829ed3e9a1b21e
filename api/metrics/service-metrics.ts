import { setTimeout as sleep } from 'node:timers/promises';
import { Gauge, type Registry } from 'prom-client';
import { RELEASE } from '../../schemas/release.ts';
import type { Metrics } from '../http/metrics.ts';
import { NOTHING_PUBLISHED } from '../published/catalog.ts';
import { ANSWERS, type Engine, type EngineRole, JOBS } from '../published/duckdb.ts';
import { ingestHealth } from '../rules/staleness.ts';
import type { Services } from '../services.ts';
import { MESSAGE_TASK } from '../webhooks/events.ts';
import { COUNTED_MAX, readRecordFigures } from './record-figures.ts';

/** How long a scrape waits for the records: it answers within a second, whatever the database does. */
const WAIT_MS = 700;

/** Adds the gauges of a service to its counts. The returned function writes the page of all, in at most a second. */
export function serviceMetrics({ registry }: Pick<Metrics, 'registry'>, services: Services): () => Promise<string> {
  const gauges = createGauges(registry);
  const { records, catalog, queue, now } = services;
  const health = inTime(records.health);
  const figuresOf = inTime(() => readRecordFigures(records.reader));
  gauges.build.set({ version: RELEASE, node: process.version, records: records.store.kind }, 1);
  /** Seconds since an instant; 0 for one ahead of the clock. */
  const age_s = (from_ms: number, at_ms = now()) => Math.max(0, at_ms - from_ms) / 1000;

  const setData = () => {
    for (const gauge of [gauges.scan_time, gauges.scan_age, gauges.dates]) gauge.remove();
    for (const gauge of [gauges.feed_time, gauges.feed_age, gauges.feed_stale, gauges.feed_failed, gauges.missing])
      gauge.reset();
    const is_readable = catalog.failure() === null;
    gauges.ready.set({ part: 'data' }, is_readable ? 1 : 0);
    for (const folder of catalog.missing()) gauges.missing.set({ folder: folderOf(folder) }, 1);
    const edition = is_readable ? catalog.edition() : NOTHING_PUBLISHED;
    const { newest_scan_ms, feedStates } = edition;
    if (is_readable) gauges.dates.set(edition.dates.length);
    if (newest_scan_ms !== null) {
      gauges.scan_time.set(newest_scan_ms / 1000);
      gauges.scan_age.set(age_s(newest_scan_ms));
    }
    for (const { name, last_success_at, stale } of ingestHealth(edition, now()).sources) {
      gauges.feed_stale.set({ feed: name }, stale ? 1 : 0);
      if (last_success_at === null) continue;
      const at_ms = Date.parse(last_success_at);
      gauges.feed_time.set({ feed: name }, at_ms / 1000);
      gauges.feed_age.set({ feed: name }, age_s(at_ms));
    }
    for (const { name, failure } of feedStates) gauges.feed_failed.set({ feed: name }, failure === null ? 0 : 1);
  };

  const setProcess = () => {
    for (const [engine, load] of enginesOf(services)) {
      gauges.statements.set({ engine, state: 'running' }, load.running);
      gauges.statements.set({ engine, state: 'waiting' }, load.waiting);
    }
    for (const gauge of [gauges.attempts, gauges.slots]) gauge.remove();
    const load = queue.load(MESSAGE_TASK);
    if (load === null) return;
    gauges.attempts.set(load.running);
    gauges.slots.set(load.slots);
  };

  const setRecords = async () => {
    const [ready, figures] = await Promise.all([health(), figuresOf()]);
    for (const [name, part] of Object.entries({ ready, records: figures }))
      gauges.failed.set({ part: name }, part === null ? 1 : 0);
    gauges.ready.set({ part: 'records' }, ready === true ? 1 : 0);
    gauges.jobs.reset();
    for (const gauge of [gauges.pending, gauges.due_age, gauges.job_age, gauges.alerts]) gauge.remove();
    if (figures === null) return;
    const { pending, next_at_ms, jobs, waiting_since_ms, open_alerts } = figures;
    gauges.pending.set(pending);
    gauges.due_age.set(next_at_ms === null ? 0 : age_s(next_at_ms, Date.now()));
    gauges.alerts.set(open_alerts);
    for (const kind of ['report', 'export'] as const)
      for (const state of ['waiting', 'running'] as const) gauges.jobs.set({ kind, state }, jobs[kind][state]);
    gauges.job_age.set(waiting_since_ms === null ? 0 : age_s(waiting_since_ms));
  };

  return async () => {
    await setRecords();
    setData();
    setProcess();
    return await registry.metrics();
  };
}

/** Reads figures once for concurrent callers; null where that fails or takes longer than a scrape waits. */
function inTime<Figures>(read: () => Promise<Figures>): () => Promise<Figures | null> {
  let reading: Promise<Figures | null> | null = null;
  const readOnce = async () => {
    try {
      return await read();
    } catch {
      // The service logs its own failures; here it is one figure.
      return null;
    } finally {
      reading = null;
    }
  };
  return () => {
    reading ??= readOnce();
    return Promise.race([reading, sleep(WAIT_MS, null, { ref: false })]);
  };
}

/** A missing folder by its first name: those of dates would be series without an end. */
function folderOf(path: string): string {
  return path.split('/', 1)[0] ?? path;
}

function enginesOf({ engine, jobEngine }: Services) {
  return [
    ['answers', engine.load()],
    ['jobs', jobEngine.load()],
  ] as const satisfies readonly (readonly [keyof typeof ENGINES, ReturnType<Engine['load']>])[];
}

const ENGINES: Readonly<Record<'answers' | 'jobs', EngineRole>> = { answers: ANSWERS, jobs: JOBS };

const OWN = 'Of this process.';
const SHARED = 'Of the shared records: the same from every process on one database, so never add it up.';

/** Every gauge of a service. Exported for the list of names: dashboards and rules are compared with it. */
export function createGauges(registry: Registry) {
  const gauge = <Label extends string = never>(name: string, help: string, labelNames: readonly Label[] = []) =>
    new Gauge<Label>({ name: `hail_${name}`, help, labelNames, registers: [registry] });
  const gauges = {
    build: gauge('build_info', 'Always 1: version of the service and of Node.js, and kind of its records.', [
      'version',
      'node',
      'records',
    ]),
    ready: gauge('ready', `1 while the part works as /readyz sees it, else 0. ${OWN}`, ['part']),
    missing: gauge('data_missing', `1 for a folder of the data root that is missing; no series else. ${OWN}`, [
      'folder',
    ]),
    scan_time: gauge(
      'scan_newest_timestamp_seconds',
      `Time of the newest scan that is served, since the epoch. ${OWN}`,
    ),
    scan_age: gauge('scan_age_seconds', `Age of the newest scan that is served. ${OWN}`),
    dates: gauge('storm_dates', `Storm dates that can be read. ${OWN}`),
    feed_time: gauge(
      'feed_newest_timestamp_seconds',
      `Time of the newest data of a feed, since the epoch; no series before the first. ${OWN}`,
      ['feed'],
    ),
    feed_age: gauge('feed_age_seconds', `Age of the newest data of a feed; no series before the first. ${OWN}`, [
      'feed',
    ]),
    feed_stale: gauge('feed_stale', `1 for a feed that is late or never came, else 0. ${OWN}`, ['feed']),
    feed_failed: gauge('feed_failed', `1 for a feed whose last attempt failed, else 0. ${OWN}`, ['feed']),
    attempts: gauge('delivery_attempts_running', `Attempts at deliveries under way. ${OWN}`),
    slots: gauge('delivery_slots', `Attempts at deliveries that may be under way. ${OWN}`),
    pending: gauge(
      'deliveries_pending',
      `Events that are still to be delivered, counted up to ${COUNTED_MAX}. ${SHARED}`,
    ),
    due_age: gauge(
      'delivery_oldest_due_age_seconds',
      `How long the longest due event has been due, 0 when none is. ${SHARED}`,
    ),
    jobs: gauge('jobs', `Reports and exports that wait or run, counted up to ${COUNTED_MAX}. ${SHARED}`, [
      'kind',
      'state',
    ]),
    job_age: gauge(
      'job_oldest_waiting_age_seconds',
      `Age of the oldest report or export that waits, 0 when none does. ${SHARED}`,
    ),
    alerts: gauge('alerts_open', `Open alerts, counted up to ${COUNTED_MAX}. ${SHARED}`),
    statements: gauge('engine_statements', `Statements of a query engine that run or wait. ${OWN}`, [
      'engine',
      'state',
    ]),
    statements_max: gauge('engine_statements_max', `Statements of a query engine that may run or wait. ${OWN}`, [
      'engine',
      'state',
    ]),
    failed: gauge(
      'scrape_failed',
      `1 when a part could not be read in time and its figures are absent; else 0. ${OWN}`,
      ['part'],
    ),
  };
  for (const [engine, { connections, waiting_max }] of Object.entries(ENGINES)) {
    gauges.statements_max.set({ engine, state: 'running' }, connections);
    gauges.statements_max.set({ engine, state: 'waiting' }, waiting_max);
  }
  return gauges;
}
