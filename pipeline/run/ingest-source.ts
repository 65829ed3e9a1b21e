import { stormDate } from '../../schemas/time.ts';
import type { Config } from '../config.ts';
import type { IngestedFile } from '../feed.ts';
import { readFeedStates, stateAfter, writeFeedStates } from '../feeds/schedule.ts';
import type { ClimatologyReport } from '../forecast/derive-climatology.ts';
import { datesToCount } from '../forecast/hail-dates.ts';
import { type Refreshed, refreshForecast } from '../forecast/refresh.ts';
import type { Log } from '../log.ts';
import type { Root } from '../publish/root.ts';
import { fetchSpan, type GatheredFiles, listSpan, utcSpan } from '../scans/bucket-span.ts';
import type { RunSummary } from '../scans/ingest.ts';
import { listFolder, type UnreadableEntry } from '../sources/folder.ts';
import type { SourceFile } from '../sources/names.ts';
import { type FeedFailure, ingestFeedsOfScanFolder, publishFolderForecast } from './folder-feeds.ts';
import { CLIMATOLOGY_FEED } from './open-feeds.ts';
import { publishSimulatedFeeds, publishSimulatedForecast, simulateHours } from './simulated-weather.ts';
import { withSession } from './with-root.ts';

/** Where an ingest takes raw files from. */
export type IngestSource =
  /** Weather of the last hours, simulated from the newest simulated scan on. */
  | { readonly kind: 'simulate'; readonly seed: number; readonly hours: number }
  | { readonly kind: 'dir'; readonly folder: string }
  /** A UTC date of the public bucket. */
  | { readonly kind: 'noaa'; readonly date: string; readonly products: readonly string[] };

export interface IngestRequest {
  readonly source: IngestSource;
  /** Unpublishes data of the other kind on the same storm dates first. */
  readonly replace: boolean;
  readonly threads: number;
  readonly log: Log;
}

/** Result of an ingest; `ingest --json` prints it. */
export interface IngestReport {
  /** Names that are no raw file of a scan or feed. */
  readonly unknown_files: readonly string[];
  /** Provenance of the data on these dates; null when nothing is published on them. */
  readonly source: string | null;
  /** Storm dates that the files belong to and that hold scans. */
  readonly dates: readonly string[];
  readonly run: RunSummary;
  /** Content of these dates after the run. */
  readonly published: { readonly scans: number; readonly detections: number; readonly cells: number };
  /** Storm dates whose data of the other kind was unpublished. */
  readonly replaced: readonly string[];
  readonly missing_files: GatheredFiles['missing'];
  readonly unreadable_files: readonly UnreadableEntry[];
  /** Reports, warnings, watches and outlooks that came with the scans, by collection: from the folder, or simulated. */
  readonly feed_items: Readonly<Record<string, number>>;
  /** Hours of forecast models that the folder holds. */
  readonly model_hours: number;
  /** Files of feeds and model runs of the folder that could not be used. */
  readonly feed_failures: readonly FeedFailure[];
  /** Dates that the climatology was made from; null when it was not due or could not be made. */
  readonly climatology: ClimatologyReport | null;
  /** Why the climatology could not be made; the data that this run published stays. */
  readonly climatology_failure: string | null;
  readonly swept_files: number;
  readonly seconds: number;
}

