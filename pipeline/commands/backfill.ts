import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { Command, Option } from 'commander';
import { counted, EXIT, grouped, STOP_SIGNALS } from '../../schemas/command-line.ts';
import { addDays, datesThrough, MS_PER_HOUR, stormDate } from '../../schemas/time.ts';
import type { Config } from '../config.ts';
import { UsageError } from '../error.ts';
import { type Log, openLog } from '../log.ts';
import { SCAN_PRODUCTS } from '../sources/names.ts';
import { inParallel } from '../sources/parallel.ts';
import { calendarDate, productList, readerThreads, wholeNumber } from './arguments.ts';
import { type BackfillSource, backfillDate, type DateOutcome } from './backfill-date.ts';

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

/** Result of a backfill; `backfill --json` prints it. */
interface BackfillReport {
  readonly dates: readonly DateOutcome[];
  readonly scans: number;
  readonly seconds: number;
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
    .option(
      '--products <list>',
      `products to fetch, comma-separated (default: all of ${SCAN_PRODUCTS.join(',')})`,
      productList,
    )
    .option('--jobs <number>', 'storm dates that are made at the same time, in a process each', wholeNumber(1, 1000), 1)
    .option('--json', 'print one JSON object')
    .option('--no-progress', 'no bars, also on a terminal')
    .addHelpText(
      'after',
      `
Each date is made in a scratch root and handed over to the data root. Its writer publishes the date: a running 'hail-pipeline stream',
or this command. Several computers with one shared data root may backfill different dates.

Examples:
  hail-pipeline backfill --from 2024-05-01 --to 2024-05-31 --source noaa --jobs 4
  hail-pipeline backfill --from 2024-05-01 --to 2024-05-02 --source dir --folder ~/mrms`,
    )
    .action(async (options: Options) => {
      const settings = config();
      const source = sourceOf(options);
      requireRange(options, settings);
      const log = openLog(settings.log_level, options.progress && process.stderr.isTTY === true);
      const stop = new AbortController();
      for (const signal of STOP_SIGNALS) process.once(signal, () => stop.abort());
      const dates = datesThrough(options.from, options.to);
      const begun_ms = performance.now();
      const outcomes =
        dates.length === 1
          ? [
              await backfillDate(settings, {
                ...{ source, log },
                storm_date: options.from,
                threads: readerThreads(),
                signal: stop.signal,
              }),
            ]
          : await backfillDates(dates, options, log, stop.signal);
      log.close();
      const report: BackfillReport = {
        dates: outcomes,
        scans: outcomes.reduce((sum, { scans }) => sum + scans, 0),
        seconds: Math.round((performance.now() - begun_ms) / 100) / 10,
      };
      process.stdout.write(options.json ? `${JSON.stringify(report)}\n` : reportText(report));
      if (outcomes.some(({ status, missing }) => status === 'failed' || status === 'stopped' || missing > 0))
        process.exitCode = EXIT.failure;
    });
}

/** Makes every date in a process of its own, `jobs` at a time. */
function backfillDates(
  dates: readonly string[],
  { source, folder, products, jobs }: Options,
  log: Log,
  signal: AbortSignal,
): Promise<DateOutcome[]> {
  const options = ['--source', source, '--json', '--no-progress'];
  if (folder !== undefined) options.push('--folder', resolve(folder));
  if (products !== undefined) options.push('--products', products.join());
  let done = 0;
  return inParallel(dates, jobs, async (date) => {
    const outcome = await backfillInProcess(date, options, signal);
    done += 1;
    const { status, scans, seconds, reason } = outcome;
    const figures = { date, status, scans, seconds, done, of: dates.length };
    if (reason === null) log.info('Backfill:Date:Done', figures);
    else log.warn('Backfill:Date:Failed', { ...figures, reason });
    log.progress('storm dates', done, dates.length);
    return outcome;
  });
}

async function backfillInProcess(date: string, options: readonly string[], signal: AbortSignal): Promise<DateOutcome> {
  const outcome = { storm_date: date, scans: 0, rejected: 0, missing: 0, seconds: 0 };
  if (signal.aborted) return { ...outcome, status: 'stopped', reason: null };
  const [node, program = ''] = process.argv;
  const args = [...process.execArgv, program, 'backfill', '--from', date, '--to', date, ...options];
  const child = spawn(node ?? process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const stop = () => child.kill('SIGTERM');
  signal.addEventListener('abort', stop);
  try {
    const [output, [code, ended_by]] = await Promise.all([text(child.stdout), once(child, 'close')]);
    const [own] = output === '' ? [] : (JSON.parse(output) as BackfillReport).dates;
    return own ?? { ...outcome, status: 'failed', reason: `its process ended with ${ended_by ?? code}` };
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

/** A report in lines for people. */
function reportText({ dates, scans, seconds }: BackfillReport): string {
  const statuses = Map.groupBy(dates, ({ status }) => status);
  const counts = [...statuses].map(([status, { length }]) => `${counted(length, 'date')} ${status}`);
  const faults = dates.filter(({ status, rejected, missing }) => status === 'failed' || rejected + missing > 0);
  const lines = faults.map(
    ({ storm_date, reason, rejected, missing }) =>
      `  ${storm_date}  ${reason ?? `${counted(rejected, 'file')} rejected, ${counted(missing, 'file')} missing`}`,
  );
  return [`${counted(scans, 'scan')} in ${grouped(seconds)} s; ${counts.join(', ')}.`, ...lines, ''].join('\n');
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
