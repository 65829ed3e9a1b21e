import fs from 'node:fs/promises';
import { join } from 'node:path';
import { contains, layout } from '../../schemas/layout.ts';
import { provenanceOfDate } from '../../schemas/manifest.ts';
import type { Provenance } from '../../schemas/provenance.ts';
import { MS_PER_DAY, scanId, scanTime, stormDate, stormDateStart, timestamp, utcDate } from '../../schemas/time.ts';
import type { Config } from '../config.ts';
import { BadInput, Conflict, type PipelineError, PROVENANCE_STAGE, Unreadable } from '../error.ts';
import type { Log } from '../log.ts';
import type { Root } from '../publish/root.ts';
import { MAX_UNZIPPED_BYTES, readBounded } from '../raw-file.ts';
import { readGrid } from '../read/mrms.ts';
import { readProbSevere } from '../read/probsevere.ts';
import {
  archivedDates,
  archiveRaw,
  isCorrection,
  isRejected,
  listArchive,
  type Rejection,
  readRejections,
  rejectRaw,
  withoutKnown,
} from '../sources/archive.ts';
import { contentHash } from '../sources/integrity.ts';
import { PROBSEVERE_PRODUCT, type SourceFile } from '../sources/names.ts';
import { planScans, type ScanPlan } from '../sources/plan.ts';
import type { ReadPool } from './read.ts';

/** A file whose time lies further ahead of the data clock is deferred. */
const FUTURE_MAX_MS = 10 * 60_000;
const NO_COMPANIONS = { companions: {}, probsevere: null, previous_probsevere: null };

export interface SessionSettings
  extends Pick<Config, 'storm_day_start_hour' | 'now' | 'raw_keep_days' | 'reflectivity_keep_hours'> {
  readonly log: Log;
  /** Raw files are removed from the folder they came in once they are archived: from an inbox, not from a folder named with --from. */
  readonly move_raw: boolean;
  /** True publishes every scan as soon as it is processed; false an hour of scans at a time. */
  readonly each_scan: boolean;
  /** Ends a run between two commits. The next run finds the remaining files again. */
  readonly signal?: AbortSignal;
}

/** Everything that planning reads; it needs no lock and writes nothing. */
export interface PlanContext {
  readonly root: Pick<Root, 'path' | 'heads' | 'manifest'>;
  readonly settings: Pick<SessionSettings, 'storm_day_start_hour' | 'now' | 'log' | 'raw_keep_days'>;
  /** True: the times of archived files are left unchanged. */
  readonly dry_run: boolean;
  /** Raw files archived under the root, by provenance and UTC date, as far as they were listed: location -> file. */
  readonly archived: Map<string, Promise<Map<string, SourceFile>>>;
  /** Provenance of the scans that were given for a storm date, as read from their files. */
  readonly provenances: Map<string, Provenance>;
  /** Location and reason of the deferred files that were logged, so that each is logged once. */
  readonly reported: Set<string>;
}

/** Raw files of a root: which are worth processing, where they are archived, whether they are observed or simulated. */
export interface RawArchive extends PlanContext {
  readonly root: Root;
  readonly readPool: ReadPool;
  readonly settings: SessionSettings;
  /** Storm dates for which files of both provenances came: the provenance of a file follows from its content alone. */
  readonly mixed: Set<string>;
}

/** Files that a run rejected. */
export type Rejected = Pick<Rejection, 'file' | 'reason'>[];

/** A file that a run could not process and a later one may: nothing is recorded of it, and it stays where it is. */
export interface Deferred {
  readonly file: string;
  readonly location: string;
  /** `plan`: it is ahead of the clock, or the scans that it changes cannot be made again now. `read`: it cannot be read. */
  readonly stage: 'plan' | 'read';
  readonly reason: string;
  /** True when the file is gone. */
  readonly is_gone: boolean;
}

