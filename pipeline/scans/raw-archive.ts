import fs from 'node:fs/promises';
import { join } from 'node:path';
import { contains, layout } from '../../schemas/layout.ts';
import { provenanceOfDate } from '../../schemas/manifest.ts';
import type { Provenance } from '../../schemas/provenance.ts';
import { addDays, MS_PER_DAY, scanId, scanTime, stormDate, timestamp, utcDate } from '../../schemas/time.ts';
import { BadInput, Conflict, PROVENANCE_STAGE, Unreadable } from '../error.ts';
import type { Log } from '../log.ts';
import type { Root } from '../publish/root.ts';
import { MAX_UNZIPPED_BYTES, readBounded } from '../read/file.ts';
import { readGrid } from '../read/mrms.ts';
import { readProbSevere } from '../read/probsevere.ts';
import {
  archiveRaw,
  asCorrection,
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
import type { ReadPool } from './read-pool.ts';

/** A file whose time lies further ahead of the data clock is refused. */
const FUTURE_MAX_MS = 10 * 60_000;
const NO_COMPANIONS = { companions: {}, probsevere: null, previous_probsevere: null };

export interface SessionSettings {
  readonly storm_day_start_hour: number;
  /** Data clock, epoch milliseconds. */
  readonly now: () => number;
  readonly log: Log;
  /** Raw files leave the folder they came in once they are published: an inbox is emptied, a folder named with --from is not. */
  readonly move_raw: boolean;
  /** Every scan is published as soon as it is done; otherwise an hour of scans at a time. */
  readonly each_scan: boolean;
  /** Days after which raw files are deleted; null: never. */
  readonly raw_keep_days: number | null;
  /** Hours after a scan that its archive of reflectivity is kept; 0: none is painted. */
  readonly reflectivity_keep_hours: number;
  /** Ends a run between two commits. What was not reached is found again by the next run. */
  readonly signal?: AbortSignal;
}

/** The raw files of a root: which are worth processing, where they are archived, whether they are observed or simulated. */
export interface RawArchive {
  readonly root: Root;
  readonly readPool: ReadPool;
  readonly settings: SessionSettings;
  /** Raw files archived under the root, by provenance and UTC date, as far as they were looked at: place -> file. */
  readonly archived: Map<string, Promise<Map<string, SourceFile>>>;
  /** Provenance of the scans that were given for a storm date, as read from their files. */
  readonly provenances: Map<string, Provenance>;
  /** Storm dates for which files of both provenances came: whose a file is follows from its content alone. */
  readonly mixed: Set<string>;
  /** Place and reason of the postponed files that were reported, so that each is reported once. */
  readonly reported: Set<string>;
}

/** What was put aside in a run. */
export type Rejected = Pick<Rejection, 'file' | 'reason'>[];

/** A file that a run could not process and a later one may: nothing is recorded of it, and it stays where it is. */
export interface Postponed {
  readonly file: string;
  readonly location: string;
  /** `plan`: it is ahead of the clock, or what it changes cannot be made again now. `read`: the file system does not give it. */
  readonly stage: 'plan' | 'read';
  readonly reason: string;
  /** True when it has gone. */
  readonly is_gone: boolean;
}

/** Files worth planning with: not refused before, and not from the future. */
export async function selectWorthwhile(
  context: RawArchive,
  files: readonly SourceFile[],
  postponed: Postponed[],
): Promise<SourceFile[]> {
  const { root, settings } = context;
  const refused = [
    ...(await readRejections(root.path, 'observed', files)),
    ...(await readRejections(root.path, 'simulated', files)),
  ].filter(
    ({ other_kind }) => other_kind === undefined || provenanceOn(context, other_kind.storm_date) === other_kind.source,
  );
  const latest_ms = settings.now() + FUTURE_MAX_MS;
  const worthwhile: SourceFile[] = [];
  for (const file of files) {
    if (file.time_ms > latest_ms) {
      // Compared with the clock in every run: the clock may be wrong, and time goes on.
      const reason = `time ${timestamp(file.time_ms)} is ahead of the clock, expected at most ${timestamp(latest_ms)}`;
      postpone(context, file, { stage: 'plan', reason }, postponed);
      continue;
    }
    try {
      if (!(await isRejected(file, refused))) worthwhile.push(file);
    } catch (error) {
      if (!(error instanceof Unreadable)) throw error;
      postpone(context, file, { stage: 'read', reason: error.reason, is_gone: error.is_gone }, postponed);
    }
  }
  return worthwhile;
}

/** Leaves a file for a later run, and reports why unless that was reported before. */
export function postpone(
  context: RawArchive,
  { name, location }: SourceFile,
  why: Pick<Postponed, 'stage' | 'reason'> & { readonly is_gone?: boolean },
  postponed: Postponed[],
): void {
  const { stage, reason } = why;
  postponed.push({ file: name, location, stage, reason, is_gone: why.is_gone ?? false });
  const report = `${location} ${reason.split(',')[0]}`;
  if (context.reported.has(report)) return;
  context.reported.add(report);
  context.settings.log.warn(stage === 'plan' ? 'File:Plan:Postponed' : 'File:Read:Postponed', {
    file: name,
    reason,
  });
}

/** Puts a file that cannot be used aside with the reason, and reports it unless it was reported before. */
export async function putAside(
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
  const own = source === undefined ? provenanceOfFile(context, file) : otherProvenance(source);
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

/** Provenance of a file that was not read, as far as it follows from its place or its date. */
function provenanceOfFile(context: RawArchive, file: SourceFile): Provenance | undefined {
  if (contains(join(context.root.path, layout.inbox('simulated')), file.location)) return 'simulated';
  const storm_date = dateOf(context, scanId(file.time_ms));
  return context.mixed.has(storm_date) ? undefined : provenanceOn(context, storm_date);
}

function otherProvenance(provenance: Provenance): Provenance {
  return provenance === 'observed' ? 'simulated' : 'observed';
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
    // It is put aside once a scan wants it; until then it is kept as it was delivered.
    if (error instanceof BadInput) return 'observed';
    throw error;
  }
}

/** True for a file that lies in the archive. */
export function isArchived(root: Root, file: SourceFile): boolean {
  return contains(join(root.path, layout.raw), file.location);
}

/** Raw files archived before, from the day before the earliest of some instants on: what is late may change what follows. */
export async function archivedAround(context: RawArchive, times_ms: readonly number[]): Promise<SourceFile[]> {
  if (times_ms.length === 0) return [];
  const { root } = context;
  const first = utcDate(times_ms.reduce((a, b) => Math.min(a, b)) - MS_PER_DAY);
  const last = utcDate(times_ms.reduce((a, b) => Math.max(a, b)) + MS_PER_DAY);
  const published = [...root.heads.values()].filter((head) => head.scan_count > 0).map((head) => head.partition);
  const dates = new Set(
    published.flatMap((date) => [addDays(date, -1), date, addDays(date, 1)]).filter((date) => date >= first),
  );
  for (let date = first; date <= last; date = addDays(date, 1)) dates.add(date);
  for (const key of context.archived.keys()) if (!dates.has(key.split(' ')[1] as string)) context.archived.delete(key);
  const archived: SourceFile[] = [];
  for (const date of [...dates].sort()) {
    for (const provenance of ['observed', 'simulated'] as const) {
      for (const file of (await archivedOn(context, provenance, date)).values())
        if ((provenanceOn(context, dateOf(context, scanId(file.time_ms))) ?? provenance) === provenance)
          archived.push(file);
    }
  }
  return archived;
}

function archivedOn(
  { root, archived }: RawArchive,
  provenance: Provenance,
  date: string,
): Promise<Map<string, SourceFile>> {
  const key = `${provenance} ${date}`;
  const known = archived.get(key) ?? listArchived(root, provenance, date);
  archived.set(key, known);
  return known;
}

async function listArchived(root: Root, provenance: Provenance, date: string): Promise<Map<string, SourceFile>> {
  return new Map((await listArchive(root.path, provenance, [date])).map((file) => [file.location, file]));
}

/** Given files, with those marked that correct the one archived under their name. */
export async function corrected(
  root: Root,
  given: readonly SourceFile[],
  archived: readonly SourceFile[],
): Promise<SourceFile[]> {
  const byName = new Map(archived.map((file) => [file.name, file]));
  const files: SourceFile[] = [];
  for (const file of given) {
    const before = isArchived(root, file) ? undefined : byName.get(file.name);
    files.push(before === undefined ? file : await asCorrection(file, before));
  }
  return files;
}

/** Given files; those of which several came for one product and time carry the hash of their content. */
export async function withContentHashes(root: Root, files: readonly SourceFile[]): Promise<SourceFile[]> {
  const isContested = (file: SourceFile) => file.correction === undefined && !isArchived(root, file);
  const groups = Map.groupBy(files.filter(isContested), ({ product, time_ms }) => `${product} ${time_ms}`);
  const hashed = new Map<SourceFile, SourceFile>();
  for (const group of groups.values()) {
    if (new Set(group.map(({ location }) => location)).size < 2) continue;
    for (const file of group)
      try {
        hashed.set(file, { ...file, sha256: await contentHash(file.location, file.name) });
      } catch (error) {
        // Whoever reads it will say so.
        if (!(error instanceof Unreadable)) throw error;
      }
  }
  return files.map((file) => hashed.get(file) ?? file);
}

/** Copies a raw file into the archive, unless it is there. */
export async function archiveFile(context: RawArchive, file: SourceFile, provenance: Provenance): Promise<void> {
  if (isArchived(context.root, file)) return;
  context.root.check();
  const archived = await archiveRaw(file, context.root.path, provenance);
  (await archivedOn(context, provenance, utcDate(file.time_ms))).set(archived.location, archived);
}

/** Keeps given files that no scan takes: one may still come that does. Returns how many there are. */
export async function archiveUnused(
  context: RawArchive,
  given: readonly SourceFile[],
  unused: readonly SourceFile[],
  postponed: Postponed[],
): Promise<number> {
  const places = new Set(given.map((file) => file.location));
  let archived = 0;
  for (const file of unused.filter((one) => places.has(one.location))) {
    try {
      await archiveFile(context, file, provenanceOfFile(context, file) ?? (await provenanceByContent(file)));
      archived += 1;
    } catch (error) {
      if (!(error instanceof Unreadable)) throw error;
      postpone(context, file, { stage: 'read', reason: error.reason, is_gone: error.is_gone }, postponed);
    }
  }
  return archived;
}

/** Takes files that are archived or known twice out of the inbox they came in. */
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
      // It is reported when that scan is processed.
      if (!(error instanceof BadInput || error instanceof Unreadable)) throw error;
    }
  }
  return null;
}

/**
 * Reads of which provenance the scans given for a date are, before any work. Throws Conflict when the first and the last of a
 * date are of the other one than it holds: then all are, and the operator has to decide. A single stray file is rejected alone.
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
function provenanceOn({ root, provenances }: RawArchive, date: string): Provenance | undefined {
  const head = root.heads.get(date);
  return head !== undefined && head.scan_count > 0 ? provenanceOfDate(date, head.provenance) : provenances.get(date);
}

/** Storm date of a scan. */
export function dateOf({ settings }: RawArchive, scan_id: string): string {
  return stormDate(scanTime(scan_id), settings.storm_day_start_hour);
}

/**
 * Throws BadInput for a MESH file that is not of the provenance that its storm date takes: that of what is published or, before
 * anything is, that of the first scan read, which is then that of the date.
 */
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
