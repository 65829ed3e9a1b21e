import type { Config } from '../config.ts';
import type { Log } from '../log.ts';
import type { Root } from '../publish/root.ts';
import type { Session } from '../scans/session.ts';
import { planScans, type ScanPlan } from '../sources/plan.ts';
import { type BackfillSource, listStormDate } from './storm-date-files.ts';

/** What was done with one storm date. */
export interface DateOutcome {
  readonly storm_date: string;
  /** `published`: every scan of the source was published already; `empty`: the source has none. */
  readonly status: 'done' | 'published' | 'empty' | 'failed';
  /** Scans that were made. */
  readonly scans: number;
  /** Raw files that could not be used, and those that the source lists and does not deliver. */
  readonly rejected: number;
  readonly missing: number;
  readonly seconds: number;
  /** Why it failed. */
  readonly reason: string | null;
}

/** An open root and the session on it. */
export interface OpenSession {
  readonly root: Root;
  readonly session: Session;
  readonly log: Log;
}

/** Publishes the scans of one storm date from a source and closes it; a date that is closed and complete costs a listing. */
export async function backfillDate(
  config: Config,
  source: BackfillSource,
  storm_date: string,
  { root, session, log }: OpenSession,
): Promise<DateOutcome> {
  const begun_ms = performance.now();
  const listed = await listStormDate(config, source, storm_date);
  const outcome = (status: DateOutcome['status'], counts: Partial<DateOutcome> = {}): DateOutcome => ({
    ...{ storm_date, status, scans: 0, rejected: 0, missing: 0, reason: null },
    ...counts,
    seconds: Math.round((performance.now() - begun_ms) / 100) / 10,
  });
  const { scans } = planScans(listed.files);
  if (scans.length === 0) return outcome('empty');
  if (await isPublished(root, storm_date, scans)) return outcome('published');
  const { files, missing, unreadable } = await listed.gather(root, log);
  for (const { key, reason } of unreadable) log.warn('File:Read:Postponed', { file: key, reason });
  const run = await session.ingest(files);
  // The date after it is among them when its tracks changed.
  for (const date of new Set([storm_date, ...run.dates])) if (root.heads.has(date)) await session.closeDate(date);
  return outcome('done', {
    scans: run.scans + run.redone,
    rejected: run.rejected.length,
    missing: missing.length + unreadable.length + run.postponed.length,
  });
}

/** True for a closed date that holds every one of these scans, made from the same files. */
async function isPublished(root: Root, storm_date: string, scans: readonly ScanPlan[]): Promise<boolean> {
  if (root.heads.get(storm_date)?.closed !== true) return false;
  const inputs = new Map((await root.manifest(storm_date))?.scans.map((scan) => [scan.scan_id, scan.inputs]));
  return scans.every((scan) => inputs.get(scan.scan_id) === scan.inputs);
}