/** Files worth planning with: not rejected before, and not ahead of the clock. */
export async function selectWorthwhile(
  context: PlanContext,
  files: readonly SourceFile[],
  deferred: Deferred[],
): Promise<SourceFile[]> {
  const { root, settings } = context;
  const rejections = [
    ...(await readRejections(root.path, 'observed', files)),
    ...(await readRejections(root.path, 'simulated', files)),
  ].filter(
    ({ other_kind }) => other_kind === undefined || provenanceOn(context, other_kind.storm_date) === other_kind.source,
  );
  const latest_ms = settings.now() + FUTURE_MAX_MS;
  const worthwhile: SourceFile[] = [];
  for (const file of files) {
    if (file.time_ms > latest_ms) {
      // Nothing is recorded: the next run compares the file with the clock again.
      const reason = `time ${timestamp(file.time_ms)} is ahead of the clock, expected at most ${timestamp(latest_ms)}`;
      deferFile(context, file, { stage: 'plan', reason }, deferred);
      continue;
    }
    try {
      if (!(await isRejected(file, rejections))) worthwhile.push(file);
    } catch (error) {
      deferUnreadable(context, file, error, deferred);
    }
  }
  return worthwhile;
}

/** Defers a file to a later run, and logs the reason unless that was logged before. */
export function deferFile(
  context: PlanContext,
  { name, location }: SourceFile,
  { stage, reason, is_gone = false }: Pick<Deferred, 'stage' | 'reason'> & { readonly is_gone?: boolean },
  deferred: Deferred[],
): void {
  deferred.push({ file: name, location, stage, reason, is_gone });
  const report = `${location} ${reason.split(',')[0]}`;
  if (context.reported.has(report)) return;
  context.reported.add(report);
  const event = stage === 'plan' ? 'File:Plan:Postponed' : 'File:Read:Postponed';
  context.settings.log.warn(event, { file: name, reason });
}

/** Defers a file that cannot be read at present; throws any other error. */
export function deferUnreadable(context: PlanContext, file: SourceFile, error: unknown, deferred: Deferred[]): void {
  if (!(error instanceof Unreadable)) throw error;
  deferFile(context, file, { stage: 'read', reason: error.reason, is_gone: error.is_gone }, deferred);
}

/** Moves a file that cannot be used to `inbox/rejected/` with the reason, and logs it unless it was logged before. */
export async function rejectFile(
  context: RawArchive,
  file: SourceFile,
  stage: string,
  reason: string,
  rejected: Rejected,
): Promise<void> {
  const { root, settings } = context;
  root.check();
  const storm_date = dateOf(context, scanId(file.time_ms));
  const source = stage === PROVENANCE_STAGE ? provenanceOn(context, storm_date) : undefined;
  if (source !== undefined) context.mixed.add(storm_date);
  const other = source === 'observed' ? 'simulated' : 'observed';
  const own = source === undefined ? provenanceOfFile(context, file) : other;
  const { rejection, isNew } = await rejectRaw({
    file,
    dataRoot: root.path,
    provenance: own ?? 'observed',
    stage,
    reason,
    ...(source === undefined ? {} : { other_kind: { storm_date, source } }),
    found_at_ms: settings.now(),
    move: settings.move_raw || isArchived(root, file),
  });
  rejected.push({ file: rejection.file, reason: rejection.reason });
  if (isNew) settings.log.warn('File:Read:Rejected', { file: rejection.file, stage, reason: rejection.reason });
}

/** Provenance of a file that was not read, as far as it follows from its location or its date. */
function provenanceOfFile(context: RawArchive, file: SourceFile): Provenance | undefined {
  if (contains(join(context.root.path, layout.inbox('simulated')), file.location)) return 'simulated';
  const storm_date = dateOf(context, scanId(file.time_ms));
  return context.mixed.has(storm_date) ? undefined : provenanceOn(context, storm_date);
}

/** Provenance of a file that came before any scan of its date, as read from its content. */
async function provenanceByContent({ location, product, time_ms }: SourceFile): Promise<Provenance> {
  try {
    const bytes = await readBounded(location, MAX_UNZIPPED_BYTES);
    const { simulated } =
      product === PROBSEVERE_PRODUCT
        ? readProbSevere(bytes, location, time_ms)
        : readGrid(bytes, location, { product, time_ms });
    return simulated ? 'simulated' : 'observed';
  } catch (error) {
    // It is rejected once a scan needs it; until then it is archived unchanged.
    if (error instanceof BadInput) return 'observed';
    throw error;
  }
}

