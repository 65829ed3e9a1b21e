import { resolve } from 'node:path';
import { Command, Option } from 'commander';
import { counted, EXIT, grouped } from '../../schemas/command-line.ts';
import type { Config } from '../config.ts';
import { UsageError } from '../error.ts';
import { openLog, silent } from '../log.ts';
import { openPublishedDates } from '../publish/published-dates.ts';
import { type IngestReport, type IngestSource, ingestSource } from '../run/ingest-source.ts';
import { listSpan, utcSpan } from '../scans/bucket-span.ts';
import { type PlannedScan, planIngest } from '../scans/ingest.ts';
import { listFolder } from '../sources/folder.ts';
import { SCAN_PRODUCTS } from '../sources/names.ts';
import { calendarDate, DEFAULT_SEED, plainNumber, productList, readerThreads, wholeNumber } from './arguments.ts';

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
    root: { path, ...(await openPublishedDates(path, storm_day_start_hour)) },
    settings: { storm_day_start_hour, now, raw_keep_days, log: silent },
    dry_run: true,
    archived: new Map(),
    provenances: new Map(),
    reported: new Set<string>(),
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
