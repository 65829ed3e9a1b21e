import { resolve } from 'node:path';
import { Command, Option } from 'commander';
import { counted, EXIT, grouped } from '../../schemas/command-line.ts';
import { stormDate } from '../../schemas/time.ts';
import type { Config } from '../config.ts';
import { UsageError } from '../error.ts';
import { UNKNOWN_KIND } from '../feeds/ingest-files.ts';
import { refreshForecast } from '../forecast/publish-forecast.ts';
import { type Log, openLog, silent } from '../log.ts';
import { openPublished, type Root } from '../publish/root.ts';
import { fetchSpan, type GatheredFiles, listSpan, utcSpan } from '../scans/bucket.ts';
import { type PlannedScan, planIngest } from '../scans/ingest.ts';
import { nothingKnown } from '../scans/raw-archive.ts';
import { listFolder } from '../sources/folder.ts';
import { SCAN_PRODUCTS } from '../sources/names.ts';
import { calendarDate, DEFAULT_SEED, plainNumber, productsOption, readerThreads, wholeNumber } from './arguments.ts';
import { publishFeedFolder } from './feeds.ts';
import {
  publishSimulatedFeeds,
  publishSimulatedForecast,
  simulateHours,
  writeSimulatedClimatologyState,
} from './simulated-weather.ts';
import { withSession } from './with-root.ts';

interface Options {
  readonly source?: IngestSource['kind'];
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
      ).choices(['simulate', 'dir', 'noaa']),
    )
    .option(
      '--from <folder>',
      'folder of raw files, in the layout of the bucket or flat, with feeds and model hours; it is only read',
    )
    .option('--date <date>', 'UTC date to fetch from the public bucket', calendarDate)
    .addOption(productsOption())
    .option('--seed <number>', 'number of the simulated weather', wholeNumber(0, 4_294_967_295), DEFAULT_SEED)
    .option('--hours <number>', 'hours of simulated weather before now', plainNumber(0.1, 48), 3)
    .option('--replace', 'take data of the other kind (observed, simulated) off the same storm dates first')
    .option('--plan', 'print the scans that a run would make as JSON lines, and write nothing')
    .option('--json', 'print one JSON object')
    .option('--no-progress', 'no bars, also on a terminal')
    .addHelpText('after', '\nExample:\n  hail-pipeline ingest --from ~/mrms    publish a folder of MRMS files')
    .action(async (options: Options) => {
      const source = sourceOf(options);
      const settings = config();
      if (options.plan) {
        for (const scan of await planSource(settings, source)) process.stdout.write(`${JSON.stringify(scan)}\n`);
        return;
      }
      const log = openLog(settings.log_level, options.progress && process.stderr.isTTY === true);
      const request = { source, replace: options.replace === true, threads: readerThreads(), log };
      const report = await ingestSource(settings, request).finally(log.close);
      process.stdout.write(options.json ? `${JSON.stringify(report)}\n` : ingestText(report, settings.data_root));
      // Files that are here are published; missing ones, and a run without any usable file, are a failure.
      const { rejected, rejected_before, scans, redone, skipped, unused } = report.run;
      const is_useless = rejected.length + rejected_before > 0 && scans + redone + skipped + unused === 0;
      if (report.missing_files.length > 0 || is_useless) process.exitCode = EXIT.failure;
    });
}