/** True for a file in the archive. */
export function isArchived(root: PlanContext['root'], file: SourceFile): boolean {
  return contains(join(root.path, layout.raw), file.location);
}

/** True for a scan so old that raw files of its time have been deleted: the scans after it can never be made again. */
export function isExpired({ settings }: PlanContext, { scan_time }: ScanPlan): boolean {
  const { raw_keep_days, now } = settings;
  return raw_keep_days !== null && now() - scan_time > raw_keep_days * MS_PER_DAY;
}

/** Reason that the files of a late scan are deferred with. */
export function lateReason(fault: PipelineError): string {
  return `what it changes cannot be made again: ${fault.message}`;
}

/** Given files to plan with, marked, and the archived files that may make scans with them or with a storm date to rebuild. */
export async function planningFiles(
  context: PlanContext,
  worthwhile: readonly SourceFile[],
  rebuild: string | null = null,
): Promise<{ readonly accepted: readonly SourceFile[]; readonly archived: readonly SourceFile[] }> {
  const rebuild_ms = rebuild === null ? [] : [stormDateStart(rebuild, context.settings.storm_day_start_hour)];
  const times_ms = [...worthwhile.map((file) => file.time_ms), ...rebuild_ms];
  const first_ms = times_ms.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY) - MS_PER_DAY;
  const archived = times_ms.length === 0 ? [] : await archivedSince(context, first_ms);
  const byName = new Map(archived.map((file) => [file.name, file]));
  const accepted: SourceFile[] = [];
  for (const file of await withContentHashes(context.root, worthwhile)) {
    const before = isArchived(context.root, file) ? undefined : byName.get(file.name);
    if (before === undefined) accepted.push(file);
    else accepted.push({ ...file, precedence: (await isCorrection(file, before, context.dry_run)) ? 1 : -1 });
  }
  return { accepted, archived };
}

/** Raw files archived from the UTC date of an instant on, of the provenance that their storm dates take. */
async function archivedSince(context: PlanContext, time_ms: number): Promise<SourceFile[]> {
  const first = utcDate(time_ms);
  for (const key of context.archived.keys()) if (key.slice(-first.length) < first) context.archived.delete(key);
  const archived: SourceFile[] = [];
  for (const provenance of ['observed', 'simulated'] as const)
    for (const date of await archivedDates(context.root.path, provenance))
      if (date >= first)
        for (const file of (await archivedOn(context, provenance, date)).values())
          if ((provenanceOn(context, dateOf(context, scanId(file.time_ms))) ?? provenance) === provenance)
            archived.push(file);
  return archived;
}

function archivedOn(
  { root, archived }: PlanContext,
  provenance: Provenance,
  date: string,
): Promise<Map<string, SourceFile>> {
  const key = `${provenance} ${date}`;
  const list = async () =>
    new Map((await listArchive(root.path, provenance, [date])).map((file) => [file.location, file]));
  const known = archived.get(key) ?? list();
  archived.set(key, known);
  return known;
}

/** Given files; those of which several came for one product and time carry the hash of their content. */
async function withContentHashes(root: PlanContext['root'], files: readonly SourceFile[]): Promise<SourceFile[]> {
  const isGiven = (file: SourceFile) => !isArchived(root, file);
  const groups = Map.groupBy(files.filter(isGiven), ({ product, time_ms }) => `${product} ${time_ms}`);
  const hashed = new Map<SourceFile, SourceFile>();
  for (const group of groups.values()) {
    if (new Set(group.map(({ location }) => location)).size < 2) continue;
    for (const file of group)
      try {
        hashed.set(file, { ...file, sha256: await contentHash(file.location, file.name) });
      } catch (error) {
        // The run defers it when a scan needs it.
        if (!(error instanceof Unreadable)) throw error;
      }
  }
  return files.map((file) => hashed.get(file) ?? file);
}

/** Copies a raw file into the archive, unless it was archived before. */
export async function archiveFile(context: RawArchive, file: SourceFile, provenance: Provenance): Promise<void> {
  if (isArchived(context.root, file)) return;
  context.root.check();
  const archived = await archiveRaw(file, context.root.path, provenance);
  (await archivedOn(context, provenance, utcDate(file.time_ms))).set(archived.location, archived);
}

