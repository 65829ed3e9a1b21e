import { mkdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { Command, Option } from 'commander';
import { layout } from '../../schemas/layout.ts';
import { readableBytes } from '../../schemas/readable-bytes.ts';
import { WSR88D } from '../../schemas/reference/wsr88d.ts';
import { sizeCategory } from '../../schemas/size.ts';
import { addDays, stormDate } from '../../schemas/time.ts';
import { MM_PER_INCH } from '../../schemas/units.ts';
import type { Config } from '../config.ts';
import { PipelineError, UsageError } from '../error.ts';
import { type Log, openLog } from '../log.ts';
import { newestScan } from '../publish/live-window.ts';
import { openRoot, type Root } from '../publish/root.ts';
import { type DatesSummary, summarize } from '../publish/summary.ts';
import type { RunSummary } from '../run/ingest-run.ts';
import { startReadPool } from '../run/read-pool.ts';
import { openSession } from '../run/session.ts';
import { writeEvening } from '../simulate/evening.ts';
import { defaultScenario } from '../simulate/scenario.ts';
import { listArchive, readRejections, withoutKnown } from '../sources/archive.ts';
import { downloadAll, listBucket } from '../sources/bucket.ts';
import { listFolder } from '../sources/folder.ts';
import type { Arrival } from '../sources/inbox.ts';
import type { SourceFile } from '../sources/names.ts';
import { DEFAULT_PRODUCTS, lookBack } from '../sources/plan.ts';
import { calendarDate, counted, EXIT, grouped, plainNumber, productList, readerThreads, wholeNumber } from './cli.ts';

const SOURCES = ['simulate', 'dir', 'noaa'] as const;
const MS_PER_HOUR = 60 * 60_000;
const MS_PER_DAY = 24 * MS_PER_HOUR;
/** Weather that `make ingest` shows when nobody asks for another. */
export const DEFAULT_SEED = 7;

interface Options {
  readonly source?: (typeof SOURCES)[number];
  readonly from?: string;
  readonly date?: string;
  readonly products?: readonly string[];
  readonly seed: number;
  readonly hours: number;
  readonly replace?: true;
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
    .option('--from <folder>', 'folder of raw files, in the layout of the bucket or flat; it is only read')
    .option('--date <date>', 'UTC date to fetch from the public bucket', calendarDate)
    .option(
      '--products <list>',
      `products to fetch, comma-separated (default: ${DEFAULT_PRODUCTS.join(',')})`,
      productList,
    )
    .option('--seed <number>', 'number of the simulated weather', wholeNumber(0, 4_294_967_295), DEFAULT_SEED)
    .option('--hours <number>', 'hours of simulated weather before now', plainNumber(0.1, 48), 3)
    .option('--replace', 'take data of the other kind (observed, simulated) off the same storm dates first')
    .option('--json', 'print one JSON object')
    .option('--no-progress', 'no bars, also on a terminal')
    .addHelpText(
      'after',
      `
Examples:
  hail-pipeline ingest                                    simulate three hours that end now, and publish them
  hail-pipeline ingest --source dir --from ~/mrms         publish a folder of MRMS files
  hail-pipeline ingest --source noaa --date 2024-05-01    fetch and publish a UTC date of the public bucket`,
    )
    .action(async (options: Options) => {
      await ingest(config(), checked(options));
    });
}

type Source = { kind: 'simulate' } | { kind: 'dir'; folder: string } | { kind: 'noaa'; date: string };
type Checked = Omit<Options, 'source'> & { readonly input: Source };

/** Options that fit together, or a UsageError before any work. */
function checked(options: Options): Checked {
  const word =
    options.source ?? (options.from !== undefined ? 'dir' : options.date !== undefined ? 'noaa' : 'simulate');
  const unfit = (name: keyof Options, needed: string) => {
    if (options[name] !== undefined)
      throw new UsageError(`--${name} goes with --source ${needed}, found --source ${word}`);
  };
  if (word !== 'dir') unfit('from', 'dir');
  if (word !== 'noaa') unfit('date', 'noaa');
  if (word === 'dir') {
    if (options.from === undefined) throw new UsageError('--source dir needs --from FOLDER');
    return { ...options, input: { kind: 'dir', folder: resolve(options.from) } };
  }
  if (word === 'noaa') {
    if (options.date === undefined) throw new UsageError('--source noaa needs --date YYYY-MM-DD');
    return { ...options, input: { kind: 'noaa', date: options.date } };
  }
  return { ...options, input: { kind: 'simulate' } };
}

async function ingest(config: Config, options: Checked): Promise<void> {
  const started = performance.now();
  const log = openLog(config.log_level, options.progress && process.stderr.isTTY === true);
  const root = await openRoot(config.data_root, 'hail-pipeline ingest', config.storm_day_start_hour, config.now());
  const readers = startReadPool(readerThreads());
  try {
    const session = openSession(root, readers, {
      storm_day_start_hour: config.storm_day_start_hour,
      now: config.now,
      log,
      move_raw: options.input.kind !== 'dir',
      each_scan: false,
      raw_keep_days: config.raw_keep_days,
    });
    const { files, unknown, unreadable, missing } = await gather(config, options, root, log);
    for (const { key, reason } of unreadable) log.warn('File:Read:Postponed', { file: key, reason });
    const replaced = options.replace ? await session.replace(files) : [];
    const run = await session.ingest(files);
    await session.finishDates();
    // Files carry the time of the machine, whatever the data clock says.
    const swept = await root.sweep(Date.now(), config.raw_keep_days);
    const touched = run.dates.length > 0 ? run.dates : datesOf(files, config);
    const heads = touched.flatMap((date) => root.heads.get(date) ?? []).filter((head) => head.scan_count > 0);
    const dates = heads.map((head) => head.partition);
    const summary = await summarize(root, dates);
    log.close();
    const seconds = Math.round((performance.now() - started) / 100) / 10;
    const provenance = heads[0]?.provenance ?? null;
    const result = {
      ...{
        source: provenance,
        dates,
        run,
        published: summary,
        replaced,
        unknown_files: unknown,
        missing_files: missing,
        unreadable_files: unreadable,
        swept_files: swept.files,
        seconds,
      },
    };
    process.stdout.write(
      options.json
        ? `${JSON.stringify(result)}\n`
        : tell(config, options, run, summary, dates, provenance, { unknown, unreadable, missing }, seconds),
    );
    // What is there is published, and yet it is not all that was asked for.
    if (missing.length > 0) process.exitCode = EXIT.failure;
  } finally {
    log.close();
    await readers.close();
    await root.close();
  }
}

function datesOf(files: readonly SourceFile[], config: Config): string[] {
  return [...new Set(files.map((file) => stormDate(file.time_ms, config.storm_day_start_hour)))].sort();
}

/** A file that the source lists and does not deliver. */
interface Missing {
  readonly file: string;
  readonly reason: string;
}

interface Gathered extends Arrival {
  readonly missing: readonly Missing[];
}

/** The raw files of the source; simulating or fetching them into the inbox first where they are not there. */
async function gather(config: Config, options: Checked, root: Root, log: Log): Promise<Gathered> {
  switch (options.input.kind) {
    case 'dir':
      return { ...(await listFolder(options.input.folder)), missing: [] };
    case 'noaa':
      return fetchDate(config, options.input.date, options.products ?? DEFAULT_PRODUCTS, root, log);
    case 'simulate':
      return simulate(config, options, root, log);
  }
}

async function fetchDate(
  config: Config,
  date: string,
  products: readonly string[],
  root: Root,
  log: Log,
): Promise<Gathered> {
  const from_ms = Date.parse(`${date}T00:00:00Z`);
  const listing = await listBucket({ base_url: config.mrms_url, products, from_ms, to_ms: from_ms + MS_PER_DAY - 1 });
  const kept = await listArchive(root.path, 'observed', [addDays(date, -1), date]);
  const wanted = withoutKnown(listing.files, kept, await readRejections(root.path, 'observed'));
  let done = 0;
  const folder = join(root.path, layout.inbox('noaa'));
  await mkdir(folder, { recursive: true });
  const { failed } = await downloadAll({
    files: wanted,
    folder,
    onFile: () => log.progress('files', ++done, wanted.length),
  });
  for (const { file, error } of failed) log.warn('File:Fetch:Failed', { file: file.key, reason: error.message });
  // What a killed run had fetched or kept without publishing it is part of the date, too.
  const to_ms = from_ms + MS_PER_DAY - 1;
  // The first scans of a date take companions from before midnight.
  const belongs = ({ product, time_ms }: SourceFile) => time_ms >= from_ms - lookBack(product) && time_ms <= to_ms;
  const fetched = await listFolder(folder);
  const here = [...fetched.files, ...kept].filter(belongs);
  if (here.length === 0 && failed.length > 0)
    throw new PipelineError(
      'sources',
      date,
      `none of ${wanted.length} files could be fetched, the first because ${failed[0]?.error.message}`,
    );
  const missing = failed.map(({ file, error }) => ({ file: file.key, reason: error.message }));
  return { files: here, unknown: listing.unknown, unreadable: fetched.unreadable, missing };
}

/** Simulates what is missing of the hours up to now: an hour later the same evening goes on. */
async function simulate(config: Config, options: Checked, root: Root, log: Log): Promise<Gathered> {
  const to_ms = config.now();
  const newest_ms = newestScan([...root.heads.values()].filter((head) => head.provenance === 'simulated')) ?? 0;
  const from_ms = Math.max(to_ms - options.hours * MS_PER_HOUR, Math.min(newest_ms + 1000, to_ms));
  const out = join(root.path, layout.inbox('simulated'));
  for await (const scan of writeEvening(defaultScenario(options.seed, WSR88D), { from_ms, to_ms, out }))
    log.progress('simulated', scan.number, scan.of);
  return { ...(await listFolder(out)), unknown: [], missing: [] };
}

function tell(
  config: Config,
  options: Checked,
  run: RunSummary,
  summary: DatesSummary,
  dates: readonly string[],
  provenance: string | null,
  { unknown, unreadable, missing }: Pick<Gathered, 'unknown' | 'unreadable' | 'missing'>,
  seconds: number,
): string {
  const lines: string[] = [];
  const line = (label: string, text: string) => lines.push(`  ${label.padEnd(13)} ${text}`);
  if (run.scans + run.redone === 0) {
    lines.push(`Nothing to do: ${nothingToDo(options, run)}.`);
  } else {
    const redone = run.redone > 0 ? `, ${grouped(run.redone)} made again` : '';
    lines.push(
      `Published ${counted(run.scans, provenance === 'simulated' ? 'simulated scan' : 'scan')}${redone} in ${seconds} s.`,
    );
  }
  if (summary.scans > 0) {
    const size = summary.max_size_mm;
    lines.push(
      '',
      `Storm date${dates.length === 1 ? '' : 's'} ${dates.join(', ')}${provenance === 'simulated' ? '  (SIMULATED, not observed)' : ''}`,
    );
    line('scans', grouped(summary.scans));
    line('detections', `${grouped(summary.detections)} pixels of 10 mm and more`);
    line('storm cells', grouped(summary.cells));
    line('tracks', grouped(summary.tracks));
    line('swath tiers', summary.tiers_mm.length === 0 ? 'none' : `${summary.tiers_mm.join(', ')} mm`);
    if (size !== null)
      line(
        'largest hail',
        `${size.toFixed(1)} mm  (${(size / MM_PER_INCH).toFixed(2)} in, ${sizeCategory(size)?.replace('_', ' ') ?? 'below nickel'})`,
      );
    line('files', `${grouped(summary.files)}, ${readableBytes(summary.bytes)} under ${config.data_root}`);
  }
  if (run.rejected.length > 0) {
    lines.push(
      '',
      `${counted(run.rejected.length, 'file')} put aside under ${join(config.data_root, 'inbox/rejected')}:`,
    );
    for (const { file, reason } of run.rejected.slice(0, 5)) lines.push(`  ${file}: ${reason}`);
    if (run.rejected.length > 5) lines.push(`  and ${run.rejected.length - 5} more`);
  }
  if (missing.length > 0) {
    lines.push(
      '',
      `${counted(missing.length, 'file')} could not be fetched; the same command fetches what is missing:`,
    );
    for (const { file, reason } of missing.slice(0, 5)) lines.push(`  ${file}: ${reason}`);
    if (missing.length > 5) lines.push(`  and ${missing.length - 5} more`);
  }
  const waiting = [
    ...run.postponed.map(({ file, reason }) => `${file}: ${reason}`),
    ...unreadable.map(({ key, reason }) => `${key}: ${reason}`),
  ];
  if (waiting.length > 0) {
    lines.push('', `${counted(waiting.length, 'file')} left where found, for a later run:`);
    for (const one of waiting.slice(0, 5)) lines.push(`  ${one}`);
    if (waiting.length > 5) lines.push(`  and ${waiting.length - 5} more`);
  }
  if (run.unused > 0) lines.push('', `${counted(run.unused, 'file')} of other products kept, used by no scan.`);
  if (unknown.length > 0)
    lines.push('', `${counted(unknown.length, 'file')} not recognised by name and left alone, such as ${unknown[0]}.`);
  const last = dates.at(-1);
  if (last !== undefined && summary.scans > 0) {
    lines.push('', 'Next:');
    lines.push(
      '  make serve                                                answer questions about it; the map is at /viewer',
    );
    lines.push(`  npx hail-pipeline picture --date ${last} --out day.svg   draw the day`);
    lines.push('  npx hail-pipeline verify                                  re-read everything published');
    lines.push(
      options.input.kind === 'simulate'
        ? '  make ingest                                               again: the evening goes on'
        : '  make stream                                               keep following a source',
    );
  }
  return `${lines.join('\n')}\n`;
}

function nothingToDo({ input }: Checked, { skipped, postponed }: RunSummary): string {
  const all = postponed.length > 0 ? 'every scan that can be made now is' : 'all of them';
  if (skipped > 0 && input.kind !== 'simulate') return `${counted(skipped, 'scan')} found, ${all} published already`;
  if (postponed.length > 0) return `${counted(postponed.length, 'file')} found that cannot be worked on now`;
  return input.kind === 'simulate' ? 'the simulated evening is up to date' : 'no MESH scan found';
}
