import { basename, resolve } from 'node:path';
import { Command, Option } from 'commander';
import { counted, EXIT, grouped } from '../../schemas/command-line.ts';
import { stormDate } from '../../schemas/time.ts';
import type { Config } from '../config.ts';
import { UsageError } from '../error.ts';
import type { IngestedFile } from '../feed.ts';
import { UNKNOWN_KIND } from '../feeds/ingest-files.ts';
import { refreshForecast } from '../forecast/publish-forecast.ts';
import { type Log, openLog, silent } from '../log.ts';
import { openPublished, type Root } from '../publish/root.ts';
import { fetchSpan, type GatheredFiles, listSpan, utcSpan } from '../scans/bucket.ts';
import { type PlannedScan, planIngest } from '../scans/ingest.ts';
import { nothingKnown } from '../scans/raw-archive.ts';
import { listFolder } from '../sources/folder.ts';
import { SCAN_PRODUCTS, type SourceFile } from '../sources/names.ts';
import { calendarDate, DEFAULT_SEED, plainNumber, productList, readerThreads, wholeNumber } from './arguments.ts';
import { publishFeedFolder } from './feeds.ts';
import {
  publishSimulatedFeeds,
  publishSimulatedForecast,
  simulateHours,
  writeSimulatedClimatologyState,
} from './simulated-weather.ts';
import { withSession } from './with-root.ts';

/** A source that can be planned: simulated files do not exist before a run. */
type PlannedSource = Exclude<IngestSource, { kind: 'simulate' }>;

const SOURCES = ['simulate', 'dir', 'noaa'] as const;

interface Options {
  readonly source?: (typeof SOURCES)[number];
  readonly from?: string;
  readonly date?: string;
  readonly products?: readonly string[];
  readonly seed: number;
  readonly hours: number;
  readonly replace?: true;
  readonly plan?: true;
  readonly json?: true;
  readonly progress: boolean;
}

/** `hail-pipeline ingest`: reads a source once and publishes it. */
export function ingestCommand(config: () => Config): Command {
  return new Command('ingest')
    .description('read a source once and publish it; without arguments, simulate the last hours up to now first')
    .addOption(
      new Option(
        '--source <word>',
        'where raw files come from (default: dir with --from, noaa with --date, else simulate)',
      ).choices([...SOURCES]),
    )
    .option(
      '--from <folder>',
      'folder of raw files, in the layout of the bucket or flat, with feeds and model hours; it is only read',
    )
    .option('--date <date>', 'UTC date to fetch from the public bucket', calendarDate)
    .option(
      '--products <list>',
      `products to fetch, comma-separated (default: all of ${SCAN_PRODUCTS.join(',')})`,
      productList,
    )
    .option('--seed <number>', 'number of the simulated weather', wholeNumber(0, 4_294_967_295), DEFAULT_SEED)
    .option('--hours <number>', 'hours of simulated weather before now', plainNumber(0.1, 48), 3)
    .option('--replace', 'take data of the other kind (observed, simulated) off the same storm dates first')
    .option('--plan', 'print the scans that a run would make as JSON lines, and write nothing')
    .option('--json', 'print one JSON object')
    .option('--no-progress', 'no bars, also on a terminal')
    .addHelpText(
      'after',
      `
Examples:
  hail-pipeline ingest                                    simulate three hours that end now, and publish them
  hail-pipeline ingest --source dir --from ~/mrms         publish a folder of MRMS files
  hail-pipeline ingest --plan --from ~/mrms               print what that would do
  hail-pipeline ingest --source noaa --date 2024-05-01    fetch and publish a UTC date of the public bucket`,
    )
    .action(async (options: Options) => {
      const source = sourceOf(options);
      const settings = config();
      if (options.plan) {
        if (source.kind === 'simulate') throw new UsageError('--plan needs --from FOLDER or --date YYYY-MM-DD');
        for (const scan of await planSource(settings, source)) process.stdout.write(`${JSON.stringify(scan)}\n`);
        return;
      }
      const log = openLog(settings.log_level, options.progress && process.stderr.isTTY === true);
      const request = { source, replace: options.replace === true, threads: readerThreads(), log };
      const report = await ingestSource(settings, request).finally(log.close);
      process.stdout.write(
        options.json ? `${JSON.stringify(report)}\n` : ingestText(report, source, settings.data_root),
      );
      // Files that are here are published; missing ones, and a run without any usable file, are a failure.
      if (report.missing_files.length > 0 || isUseless(report)) process.exitCode = EXIT.failure;
    });
}