/** Reads a source once: gathers its files, publishes their scans, finishes the dates, refreshes the forecast and sweeps the data root. */
export function ingestSource(config: Config, request: IngestRequest): Promise<IngestReport> {
  const { source, replace, threads, log } = request;
  const started = performance.now();
  const needs = { command: 'ingest', threads, move_raw: source.kind !== 'dir', log };
  return withSession(config, needs, async (root, session) => {
    const { files, unknown, unreadable, missing } = await gatherFiles(config, source, root, log);
    for (const { key, reason } of unreadable) log.warn('File:Read:Postponed', { file: key, reason });
    const replaced = replace ? await session.replace(files) : [];
    const run = await session.ingest(files);
    await session.finishDates();
    const simulated = source.kind === 'simulate' ? await publishSimulatedFeeds(root, source, config.now()) : null;
    const touched_dates = run.dates.length > 0 ? run.dates : datesOf(files, config.storm_day_start_hour);
    const is_simulated = touched_dates.some((date) => root.heads.get(date)?.provenance === 'simulated');
    const found =
      source.kind === 'dir'
        ? await ingestFeedsOfScanFolder(root, { ...source, names: unknown, is_simulated, now_ms: config.now(), log })
        : null;
    if (source.kind === 'simulate') await publishSimulatedForecast(root, source.seed, config.now(), log);
    const unpublished = found === null ? [] : await publishFolderForecast(root, found, config.now(), log);
    const refreshed = await refreshForecast(root, config.now(), log);
    if (source.kind === 'simulate' || (is_simulated && (found?.files.length ?? 0) > 0))
      await writeSimulatedClimatologyState(root, config.now(), refreshed);
    await session.expireReflectivity();
    const swept = await session.sweep();
    const heads = touched_dates.flatMap((date) => root.heads.get(date) ?? []).filter((head) => head.scan_count > 0);
    const dates = heads.map((head) => head.partition);
    return {
      source: heads[0]?.provenance ?? null,
      dates,
      run,
      published: await countPublished(root, dates),
      replaced,
      unknown_files: found?.unknown ?? unknown,
      missing_files: missing,
      unreadable_files: unreadable,
      feed_items: itemsOf((simulated ?? found)?.files ?? []),
      model_hours: [...(found?.hours.values() ?? [])].reduce((sum, hours) => sum + hours.length, 0),
      feed_failures: [...(found?.failed ?? []), ...unpublished],
      climatology: refreshed.climatology,
      climatology_failure: climatologyFailure(refreshed),
      swept_files: swept.files,
      seconds: Math.round((performance.now() - started) / 100) / 10,
    };
  });
}

/** Writes that the climatology was made from simulated dates, or why it could not be; nothing while no date is closed. */
export async function writeSimulatedClimatologyState(root: Root, now_ms: number, refreshed: Refreshed): Promise<void> {
  if (datesToCount(root) === null) return;
  const before = (await readFeedStates(root.path)).get(CLIMATOLOGY_FEED.name);
  const state = stateAfter(before, CLIMATOLOGY_FEED, now_ms, climatologyFailure(refreshed));
  await writeFeedStates(root, [{ ...state, source: 'simulated' }]);
}

function climatologyFailure({ failed }: Refreshed): string | null {
  return failed.find(({ table }) => table === 'climatology')?.reason ?? null;
}

/** Rows of some storm dates, as their manifests count them. */
async function countPublished(root: Root, dates: readonly string[]): Promise<IngestReport['published']> {
  const counts = { scans: 0, detections: 0, cells: 0 };
  for (const date of dates) {
    const manifest = await root.manifest(date);
    counts.scans += manifest?.scans.length ?? 0;
    for (const { table, rows } of manifest?.files ?? [])
      if (table === 'detections' || table === 'cells') counts[table] += rows;
  }
  return counts;
}

function itemsOf(files: readonly IngestedFile[]): Record<string, number> {
  const items: Record<string, number> = {};
  for (const { collection, items: count } of files)
    if (collection !== null) items[collection] = (items[collection] ?? 0) + count;
  return items;
}

function datesOf(files: readonly SourceFile[], storm_day_start_hour: number): string[] {
  return [...new Set(files.map((file) => stormDate(file.time_ms, storm_day_start_hour)))].sort();
}

/** The raw files of the source; simulating or fetching them into the inbox first where they are not there. */
async function gatherFiles(config: Config, source: IngestSource, root: Root, log: Log): Promise<GatheredFiles> {
  if (source.kind === 'noaa') {
    const span = utcSpan(source);
    return fetchSpan(span, await listSpan(config, span), root, log);
  }
  if (source.kind === 'simulate') return { ...(await simulateHours(root, source, config.now(), log)), missing: [] };
  return { ...(await listFolder(source.folder)), missing: [] };
}
