import { randomBytes } from 'node:crypto';
import fs from 'node:fs/promises';
import { join } from 'node:path';
import { layout } from '../../schemas/layout.ts';
import { provenanceOfDate } from '../../schemas/manifest.ts';
import { addDays, datesThrough, MS_PER_HOUR, stormDateStart, utcDate } from '../../schemas/time.ts';
import type { Config } from '../config.ts';
import { PipelineError, RootHeld } from '../error.ts';
import { makeFolder, moveDurably, namesIn } from '../files.ts';
import type { Log } from '../log.ts';
import { adoptDate, readDateRejection } from '../publish/adopt.ts';
import { readNewest } from '../publish/manifests.ts';
import type { Root } from '../publish/root.ts';
import { fetchSpan, type GatheredFiles, isInSpan, listSpan } from '../scans/bucket-span.ts';
import { readRejections, withoutKnown } from '../sources/archive.ts';
import { listFolder } from '../sources/folder.ts';
import { pause } from '../sources/http.ts';
import type { SourceFile } from '../sources/names.ts';
import { planScans } from '../sources/plan.ts';
import { withSession } from './with-root.ts';

/** Scans from this long before a date are made first: older tracks at its beginning are rare. */
const LEAD_MS = 2 * MS_PER_HOUR;
/** Time between two tries to publish while another process has the lock of the data root. */
const TRY_EVERY_MS = 1000;

/** Where a backfill takes the raw files of its storm dates from. */
export type BackfillSource =
  | { readonly kind: 'dir'; readonly folder: string }
  | { readonly kind: 'noaa'; readonly products: readonly string[] };

export interface BackfillDateRequest {
  readonly source: BackfillSource;
  readonly storm_date: string;
  readonly threads: number;
  readonly log: Log;
  /** Ends the work between two commits. */
  readonly signal: AbortSignal;
}

/** Outcome of one storm date. */
export interface DateOutcome {
  readonly storm_date: string;
  /** `published`: the data root holds all scans of the source; `empty`: the source has none; `stopped`: the next run goes on. */
  readonly status: 'done' | 'published' | 'empty' | 'failed' | 'stopped';
  readonly scans: number;
  /** Raw files that could not be used. */
  readonly rejected: number;
  /** Raw files that the source lists and does not deliver. */
  readonly missing: number;
  readonly seconds: number;
  /** Why it failed. */
  readonly reason: string | null;
}

type Made = Pick<DateOutcome, 'status' | 'scans' | 'rejected' | 'missing'>;
const NOTHING = { scans: 0, rejected: 0, missing: 0 } as const;

/**
 * Makes a storm date in a scratch root, hands it over to the data root and waits until its writer has published it. Publishes it
 * itself where no other process has the lock. A date whose scans are all published costs a listing.
 */
export async function backfillDate(config: Config, request: BackfillDateRequest): Promise<DateOutcome> {
  const begun_ms = performance.now();
  const { storm_date, signal } = request;
  const outcome = (made: Made, reason: string | null = null): DateOutcome => ({
    storm_date,
    ...made,
    seconds: Math.round((performance.now() - begun_ms) / 100) / 10,
    reason,
  });
  try {
    const left = (await namesIn(join(config.data_root, layout.finishedDates))).find((name) =>
      name.startsWith(storm_date),
    );
    if (left !== undefined && !(await publishFinished(config, request, left)))
      return outcome({ ...NOTHING, status: 'stopped' });
    const known = await compareWithPublished(config, request);
    if (known !== 'missing') return outcome({ ...NOTHING, status: known });
    const made = await makeDate(config, request);
    const name = await handOver(config.data_root, storm_date);
    const is_published = await publishFinished(config, request, name);
    const reason = await readDateRejection(config.data_root, name);
    if (reason !== null) return outcome({ ...made, status: 'failed' }, reason);
    return outcome(is_published ? made : { ...made, status: 'stopped' });
  } catch (error) {
    if (signal.aborted) return outcome({ ...NOTHING, status: 'stopped' });
    if (!(error instanceof PipelineError)) throw error;
    return outcome({ ...NOTHING, status: 'failed' }, error.message);
  }
}

