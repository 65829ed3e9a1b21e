import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import { addProcessMetrics } from '../../schemas/metrics.ts';
import { PROVENANCE_STAGE } from '../error.ts';
import type { Fields, Log } from '../log.ts';

/** Prometheus metrics of one process. */
export interface PipelineMetrics {
  readonly registry: Registry;
  /** Counts an event of the log. Never throws. */
  readonly observe: (event: string, fields: Fields) => void;
}

/** Every name of the pipeline's metrics begins with this. */
const PREFIX = 'hail_pipeline_';

/**
 * Adds gauges of the pipeline to a registry. Unlike those of the library they have no value until `set`; `clear` removes the values of
 * all labels.
 */
export function gaugesOf(registry: Registry) {
  return <Label extends string = never>(name: string, help: string, labelNames: readonly Label[] = []) => {
    const gauge = new Gauge<string>({ name: PREFIX + name, help, labelNames: [...labelNames], registers: [registry] });
    const clear = () => {
      gauge.reset();
      if (labelNames.length === 0) gauge.remove();
    };
    clear();
    const set = (value: number, ...labels: [Label] extends [never] ? [] : [Record<Label, string>]) =>
      gauge.set(labels[0] ?? {}, value);
    return { set, clear };
  };
}

const COMMIT_SECONDS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/** Stages that reject files; any other counts as `other`, so that the label stays bounded. */
const REFUSAL_REASONS: readonly string[] = ['read', 'sources', 'derive', PROVENANCE_STAGE];

/** Names of feeds in labels: a damaged name in an event adds no series. */
const NAME = /^[a-z0-9-]{1,40}$/;

/** Creates the metrics of one process, among them memory, processor and event loop. */
export function createPipelineMetrics(version: string): PipelineMetrics {
  const registry = new Registry();
  const registers = [registry];
  addProcessMetrics(registry, PREFIX);
  const counter = <Label extends string = never>(name: string, help: string, labelNames: readonly Label[] = []) =>
    new Counter<Label>({ name: PREFIX + name, help, labelNames: [...labelNames], registers });
  const gauge = gaugesOf(registry);
  gauge('build_info', 'Always 1; the labels say which program runs.', ['version', 'node']).set(1, {
    version,
    node: process.version,
  });
  const locked = gauge('root_locked', '1 while this process holds the lock of the data root, 0 while it waits.');
  const waiting = gauge('waiting', '1 while the pipeline waits for a fault to pass, such as a full disk; else 0.');
  const scans = counter('scans_total', 'Scans published: new ones, and ones made again.', ['kind']);
  const rows = counter('rows_total', 'Rows published, by table.', ['table']);
  const commits = counter('commits_total', 'Commits of scans.');
  const took = new Histogram({
    name: `${PREFIX}commit_seconds`,
    help: 'Duration of a commit of scans: to the disk, named and shown to readers.',
    buckets: COMMIT_SECONDS,
    registers,
  });
  const refused = counter('files_refused_total', 'Raw files that cannot be used, by the stage that found out.', [
    'reason',
  ]);
  const postponed = counter(
    'files_postponed_total',
    'Raw files left to a later run: not readable at present, or not yet due (plan).',
    ['reason'],
  );
  const fetches = counter('fetch_failures_total', 'Listings and files that the source did not deliver.', ['what']);
  const items = counter('feed_items_refused_total', 'Items and files of feeds that cannot be used.', ['feed']);
  const feedFailures = counter('feed_failures_total', 'Times that a feed began to fail.', ['feed']);
  const compacting = counter('compaction_seconds_total', 'Time spent on joining hours, dates and months.', ['what']);
  const sweptBytes = counter('swept_bytes_total', 'Bytes that sweeps freed.');

  for (const kind of ['new', 'redone']) scans.inc({ kind }, 0);
  for (const reason of [...REFUSAL_REASONS, 'other']) refused.inc({ reason }, 0);
  for (const reason of ['plan', 'read']) postponed.inc({ reason }, 0);
  for (const what of ['list', 'file']) fetches.inc({ what }, 0);

  const nameOf = (feed: Fields[string] | undefined) => (NAME.test(String(feed)) ? String(feed) : 'other');
  const observers: Readonly<Record<string, (fields: Fields) => void>> = {
    'Stream:Start': () => waiting.set(0),
    'Root:Open:Done': () => locked.set(1),
    'Root:Close:Done': () => locked.set(0),
    'Stream:Wait:Begin': () => waiting.set(1),
    'Stream:Wait:Done': () => waiting.set(0),
    'Scan:Commit:Done': (fields) => {
      const redone = amount(fields.redone);
      commits.inc();
      scans.inc({ kind: 'new' }, Math.max(0, amount(fields.scans) - redone));
      scans.inc({ kind: 'redone' }, redone);
      for (const table of ['detections', 'cells']) rows.inc({ table }, amount(fields[table]));
      if (fields.seconds !== undefined) took.observe(amount(fields.seconds));
    },
    'File:Read:Rejected': ({ stage }) =>
      refused.inc({ reason: REFUSAL_REASONS.includes(String(stage)) ? String(stage) : 'other' }),
    'File:Plan:Postponed': () => postponed.inc({ reason: 'plan' }),
    'File:Read:Postponed': () => postponed.inc({ reason: 'read' }),
    'Bucket:List:Failed': () => fetches.inc({ what: 'list' }),
    'File:Fetch:Failed': () => fetches.inc({ what: 'file' }),
    'Feed:Item:Rejected': ({ feed }) => items.inc({ feed: nameOf(feed) }),
    'Feed:Poll:Failed': ({ feed }) => feedFailures.inc({ feed: nameOf(feed) }),
    'Date:Finish:Done': ({ seconds }) => compacting.inc({ what: 'hours' }, amount(seconds)),
    'Date:Close:Done': ({ seconds }) => compacting.inc({ what: 'dates' }, amount(seconds)),
    'Month:Join:Done': ({ seconds }) => compacting.inc({ what: 'months' }, amount(seconds)),
    'Root:Sweep:Done': ({ bytes }) => sweptBytes.inc(amount(bytes)),
  };
  return {
    registry,
    observe: (event, fields) => {
      if (Object.hasOwn(observers, event)) observers[event]?.(fields);
    },
  };
}

/** A field that a counter accepts; 0 for anything else. */
function amount(field: Fields[string] | undefined): number {
  return typeof field === 'number' && Number.isFinite(field) && field > 0 ? field : 0;
}

/** The same log; its events are counted before they are written. */
export function observedLog(log: Log, { observe }: PipelineMetrics): Log {
  const observed =
    (write: Log['info']): Log['info'] =>
    (event, fields) => {
      observe(event, fields);
      write(event, fields);
    };
  return { ...log, info: observed(log.info), warn: observed(log.warn) };
}
