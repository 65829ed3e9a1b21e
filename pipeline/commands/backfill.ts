import { resolve } from 'node:path';
import { Command, Option } from 'commander';
import { EXIT, STOP_SIGNALS } from '../../schemas/command-line.ts';
import { addDays, MS_PER_HOUR, stormDate } from '../../schemas/time.ts';
import type { Config } from '../config.ts';
import { UsageError } from '../error.ts';
import { openLog } from '../log.ts';
import { leaveMetrics } from '../metrics/leave-metrics.ts';
import { backfillRoot } from '../run/backfill.ts';
import { planBackfill } from '../run/backfill-plan.ts';
import type { BackfillSource } from '../run/storm-date-files.ts';
import { SCAN_PRODUCTS } from '../sources/plan.ts';
import { calendarDate, productList, readerThreads, wholeNumber } from './arguments.ts';
import { backfillPlanText, backfillText } from './backfill-text.ts';

interface Options {
  readonly from: string;
  readonly to: string;
  readonly source: BackfillSource['kind'];
  readonly folder?: string;
  readonly products?: readonly string[];
  readonly plan?: true;
  readonly workers: number;
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
    .option(
      '--products <list>',
      `products to fetch, comma-separated (default: all of ${SCAN_PRODUCTS.join(',')})`,
      productList,
    )
    .option(
      '--plan',
      'print scans, bytes, requests, hours and dollars, estimated from three listings, and write nothing',
    )
    .option('--workers <number>', 'workers that the estimate assumes', wholeNumber(1, 10_000), 1)
    .option('--json', 'print one JSON object')
    .option('--no-progress', 'no bars, also on a terminal')
    .addHelpText(
      'after',
      `
Examples:
  hail-pipeline backfill --from 2024-01-01 --to 2024-12-31 --source noaa --plan --workers 8
  hail-pipeline backfill --from 2024-05-01 --to 2024-05-31 --source noaa
  hail-pipeline backfill --from 2024-05-01 --to 2024-05-02 --source dir --folder ~/mrms`,
    )
    .action(async (options: Options) => {
      const settings = config();
      const source = sourceOf(options);
      const { from, to, workers } = options;
      requireRange(options, settings);
      if (options.plan) {
        const plan = await planBackfill(settings, { source, from, to, workers });
        process.stdout.write(options.json ? `${JSON.stringify(plan)}\n` : backfillPlanText(plan));
        return;
      }
      const log = openLog(settings.log_level, options.progress && process.stderr.isTTY === true);
      const stop = new AbortController();
      for (const signal of STOP_SIGNALS) process.once(signal, () => stop.abort());
      const request = { source, from, to, threads: readerThreads(), signal: stop.signal };
      const report = await leaveMetrics(settings, { command: 'backfill', log }, (watched) =>
        backfillRoot(settings, { ...request, log: watched }),
      ).finally(log.close);
      process.stdout.write(options.json ? `${JSON.stringify(report)}\n` : backfillText(report));
      if (report.dates.some(({ status, missing }) => status === 'failed' || missing > 0))
        process.exitCode = EXIT.failure;
    });
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

/** Refuses a range that is empty or not over: the date of today belongs to the stream. */
function requireRange({ from, to }: Options, { now, storm_day_start_hour }: Config): void {
  if (to < from) throw new UsageError(`--to is ${to}, expected ${from} (--from) or a later date`);
  // An hour after its end a date is closed.
  const last = addDays(stormDate(now() - MS_PER_HOUR, storm_day_start_hour), -1);
  if (to > last) throw new UsageError(`--to is ${to}, expected a storm date that is over, ${last} at the latest`);
}
