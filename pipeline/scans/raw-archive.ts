import { open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { constants, gunzipSync } from 'node:zlib';
import { contains, layout } from '../../schemas/layout.ts';
import { provenanceOfDate } from '../../schemas/manifest.ts';
import { PROVENANCES, type Provenance } from '../../schemas/provenance.ts';
import { MS_PER_DAY, stormDate, stormDateStart, timestamp, utcDate } from '../../schemas/time.ts';
import type { Config } from '../config.ts';
import { Conflict, PROVENANCE_STAGE, Unreadable } from '../error.ts';
import { readable } from '../files.ts';
import { findMessage } from '../grib2/index.ts';
import type { Log } from '../log.ts';
import type { Root } from '../publish/root.ts';
import { PRODUCTION_STATUS_AT, statusProvenance } from '../read/mrms.ts';
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
import { contentHash, faultOf } from '../sources/integrity.ts';
import { PROBSEVERE_PRODUCT, SCAN_PRODUCT, type SourceFile } from '../sources/names.ts';

/** A file whose time lies further ahead of the data clock is deferred. */
const FUTURE_MAX_MS = 10 * 60_000;
/** The beginning of a raw file, packed or not, holds the mark of the simulator. */
const HEAD_BYTES = 4096;

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
  /** Archived raw files of each provenance and UTC date that was listed, by location. */
  readonly archived: Map<string, Promise<Map<string, SourceFile>>>;
  /** Provenance of the scans that were given for a storm date, as read from their files. */
  readonly provenances: Map<string, Provenance>;
  /** Location and reason of the deferred files that were logged, so that each is logged once. */
  readonly reported: Set<string>;
}

/** Raw files of a root that is open for writing. */
export interface RawArchive extends PlanContext {
  readonly root: Root;
  readonly settings: SessionSettings;
}