/** `published` for a closed date of the data root that holds every scan of the source, made from the same files. */
async function compareWithPublished(
  config: Config,
  { source, storm_date }: BackfillDateRequest,
): Promise<'published' | 'empty' | 'missing'> {
  const { data_root } = config;
  const { files } = await listStormDate(config, source, storm_date);
  const { scans } = planScans(files);
  if (scans.length === 0) return 'empty';
  const published = await readNewest(data_root, storm_date);
  if (published?.closed !== true) return 'missing';
  const inputs = new Map(published.scans.map((scan) => [scan.scan_id, scan.inputs]));
  const rejections = await readRejections(data_root, provenanceOfDate(storm_date, published.source), files);
  const wanted = planScans(withoutKnown<SourceFile>(files, [], rejections)).scans;
  return wanted.every((scan) => inputs.get(scan.scan_id) === scan.inputs) ? 'published' : 'missing';
}

/** Makes and closes a storm date in its scratch root. A killed run left it there: its scans are kept. */
async function makeDate(config: Config, request: BackfillDateRequest): Promise<Made> {
  const { source, storm_date, threads, log, signal } = request;
  const scratch = join(config.data_root, layout.work(storm_date));
  const own = { ...config, data_root: scratch, raw_keep_days: null };
  const needs = { command: 'backfill', threads, move_raw: source.kind === 'noaa', log, signal };
  try {
    return await withSession(own, needs, async (root, session): Promise<Made> => {
      const listed = await listStormDate(own, source, storm_date, LEAD_MS);
      const { files, missing, unreadable } = await listed.gather(root, log);
      for (const { key, reason } of unreadable) log.warn('File:Read:Postponed', { file: key, reason });
      const run = await session.ingest(files);
      signal.throwIfAborted();
      if (!root.heads.has(storm_date)) throw new PipelineError('backfill', storm_date, 'has no scan that can be used');
      await session.closeDate(storm_date);
      return {
        status: 'done',
        scans: root.heads.get(storm_date)?.scans.count ?? 0,
        rejected: run.rejected.length,
        missing: missing.length + unreadable.length + run.postponed.length,
      };
    });
  } catch (error) {
    if (!(error instanceof RootHeld) && !signal.aborted) await fs.rm(scratch, { recursive: true, force: true });
    throw error;
  }
}

/** Moves the scratch root of a date into the inbox of the data root, in one step. Returns its name there. */
async function handOver(data_root: string, storm_date: string): Promise<string> {
  const name = `${storm_date}-${randomBytes(4).toString('hex')}`;
  await makeFolder(join(data_root, layout.finishedDates));
  await moveDurably(join(data_root, layout.work(storm_date)), join(data_root, layout.finishedDate(name)));
  return name;
}

/**
 * Publishes all finished dates of the inbox, and then the months and the climatology made of them. Waits while another process has
 * the lock, which may publish them, too. False when the signal ends the wait for the date `name`.
 */
async function publishFinished(
  config: Config,
  { threads, log, signal }: BackfillDateRequest,
  name: string,
): Promise<boolean> {
  const isWaiting = async () => (await namesIn(join(config.data_root, layout.finishedDates))).includes(name);
  let holder: string | null = null;
  while (await isWaiting()) {
    if (signal.aborted) return false;
    try {
      await withSession(config, { command: 'backfill', threads, move_raw: false, log }, async (root, session) => {
        while ((await adoptDate(root, config.now())) !== null);
        await session.finishDates();
      });
    } catch (error) {
      if (!(error instanceof RootHeld)) throw error;
      if (holder === null) log.info('Backfill:Date:Waits', { name, reason: error.reason });
      holder = error.reason;
      await pause(TRY_EVERY_MS, signal);
    }
  }
  return true;
}

/**
 * Files of the scans of a storm date and of those up to `lead_ms` before it. `gather` fetches those of the bucket into the inbox of a root.
 * A folder is read in its folders of these UTC dates only.
 */
async function listStormDate(config: Config, source: BackfillSource, storm_date: string, lead_ms = 0) {
  const start_ms = (date: string) => stormDateStart(date, config.storm_day_start_hour);
  const span = { from_ms: start_ms(storm_date) - lead_ms, to_ms: start_ms(addDays(storm_date, 1)) - 1 };
  if (source.kind === 'noaa') {
    const wanted = { ...span, products: source.products };
    const listing = await listSpan(config, wanted);
    return {
      files: listing.listed,
      gather: (root: Root, log: Log): Promise<GatheredFiles> => fetchSpan(wanted, listing, root, log),
    };
  }
  // Companions of the first scans may lie in the folder of the date before.
  const dates = datesThrough(addDays(utcDate(span.from_ms), -1), utcDate(span.to_ms));
  const { files: all, unreadable } = await listFolder(source.folder, dates);
  const files = all.filter((file) => isInSpan(span, file));
  return { files, gather: async (): Promise<GatheredFiles> => ({ files, unknown: [], unreadable, missing: [] }) };
}