/** Scans that an ingest would make, from listings and manifests: no file is fetched or written. */
async function planSource(config: Config, source: PlannedSource): Promise<PlannedScan[]> {
  const { data_root: path, storm_day_start_hour, now, raw_keep_days } = config;
  const context = {
    root: { path, ...(await openPublished(path, storm_day_start_hour)) },
    settings: { storm_day_start_hour, now, raw_keep_days, log: silent },
    dry_run: true,
    ...nothingKnown(),
  };
  if (source.kind === 'dir') return planIngest(context, (await listFolder(source.folder)).files);
  const { wanted, archived, belongs } = await listSpan(config, utcSpan(source));
  return planIngest(context, [...wanted, ...archived.filter(belongs)]);
}

/** Options that fit together, or a UsageError before any work. */
function sourceOf(options: Options): IngestSource {
  const word =
    options.source ?? (options.from !== undefined ? 'dir' : options.date !== undefined ? 'noaa' : 'simulate');
  const unfit = (name: keyof Options, needed: string) => {
    if (options[name] !== undefined)
      throw new UsageError(`--${name} goes with --source ${needed}, found --source ${word}`);
  };
  if (word !== 'dir') unfit('from', 'dir');
  if (word !== 'noaa') unfit('date', 'noaa');
  if (options.plan && options.replace) throw new UsageError('--plan does not go with --replace');
  if (word === 'dir') {
    if (options.from === undefined) throw new UsageError('--source dir needs --from FOLDER');
    return { kind: word, folder: resolve(options.from) };
  }
  if (word === 'noaa') {
    if (options.date === undefined) throw new UsageError('--source noaa needs --date YYYY-MM-DD');
    return { kind: word, date: options.date, products: options.products ?? SCAN_PRODUCTS };
  }
  return { kind: word, seed: options.seed, hours: options.hours };
}

/** True when every file of a run was rejected. */
function isUseless({ run }: IngestReport): boolean {
  return run.rejected.length > 0 && run.scans + run.redone + run.skipped + run.unused === 0;
}

/** Result of an ingest in lines for people. */
function ingestText(report: IngestReport, { kind }: IngestSource, data_root: string): string {
  const { run, published, dates, feed_items, model_hours, seconds } = report;
  const simulated = report.source === 'simulated';
  const redone = run.redone > 0 ? `, ${grouped(run.redone)} made again` : '';
  const lines = [
    run.scans + run.redone === 0
      ? `Nothing to do: ${nothingToDo(kind, run)}.`
      : `Published ${counted(run.scans, simulated ? 'simulated scan' : 'scan')}${redone} in ${seconds} s.`,
  ];
  if (published.scans > 0)
    lines.push(
      `${dates.join(', ')}${simulated ? ' (SIMULATED, not observed)' : ''}: ${counted(published.scans, 'scan')}, ${counted(published.detections, 'detection')}, ${counted(published.cells, 'storm cell')} under ${data_root}`,
    );
  const others = Object.entries(feed_items).map(([collection, items]) => `${grouped(items)} in ${collection}`);
  if (model_hours > 0) others.push(counted(model_hours, 'model hour'));
  if (others.length > 0) lines.push(`Also ${others.join(', ')}.`);
  const reasonOf = ({ file, reason }: { readonly file: string; readonly reason: string }) => `${file}: ${reason}`;
  const lists: readonly (readonly [string, readonly string[]])[] = [
    ['rejected, with its reason in inbox/rejected', run.rejected.map(reasonOf)],
    ['could not be fetched; the same command fetches what is missing', report.missing_files.map(reasonOf)],
    [
      'left for a later run',
      [...run.postponed.map(reasonOf), ...report.unreadable_files.map(({ key, reason }) => `${key}: ${reason}`)],
    ],
    ['of feeds not used', report.feed_failures.map(({ name, reason }) => `${name}: ${reason}`)],
    ['not recognised by name', report.unknown_files],
  ];
  for (const [outcome, files] of lists)
    if (files.length > 0)
      lines.push(`${counted(files.length, 'file')} ${outcome}:`, ...files.slice(0, 5).map((file) => `  ${file}`));
  if (published.scans > 0) lines.push('Next: make serve');
  return `${lines.join('\n')}\n`;
}