/** Scans that an ingest would make, from listings and manifests: no file is fetched or written. */
async function planSource(config: Config, source: IngestSource): Promise<PlannedScan[]> {
  if (source.kind === 'simulate') throw new UsageError('--plan needs --from FOLDER or --date YYYY-MM-DD');
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

/** Result of an ingest for people: one line for the published scans, one for each kind of unused file. */
function ingestText(report: IngestReport, data_root: string): string {
  const { run, source, dates, seconds } = report;
  const scans = counted(run.scans + run.redone, source === 'simulated' ? 'simulated scan' : 'scan');
  const again = run.redone > 0 ? ` (${grouped(run.redone)} of them made again)` : '';
  const done = run.skipped > 0 ? `${counted(run.skipped, 'scan')} published already` : 'no new scan';
  const lines = [
    run.scans + run.redone === 0
      ? `Nothing to do: ${done}.`
      : `Published ${scans}${again} of ${dates.join(', ')} under ${data_root} in ${seconds} s. Next: make serve`,
  ];
  const left: readonly (readonly [string, readonly { readonly file: string; readonly reason: string }[]])[] = [
    ['rejected, with its reason in inbox/rejected', run.rejected],
    ['could not be fetched; the same command fetches what is missing', report.missing_files],
    ['left for a later run', [...run.postponed, ...report.unreadable_files]],
    ['of feeds not used', report.feed_failures],
  ];
  for (const [outcome, files] of left)
    for (const { file, reason } of files.slice(0, 1))
      lines.push(`${counted(files.length, 'file')} ${outcome}: ${file}: ${reason}`);
  if (run.rejected_before > 0)
    lines.push(`${counted(run.rejected_before, 'file')} rejected by an earlier run; see inbox/rejected`);
  return `${lines.join('\n')}\n`;
}

/** Where an ingest takes raw files from. */
type IngestSource =
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
function ingestSource(config: Config, request: IngestRequest) {
  const { source, replace, threads, log } = request;
  const started = performance.now();
  const needs = { command: 'ingest', threads, move_raw: source.kind !== 'dir', log };
  return withSession(config, needs, async (root, session) => {
    const { files, unknown, unreadable, missing } = await gatherFiles(config, source, root, log);
    for (const { key, reason } of unreadable) log.warn('File:Read:Postponed', { file: key, reason });
    if (replace) await session.replace(files);
    const run = await session.ingest(files);
    await session.finishDates();
    if (source.kind === 'simulate') await publishSimulatedFeeds(root, source, config.now());
    const touched =
      run.dates.length > 0 ? run.dates : files.map((file) => stormDate(file.time_ms, config.storm_day_start_hour));
    const heads = [...new Set(touched)].sort().flatMap((date) => root.heads.get(date) ?? []);
    const is_simulated = heads.some((head) => head.source === 'simulated');
    const provenance = is_simulated ? 'simulated' : 'observed';
    const found =
      source.kind === 'dir'
        ? await publishFeedFolder(root, source.folder, unknown, provenance, config.now(), log)
        : null;
    if (source.kind === 'simulate') await publishSimulatedForecast(root, source.seed, config.now(), log);
    const refreshed = await refreshForecast(root, config.now(), log);
    if (source.kind === 'simulate' || (is_simulated && found?.files.some(({ collection }) => collection !== null)))
      await writeSimulatedClimatologyState(root, config.now(), refreshed);
    await session.sweep();
    const published = heads.map(({ partition }) => root.heads.get(partition)).filter((head) => head?.scans.count);
    const refused = (found?.files ?? []).filter((file) => file.refused !== null);
    return {
      /** Provenance of the data on these dates; null when nothing is published on them. */
      source: published[0]?.source ?? null,
      /** Storm dates that the files belong to and that hold scans. */
      dates: published.flatMap((head) => head?.partition ?? []),
      run,
      /** Names that are no raw file of a scan or feed. */
      unknown_files:
        found === null ? unknown : refused.filter((file) => file.refused === UNKNOWN_KIND).map(({ name }) => name),
      missing_files: missing,
      unreadable_files: unreadable.map(({ key: file, reason }) => ({ file, reason })),
      /** Files of feeds and model runs of the folder that could not be used. */
      feed_failures: [
        ...refused.flatMap(({ name: file, refused: reason }) =>
          reason === null || reason === UNKNOWN_KIND ? [] : { file, reason },
        ),
        ...(found?.failed ?? []).map(({ feed: file, reason }) => ({ file, reason })),
      ],
      /** Why the climatology could not be made; the data that this run published stays. */
      climatology_failure: refreshed.climatology_failure,
      seconds: Math.round((performance.now() - started) / 100) / 10,
    };
  });
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
