import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { Command, Option } from 'commander';
import { counted, EXIT, STOP_SIGNALS } from '../../schemas/command-line.ts';
import { layout } from '../../schemas/layout.ts';
import { provenanceOfDate } from '../../schemas/manifest.ts';
import { addDays, datesThrough, MS_PER_HOUR, stormDate, stormDateStart, utcDate } from '../../schemas/time.ts';
import type { Config } from '../config.ts';
import { PipelineError, RootHeld, UsageError } from '../error.ts';
import { makeFolder, moveDurably, namesIn } from '../files.ts';
import { type Log, openLog } from '../log.ts';
import { adoptDate, readDateRejection } from '../publish/adopt.ts';
import { readNewest } from '../publish/manifests.ts';
import type { Root } from '../publish/root.ts';
import { fetchSpan, type GatheredFiles, isInSpan, listSpan } from '../scans/bucket.ts';
import { readRejections, withoutKnown } from '../sources/archive.ts';
import { listFolder } from '../sources/folder.ts';
import { pause } from '../sources/http.ts';
import { SCAN_PRODUCTS } from '../sources/names.ts';
import { inParallel } from '../sources/parallel.ts';
import { planScans } from '../sources/plan.ts';
import { calendarDate, productsOption, readerThreads, wholeNumber } from './arguments.ts';
import { withSession } from './with-root.ts';

/** Scans from this long before a date are made first: older tracks at its beginning are rare. */
const LEAD_MS = 2 * MS_PER_HOUR;
/** Time between two tries to publish while another process has the lock of the data root. */
const TRY_EVERY_MS = 1000;

/** Where a backfill takes the raw files of its storm dates from. */
type BackfillSource =
  | { readonly kind: 'dir'; readonly folder: string }
  | { readonly kind: 'noaa'; readonly products: readonly string[] };

interface Options {
  readonly from: string;
  readonly to: string;
  readonly source: BackfillSource['kind'];
  readonly folder?: string;
  readonly products?: readonly string[];
  readonly jobs: number;
  readonly json?: true;
  readonly progress: boolean;
}

/** `hail-pipeline backfill`: publishes the storm dates of a range. */
export function backfillCommand(config: () => Config): Command {
  return new Command('backfill')
    .description('publish the storm dates of a range from the public bucket or a folder; a run that was killed goes on')
    .requiredOption('--from <date>', 'first storm date', calendarDate)
    .requiredOption('--to <date>', 'last storm date', calendarDate)
    .addOption(
      new Option('--source <word>', 'where raw files come from: the public bucket or a folder')
        .choices(['noaa', 'dir'])
        .makeOptionMandatory(),
    )
    .option('--folder <folder>', 'folder of raw files, in the layout of the bucket or flat; it is only read')
    .addOption(productsOption())
    .option('--jobs <number>', 'storm dates that are made at the same time, in a process each', wholeNumber(1, 1000), 1)
    .option('--json', 'print a JSON line for each date')
    .option('--no-progress', 'no bars, also on a terminal')
    .addHelpText(
      'after',
      '\nExample:\n  hail-pipeline backfill --from 2024-05-01 --to 2024-05-31 --source noaa --jobs 4',
    )
    .action(async (options: Options) => {
      const settings = config();
      const source = sourceOf(options);
      requireRange(options, settings);
      const log = openLog(settings.log_level, options.progress && process.stderr.isTTY === true);
      const stop = new AbortController();
      for (const signal of STOP_SIGNALS) process.once(signal, () => stop.abort());
      const dates = datesThrough(options.from, options.to);
      let done = 0;
      const outcomes = await inParallel(dates, options.jobs, async (storm_date) => {
        const request = { config: settings, source, storm_date, log, signal: stop.signal };
        if (dates.length === 1) return backfillDate(request);
        const outcome = await backfillInProcess(storm_date, options, stop.signal);
        log[outcome.status === 'failed' ? 'warn' : 'info']('Backfill:Date:Done', { ...outcome });
        log.progress('storm dates', ++done, dates.length);
        return outcome;
      });
      log.close();
      for (const outcome of outcomes)
        process.stdout.write(options.json ? `${JSON.stringify(outcome)}\n` : outcomeText(outcome));
      if (outcomes.some(({ status, missing }) => status === 'failed' || status === 'stopped' || missing > 0))
        process.exitCode = EXIT.failure;
    });
}

