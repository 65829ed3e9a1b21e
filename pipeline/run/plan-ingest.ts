import { join } from 'node:path';
import { layout } from '../../schemas/layout.ts';
import { stormDate } from '../../schemas/time.ts';
import type { Config } from '../config.ts';
import { NotFound } from '../error.ts';
import { silent } from '../log.ts';
import { openPublishedDates } from '../publish/published-dates.ts';
import { committedSince, contradictionReason } from '../scans/ingest-run.ts';
import { type Deferred, isArchived, type PlanContext, planningFiles, selectWorthwhile } from '../scans/raw-archive.ts';
import { isExpired, lateReason } from '../scans/run.ts';
import { plannedScans, planRun } from '../scans/run-plan.ts';
import { type FolderListing, listFolder, type UnreadableEntry } from '../sources/folder.ts';
import type { SourceFile } from '../sources/names.ts';
import { planScans, type ScanPlan } from '../sources/plan.ts';
import { listSpan, utcSpan } from './bucket-span.ts';
import type { IngestSource } from './ingest-source.ts';

/** A source that can be planned: simulated files do not exist before a run. */
export type PlanSource = Exclude<IngestSource, { kind: 'simulate' }>;

/** One scan of the plan; files by their names. */
export interface ScanOfPlan {
  readonly scan_id: string;
  readonly storm_date: string;
  /** Number of the stretch of scans that depend on each other, from 1; null for a scan that is not made. */
  readonly stretch: number | null;
  readonly status: 'new' | 'redo' | 'published' | 'deferred' | 'rejected';
  readonly reason: string | null;
  readonly mesh: string;
  readonly companions: Readonly<Record<string, string>>;
  readonly probsevere: string | null;
  readonly previous_probsevere: string | null;
}

/** A given file that no planned scan is made from. */
export interface FileOfPlan {
  readonly file: string;
  readonly status: 'unused' | 'duplicate' | 'contradicting' | 'deferred' | 'rejected';
  readonly reason: string | null;
}

/** Work of an ingest that has not begun; `ingest --plan --json` prints it. */
export interface IngestPlan {
  readonly source: PlanSource['kind'];
  /** By time. */
  readonly scans: readonly ScanOfPlan[];
  readonly files: readonly FileOfPlan[];
  /** Files that the run would fetch from the bucket. */
  readonly to_fetch: number;
  /** Names that are no raw file of a scan. */
  readonly unknown_files: readonly string[];
  readonly unreadable_files: readonly UnreadableEntry[];
}

/**
 * Plan of an ingest, from listings and manifests: no lock is taken, no file is fetched or written. Grids are not decoded, so
 * files that cannot be used and a date of the other provenance come to light in the run only.
 */
export async function planIngest(config: Config, source: PlanSource): Promise<IngestPlan> {
  const { data_root: path, storm_day_start_hour, now, raw_keep_days } = config;
  const context: PlanContext = {
    root: { path, ...(await openPublishedDates(path, storm_day_start_hour)) },
    settings: { storm_day_start_hour, now, raw_keep_days, log: silent },
    dry_run: true,
    archived: new Map(),
    provenances: new Map(),
    reported: new Set(),
  };
  const { local, remote, unknown, unreadable } = await listSource(config, source);
  const deferred: Deferred[] = [];
  const worthwhile = await selectWorthwhile(context, local, deferred);
  const { accepted, archived } = await planningFiles(context, [...worthwhile, ...remote]);
  const all = planScans([...accepted, ...archived]);
  const committed = await committedSince(context, all.scans[0]?.scan_time ?? 0);
  const plan = planRun(all.scans, committed, storm_day_start_hour);

  const made = plannedScans(plan, committed);
  const late = plan.late.map(({ scan, loss }) =>
    isExpired(context, scan)
      ? ({ scan, status: 'rejected', reason: `${loss.subject} ${loss.reason}` } as const)
      : ({ scan, status: 'deferred', reason: lateReason(loss) } as const),
  );
  const withWork = new Set([...made, ...late].map(({ scan }) => scan.scan_id));
  const alone = planScans(accepted).scans.filter(({ scan_id }) => !withWork.has(scan_id));
  const scans = [
    ...made,
    ...late.map((one) => ({ ...one, stretch: null })),
    ...alone.map((scan) => ({ scan, stretch: null, status: 'published' as const, reason: null })),
  ].map((one) => scanOfPlan(one, storm_day_start_hour));

  const given = new Set(accepted.map(({ location }) => location));
  const isDeferred = new Set(deferred.map(({ location }) => location));
  const rejected = local.filter((file) => !worthwhile.includes(file) && !isDeferred.has(file.location));
  const { duplicates } = planScans(accepted.filter((file) => !isArchived(context.root, file)));
  const unused = all.unused.filter(({ location }) => given.has(location));
  const as = (status: FileOfPlan['status'], file: string, reason: string | null = null) => ({ file, status, reason });
  const files: FileOfPlan[] = [
    ...deferred.map(({ file, reason }) => as('deferred', file, reason)),
    ...rejected.map(({ key }) => as('rejected', key, 'was rejected before')),
    ...all.contradicting.map((one) => as('contradicting', one.file.key, contradictionReason(one))),
    ...duplicates.map(({ key }) => as('duplicate', key)),
    ...unused.map(({ key }) => as('unused', key)),
  ];
  return {
    source: source.kind,
    scans: scans.sort((a, b) => (a.scan_id < b.scan_id ? -1 : 1)),
    files,
    to_fetch: remote.length,
    unknown_files: unknown,
    unreadable_files: unreadable,
  };
}

interface SourceListing extends Pick<FolderListing, 'unknown' | 'unreadable'> {
  readonly local: readonly SourceFile[];
  /** Files that are still in the bucket. */
  readonly remote: readonly SourceFile[];
}

async function listSource(config: Config, source: PlanSource): Promise<SourceListing> {
  if (source.kind === 'dir') {
    const { files, unknown, unreadable } = await listFolder(source.folder);
    return { local: files, remote: [], unknown, unreadable };
  }
  const { wanted, unknown, archived, belongs } = await listSpan(config, utcSpan(source));
  const inbox = await listInbox(join(config.data_root, layout.inbox('noaa')));
  const fetched = new Set(inbox.files.map(({ key, bytes }) => `${bytes} ${key}`));
  return {
    local: [...inbox.files, ...archived].filter(belongs),
    remote: wanted.filter(({ key, bytes }) => !fetched.has(`${bytes} ${key}`)),
    unknown,
    unreadable: inbox.unreadable,
  };
}

/** Files of the inbox; none when it does not exist yet. */
async function listInbox(folder: string): Promise<FolderListing> {
  try {
    return await listFolder(folder);
  } catch (error) {
    if (error instanceof NotFound) return { files: [], unknown: [], unreadable: [] };
    throw error;
  }
}

function scanOfPlan(
  { scan, stretch, status, reason }: Pick<ScanOfPlan, 'stretch' | 'status' | 'reason'> & { readonly scan: ScanPlan },
  storm_day_start_hour: number,
): ScanOfPlan {
  return {
    scan_id: scan.scan_id,
    storm_date: stormDate(scan.scan_time, storm_day_start_hour),
    stretch,
    status,
    reason,
    mesh: scan.mesh.name,
    companions: Object.fromEntries(Object.entries(scan.companions).map(([companion, { name }]) => [companion, name])),
    probsevere: scan.probsevere?.name ?? null,
    previous_probsevere: scan.previous_probsevere?.name ?? null,
  };
}