function nothingToDo(kind: IngestSource['kind'], { skipped, postponed, rejected }: IngestReport['run']): string {
  const all = postponed.length > 0 ? 'every scan that can be made now is' : 'all of them';
  if (skipped > 0 && kind !== 'simulate') return `${counted(skipped, 'scan')} found, ${all} published already`;
  if (postponed.length > 0) return `${counted(postponed.length, 'file')} found that cannot be worked on now`;
  if (rejected.length > 0) return 'no file can be used';
  return kind === 'simulate' ? 'the simulated evening is up to date' : 'no MESH scan found';
}

/** Where an ingest takes raw files from. */
export type IngestSource =
  /** Weather of the last hours, simulated from the newest simulated scan on. */
  | { readonly kind: 'simulate'; readonly seed: number; readonly hours: number }
  | { readonly kind: 'dir'; readonly folder: string }
  /** A UTC date of the public bucket. */
  | { readonly kind: 'noaa'; readonly date: string; readonly products: readonly string[] };

interface IngestRequest {
  readonly source: IngestSource;
  /** Unpublishes data of the other kind on the same storm dates first. */
  readonly replace: boolean;
  readonly threads: number;
  readonly log: Log;
}

/** Result of an ingest; `ingest --json` prints it. */
export type IngestReport = Awaited<ReturnType<typeof ingestSource>>;

/** Reads a source once: gathers its files, publishes their scans, finishes the dates, refreshes the forecast and sweeps the data root. */
export function ingestSource(config: Config, request: IngestRequest) {
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
    const is_simulated = touched_dates.some((date) => root.heads.get(date)?.source === 'simulated');
    const provenance = is_simulated ? 'simulated' : 'observed';
    const found =
      source.kind === 'dir'
        ? await publishFeedFolder(root, source.folder, unknown, provenance, config.now(), log)
        : null;
    if (source.kind === 'simulate') await publishSimulatedForecast(root, source.seed, config.now(), log);
    const refreshed = await refreshForecast(root, config.now(), log);
    if (source.kind === 'simulate' || (is_simulated && found?.files.some(({ collection }) => collection !== null)))
      await writeSimulatedClimatologyState(root, config.now(), refreshed);
    await session.expireReflectivity();
    const swept = await session.sweep();
    const heads = touched_dates.flatMap((date) => root.heads.get(date) ?? []).filter((head) => head.scans.count > 0);
    const dates = heads.map((head) => head.partition);
    const unused = (found?.files ?? []).flatMap(({ name, refused: reason }) =>
      reason === null ? [] : { name, reason },
    );
    const rejected = unused.filter(({ reason }) => reason !== UNKNOWN_KIND);
    const unknown_kind = new Set(unused.filter((file) => !rejected.includes(file)).map(({ name }) => name));
    return {
      /** Provenance of the data on these dates; null when nothing is published on them. */
      source: heads[0]?.source ?? null,
      /** Storm dates that the files belong to and that hold scans. */
      dates,
      run,
      /** Content of these dates after the run. */
      published: await countPublished(root, dates),
      /** Storm dates whose data of the other kind was unpublished. */
      replaced,
      /** Names that are no raw file of a scan or feed. */
      unknown_files: found === null ? unknown : unknown.filter((name) => unknown_kind.has(basename(name))),
      missing_files: missing,
      unreadable_files: unreadable,
      /** Reports, warnings, watches and outlooks that came with the scans, by collection: from the folder, or simulated. */
      feed_items: itemsOf((simulated ?? found)?.files ?? []),
      /** Hours of forecast models that the folder holds. */
      model_hours: found?.model_hours ?? 0,
      /** Files of feeds and model runs of the folder that could not be used. */
      feed_failures: [...rejected, ...(found?.failed ?? []).map(({ feed: name, reason }) => ({ name, reason }))],
      /** Dates that the climatology was made from; null when it was not due or could not be made. */
      climatology: refreshed.climatology,
      /** Why the climatology could not be made; the data that this run published stays. */
      climatology_failure: refreshed.climatology_failure,
      swept_files: swept.files,
      seconds: Math.round((performance.now() - started) / 100) / 10,
    };
  });
}

/** Rows of some storm dates, as their manifests count them. */
async function countPublished(root: Root, dates: readonly string[]) {
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
  for (const { collection, refused, items: count } of files)
    if (collection !== null && refused === null) items[collection] = (items[collection] ?? 0) + count;
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