/** Makes a date in a process of its own. */
async function backfillInProcess(
  date: string,
  { source, folder, products }: Options,
  signal: AbortSignal,
): Promise<DateOutcome> {
  const outcome = { storm_date: date, scans: 0, rejected: 0, missing: 0, seconds: 0 };
  if (signal.aborted) return { ...outcome, status: 'stopped', reason: null };
  const args = ['backfill', '--from', date, '--to', date, '--source', source, '--json', '--no-progress'];
  if (folder !== undefined) args.push('--folder', resolve(folder));
  if (products !== undefined) args.push('--products', products.join());
  const program = [...process.execArgv, process.argv[1] ?? '', ...args];
  const child = spawn(process.execPath, program, { stdio: ['ignore', 'pipe', 'inherit'] });
  const stop = () => child.kill('SIGTERM');
  signal.addEventListener('abort', stop);
  try {
    const [output, [code, ended_by]] = await Promise.all([text(child.stdout), once(child, 'close')]);
    if (output !== '') return JSON.parse(output) as DateOutcome;
    return { ...outcome, status: 'failed', reason: `its process ended with ${ended_by ?? code}` };
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

/** Outcome of a date in a line for people. */
function outcomeText({ storm_date, status, scans, rejected, missing, seconds, reason }: DateOutcome): string {
  const faults = rejected + missing > 0 ? `, ${counted(rejected, 'file')} rejected, ${missing} missing` : '';
  const made = status === 'done' ? `: ${counted(scans, 'scan')} in ${seconds} s${faults}` : '';
  return `${storm_date}  ${status}${reason === null ? made : `: ${reason}`}\n`;
}

function sourceOf({ source, folder, products }: Options): BackfillSource {
  if (source === 'dir') {
    if (folder === undefined) throw new UsageError('--source dir needs --folder FOLDER');
    if (products !== undefined) throw new UsageError('--products goes with --source noaa, found --source dir');
    return { kind: source, folder: resolve(folder) };
  }
  if (folder !== undefined) throw new UsageError('--folder goes with --source dir, found --source noaa');
  return { kind: source, products: products ?? SCAN_PRODUCTS };
}

/** Refuses a range that is empty or not over: the stream publishes the date of today. */
function requireRange({ from, to }: Options, { now, storm_day_start_hour }: Config): void {
  if (to < from) throw new UsageError(`--to is ${to}, expected ${from} (--from) or a later date`);
  // An hour after its end a date is closed.
  const last = addDays(stormDate(now() - MS_PER_HOUR, storm_day_start_hour), -1);
  if (to > last) throw new UsageError(`--to is ${to}, expected a storm date that is over, ${last} at the latest`);
}

/** A storm date to publish. */
interface DateRequest {
  readonly config: Config;
  readonly source: BackfillSource;
  readonly storm_date: string;
  readonly log: Log;
  /** Ends the work between two commits. */
  readonly signal: AbortSignal;
}

/** Outcome of one storm date. */
interface DateOutcome {
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

type Outcome = Pick<DateOutcome, 'status'> & Partial<DateOutcome>;

/**
 * Makes a storm date in a scratch root, hands it over to the data root and waits until its writer has published it. Publishes it
 * itself where no other process has the lock. A date whose scans are all published costs a listing.
 */
async function backfillDate(request: DateRequest): Promise<DateOutcome> {
  const begun_ms = performance.now();
  const { storm_date, signal } = request;
  const outcome = await publishStormDate(request).catch((error: unknown): Outcome => {
    if (signal.aborted) return { status: 'stopped' };
    if (!(error instanceof PipelineError)) throw error;
    return { status: 'failed', reason: error.message };
  });
  const seconds = Math.round((performance.now() - begun_ms) / 100) / 10;
  return { storm_date, ...{ scans: 0, rejected: 0, missing: 0, reason: null }, ...outcome, seconds };
}

async function publishStormDate(request: DateRequest): Promise<Outcome> {
  const { storm_date, config } = request;
  const { data_root } = config;
  const finished = await namesIn(join(data_root, layout.finishedDates));
  const left = finished.find((name) => name.startsWith(storm_date));
  if (left !== undefined && !(await publishFinished(request, left))) return { status: 'stopped' };
  const known = await compareWithPublished(request);
  if (known !== 'missing') return { status: known };
  const made = await makeDate(request);
  const name = `${storm_date}-${randomBytes(4).toString('hex')}`;
  await makeFolder(join(data_root, layout.finishedDates));
  await moveDurably(join(data_root, layout.work(storm_date)), join(data_root, layout.finishedDate(name)));
  const isPublished = await publishFinished(request, name);
  const reason = await readDateRejection(data_root, name);
  if (reason !== null) return { ...made, status: 'failed', reason };
  return isPublished ? made : { ...made, status: 'stopped' };
}

/** `published` for a closed date of the data root that holds every scan of the source, made from the same files. */
async function compareWithPublished({ config, source, storm_date }: DateRequest) {
  const { data_root } = config;
  const { files } = await listStormDate(config, source, storm_date);
  const { scans } = planScans(files);
  if (scans.length === 0) return 'empty';
  const published = await readNewest(data_root, storm_date);
  if (published?.closed !== true) return 'missing';
  const inputs = new Map(published.scans.map((scan) => [scan.scan_id, scan.inputs]));
  const rejections = await readRejections(data_root, provenanceOfDate(storm_date, published.source), files);
  const wanted = planScans(withoutKnown(files, [], rejections)).scans;
  return wanted.every((scan) => inputs.get(scan.scan_id) === scan.inputs) ? 'published' : 'missing';
}

/** Makes and closes a storm date in its scratch root. A killed run left it there: its scans are kept. */
async function makeDate({ config, source, storm_date, log, signal }: DateRequest): Promise<Outcome> {
  const scratch = join(config.data_root, layout.work(storm_date));
  const own = { ...config, data_root: scratch, raw_keep_days: null };
  const needs = { command: 'backfill', threads: readerThreads(), move_raw: source.kind === 'noaa', log, signal };
  try {
    return await withSession(own, needs, async (root, session): Promise<Outcome> => {
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
    if (!(error instanceof RootHeld) && !signal.aborted) await rm(scratch, { recursive: true, force: true });
    throw error;
  }
}

/**
 * Publishes all finished dates of the inbox, and then the months and the climatology made of them. Waits while another process has
 * the lock, which may publish them, too. False when the signal ends the wait for the date `name`.
 */
async function publishFinished({ config, log, signal }: DateRequest, name: string): Promise<boolean> {
  const isWaiting = async () => (await namesIn(join(config.data_root, layout.finishedDates))).includes(name);
  const needs = { command: 'backfill', threads: readerThreads(), move_raw: false, log };
  let holder: string | null = null;
  while (await isWaiting()) {
    if (signal.aborted) return false;
    try {
      await withSession(config, needs, async (root, session) => {
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
    const gather = (root: Root, log: Log): Promise<GatheredFiles> => fetchSpan(wanted, listing, root, log);
    return { files: listing.listed, gather };
  }
  // Companions of the first scans may lie in the folder of the date before.
  const dates = datesThrough(addDays(utcDate(span.from_ms), -1), utcDate(span.to_ms));
  const { files: all, unreadable } = await listFolder(source.folder, dates);
  const files = all.filter((file) => isInSpan(span, file));
  return { files, gather: async (): Promise<GatheredFiles> => ({ files, unknown: [], unreadable, missing: [] }) };
}
