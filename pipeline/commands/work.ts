import { Command } from 'commander';
import { counted, STOP_SIGNALS } from '../../schemas/command-line.ts';
import type { Config } from '../config.ts';
import { openLog } from '../log.ts';
import { work } from '../run/work.ts';
import { readerThreads } from './arguments.ts';

interface Options {
  readonly untilDone?: true;
  readonly json?: true;
}

/** `hail-pipeline work`: makes storm dates of backfills, together with other workers. */
export function workCommand(config: () => Config): Command {
  return new Command('work')
    .description('make storm dates of backfills and publish them in the store, together with workers on any machine')
    .option('--until-done', 'end when every date is done or has failed; otherwise wait for more until it is stopped')
    .option('--json', 'print one JSON object at the end')
    .addHelpText(
      'after',
      `
Settings: HAIL_STORE_URL and HAIL_DATABASE_URL, the same for all; HAIL_DATA is a folder for the date at hand.

Example:
  hail-pipeline work --until-done`,
    )
    .action(async (options: Options) => {
      const settings = config();
      const stop = new AbortController();
      for (const signal of STOP_SIGNALS) process.once(signal, () => stop.abort());
      const log = openLog(settings.log_level, false);
      const { signal } = stop;
      const request = { threads: readerThreads(), log, signal, until_done: options.untilDone === true };
      const report = await work(settings, request);
      process.stdout.write(
        options.json
          ? `${JSON.stringify(report)}\n`
          : `Made ${counted(report.dates, 'storm date')} with ${counted(report.scans, 'scan')}; ${counted(report.failed, 'attempt')} failed.\n`,
      );
    });
}