/** What a context knows before its first run. */
export function nothingKnown(): Pick<PlanContext, 'archived' | 'provenances' | 'reported'> {
  return { archived: new Map(), provenances: new Map(), reported: new Set() };
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
  const read = await Promise.all(PROVENANCES.map((provenance) => readRejections(root.path, provenance, files)));
  const rejections = read
    .flat()
    .filter(({ other_kind: other }) => other === undefined || provenanceOn(context, other.storm_date) === other.source);
  const latest_ms = settings.now() + FUTURE_MAX_MS;
  const worthwhile: SourceFile[] = [];
  for (const file of files) {
    if (file.time_ms > latest_ms) {
      const reason = `time ${timestamp(file.time_ms)} is ahead of the clock, expected at most ${timestamp(latest_ms)}`;
      deferFile(context, file, { stage: 'plan', reason, is_gone: false }, deferred);
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
  fault: Pick<Deferred, 'stage' | 'reason' | 'is_gone'>,
  deferred: Deferred[],
): void {
  const { stage, reason, is_gone } = fault;
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
  const storm_date = dateOf(context, file.time_ms);
  const source = provenanceOn(context, storm_date) ?? 'observed';
  const isOther = stage === PROVENANCE_STAGE;
  const other = source === 'observed' ? 'simulated' : 'observed';
  const { rejection, isNew } = await rejectRaw(
    file,
    root.path,
    isOther ? other : source,
    { stage, reason, found_at: timestamp(settings.now()), ...(isOther ? { other_kind: { storm_date, source } } : {}) },
    settings.move_raw || isArchived(root, file),
  );
  rejected.push({ file: rejection.file, reason: rejection.reason });
  if (isNew) settings.log.warn('File:Read:Rejected', { file: rejection.file, stage, reason: rejection.reason });
}

/** True for a file in the archive. */
export function isArchived(root: PlanContext['root'], file: SourceFile): boolean {
  return contains(join(root.path, layout.raw), file.location);
}

/** Given files to plan with, marked, and the archived files that may make scans with them or with a storm date to rebuild. */
export async function planningFiles(
  context: PlanContext,
  worthwhile: readonly SourceFile[],
  rebuild: string | null = null,
): Promise<{ readonly accepted: readonly SourceFile[]; readonly archived: readonly SourceFile[] }> {
  const rebuild_ms = rebuild === null ? Infinity : stormDateStart(rebuild, context.settings.storm_day_start_hour);
  const first_ms = worthwhile.reduce((first, { time_ms }) => Math.min(first, time_ms), rebuild_ms) - MS_PER_DAY;
  if (first_ms === Infinity) return { accepted: [], archived: [] };
  const archived: SourceFile[] = [];
  for (const provenance of PROVENANCES)
    for (const file of await archivedSince(context, provenance, first_ms))
      if ((provenanceOn(context, dateOf(context, file.time_ms)) ?? provenance) === provenance) archived.push(file);
  const byName = new Map(archived.map((file) => [file.name, file]));
  const accepted: SourceFile[] = [];
  for (const file of await withContentHashes(context.root, worthwhile)) {
    const before = isArchived(context.root, file) ? undefined : byName.get(file.name);
    if (before === undefined) accepted.push(file);
    else accepted.push({ ...file, precedence: (await isCorrection(file, before, context.dry_run)) ? 1 : -1 });
  }
  return { accepted, archived };
}

/** Raw files of a provenance archived from the UTC date of an instant on; those of dates before it leave the memory. */
async function archivedSince(context: PlanContext, provenance: Provenance, time_ms: number): Promise<SourceFile[]> {
  const first = utcDate(time_ms);
  for (const key of context.archived.keys()) if (key.slice(-first.length) < first) context.archived.delete(key);
  const dates = (await archivedDates(context.root.path, provenance)).filter((date) => date >= first);
  const listed = await Promise.all(dates.map((date) => archivedOn(context, provenance, date)));
  return listed.flatMap((files) => [...files.values()]);
}

function archivedOn({ root, archived }: PlanContext, provenance: Provenance, date: string) {
  const key = `${provenance} ${date}`;
  const list = async () =>
    new Map((await listArchive(root.path, provenance, [date])).map((file) => [file.location, file]));
  const listed = archived.get(key) ?? list();
  archived.set(key, listed);
  return listed;
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
  const copy = await archiveRaw(file, context.root.path, provenance);
  (await archivedOn(context, provenance, utcDate(file.time_ms))).set(copy.location, copy);
}

/** Archives a given file that no scan takes, for scans that may still come. */
export async function archiveUnused(context: RawArchive, file: SourceFile): Promise<void> {
  const known = provenanceOn(context, dateOf(context, file.time_ms)) ?? 'observed';
  await archiveFile(context, file, (await provenanceOf(file)) ?? known);
}

/** Deletes files that are archived or duplicates from the inbox they came in. */
export async function emptyInbox(
  context: RawArchive,
  accepted: readonly SourceFile[],
  duplicates: readonly SourceFile[],
): Promise<void> {
  if (accepted.length === 0) return;
  const first_ms = accepted.reduce((first, { time_ms }) => Math.min(first, time_ms), Infinity) - MS_PER_DAY;
  const archived = await Promise.all(PROVENANCES.map((provenance) => archivedSince(context, provenance, first_ms)));
  const needed = new Set(withoutKnown(accepted, archived.flat(), []));
  for (const file of duplicates) needed.delete(file);
  for (const file of accepted)
    if (!needed.has(file) && !isArchived(context.root, file)) await rm(file.location, { force: true });
}

/** Provenance that the beginning of a raw file states; null when it is damaged. */
async function provenanceOf({ location, product }: SourceFile): Promise<Provenance | null> {
  const packed = Buffer.alloc(HEAD_BYTES);
  const bytesRead = await readable(location, async () => {
    const file = await open(location);
    return (await file.read(packed, 0, HEAD_BYTES).finally(() => file.close())).bytesRead;
  });
  let head = packed.subarray(0, bytesRead);
  try {
    if (head[0] === 0x1f) head = gunzipSync(head, { finishFlush: constants.Z_SYNC_FLUSH });
  } catch {
    return null;
  }
  if (product === PROBSEVERE_PRODUCT) return /"source":\s*"simulated"/.test(head.toString()) ? 'simulated' : 'observed';
  const begin = findMessage(head);
  return begin < 0 ? null : statusProvenance(head[begin + PRODUCTION_STATUS_AT] ?? Number.NaN);
}

/** What the MESH files given for each storm date state, in order of time; one that cannot be read is reported with its scan. */
export async function provenancesByDate(context: PlanContext, files: readonly SourceFile[]) {
  const stated = new Map<string, Provenance[]>();
  const mesh = files.filter(({ product }) => product === SCAN_PRODUCT).sort((a, b) => a.time_ms - b.time_ms);
  for (const file of mesh)
    try {
      const date = dateOf(context, file.time_ms);
      const provenance = await provenanceOf(file);
      if (provenance !== null) stated.set(date, [...(stated.get(date) ?? []), provenance]);
    } catch (error) {
      if (!(error instanceof Unreadable)) throw error;
    }
  return stated;
}

/** Provenance that most files of a date state: one file under a wrong name does not decide for the date. */
export function mostStated(stated: readonly Provenance[]): Provenance {
  return 2 * stated.filter((one) => one === 'simulated').length > stated.length ? 'simulated' : 'observed';
}

/**
 * Reads the provenance of the scans given for each date, before any work. Throws Conflict when all of a date have the other
 * provenance than the date holds: the operator decides. A single stray file is rejected alone.
 */
export async function learnProvenances(context: RawArchive, files: readonly SourceFile[]): Promise<void> {
  for (const [date, stated] of await provenancesByDate(context, files)) {
    const given = mostStated(stated);
    const expected = provenanceOn(context, date) ?? given;
    context.provenances.set(date, expected);
    if (context.settings.each_scan || stated.includes(expected)) continue;
    // A damaged file is rejected alone, whatever its head states.
    for (const { location, name, product, time_ms } of files)
      if (product === SCAN_PRODUCT && dateOf(context, time_ms) === date && (await faultOf(location, name)) === null)
        throw new Conflict(
          'publish',
          date,
          `holds ${expected} data and ${location} is ${given}, expected one kind per storm date (--replace takes the ${expected} data away first)`,
        );
  }
}

/** Provenance of raw files that a storm date takes: that of its published scans, else that of the scans given for it. */
export function provenanceOn({ root, provenances }: PlanContext, date: string): Provenance | undefined {
  const head = root.heads.get(date);
  return head !== undefined && head.scans.count > 0 ? provenanceOfDate(date, head.source) : provenances.get(date);
}

export function dateOf({ settings }: PlanContext, time_ms: number): string {
  return stormDate(time_ms, settings.storm_day_start_hour);
}