/** Archives given files that no scan takes, for scans that may still come. Returns how many there are. */
export async function archiveUnused(
  context: RawArchive,
  given: readonly SourceFile[],
  unused: readonly SourceFile[],
  deferred: Deferred[],
): Promise<number> {
  const places = new Set(given.map((file) => file.location));
  let archived = 0;
  for (const file of unused.filter((one) => places.has(one.location))) {
    try {
      await archiveFile(context, file, provenanceOfFile(context, file) ?? (await provenanceByContent(file)));
      archived += 1;
    } catch (error) {
      deferUnreadable(context, file, error, deferred);
    }
  }
  return archived;
}

/** Deletes files that are archived or duplicates from the inbox they came in. */
export async function emptyInbox(
  context: RawArchive,
  accepted: readonly SourceFile[],
  duplicates: readonly SourceFile[],
): Promise<void> {
  const archived = (await Promise.all(context.archived.values())).flatMap((files) => [...files.values()]);
  const needed = new Set(withoutKnown(accepted, archived, []));
  for (const file of duplicates) needed.delete(file);
  for (const file of accepted)
    if (!needed.has(file) && !isArchived(context.root, file)) await fs.rm(file.location, { force: true });
}

/** Scans that can be made of some files, by storm date. */
export function scansByDate(context: RawArchive, files: readonly SourceFile[]): Map<string, ScanPlan[]> {
  return Map.groupBy(planScans(files).scans, (scan) => dateOf(context, scan.scan_id));
}

/** Provenance of the first of these scans that can be read; null when none can. */
export async function provenanceOfScans(readPool: ReadPool, scans: readonly ScanPlan[]): Promise<Provenance | null> {
  for (const { scan_time, mesh } of scans) {
    try {
      const { simulated } = await readPool.read({ ...NO_COMPANIONS, scan_time, mesh: mesh.location });
      return simulated ? 'simulated' : 'observed';
    } catch (error) {
      // The fault is reported when that scan is processed.
      if (!(error instanceof BadInput || error instanceof Unreadable)) throw error;
    }
  }
  return null;
}

/**
 * Reads the provenance of the scans given for each date, before any work. Throws Conflict when the first and the last of a
 * date have the other provenance than the date holds: then all have, and the operator decides. A single stray file is
 * rejected alone.
 */
export async function learnProvenances(context: RawArchive, files: readonly SourceFile[]): Promise<void> {
  for (const [date, scans] of scansByDate(context, files)) {
    if (context.provenances.has(date)) continue;
    const first = await provenanceOfScans(context.readPool, scans);
    if (first === null) continue;
    const expected = provenanceOn(context, date);
    context.provenances.set(date, expected ?? first);
    if (expected === undefined || expected === first || context.settings.each_scan) continue;
    if ((await provenanceOfScans(context.readPool, scans.toReversed())) === expected) continue;
    throw new Conflict(
      'publish',
      date,
      `holds ${expected} data and ${scans[0]?.mesh.location} is ${first}, expected one kind per storm date (--replace takes the ${expected} data away first)`,
    );
  }
}

/** Provenance of raw files that a storm date takes: that of its published scans, else that of the scans given for it. */
function provenanceOn({ root, provenances }: PlanContext, date: string): Provenance | undefined {
  const head = root.heads.get(date);
  return head !== undefined && head.scans.count > 0 ? provenanceOfDate(date, head.source) : provenances.get(date);
}

export function dateOf({ settings }: PlanContext, scan_id: string): string {
  return stormDate(scanTime(scan_id), settings.storm_day_start_hour);
}

/** Throws BadInput for a MESH file of another provenance than its storm date takes; a new date takes that of its first scan. */
export function refuseOtherProvenance(context: RawArchive, storm_date: string, mesh: string, given: Provenance): void {
  const expected = provenanceOn(context, storm_date) ?? given;
  context.provenances.set(storm_date, expected);
  if (expected === given) return;
  throw new BadInput(
    PROVENANCE_STAGE,
    mesh,
    `${given} data, expected ${expected} data as storm date ${storm_date} holds (hail-pipeline ingest --replace takes those away)`,
  );
}
