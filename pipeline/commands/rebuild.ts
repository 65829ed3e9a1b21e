import { Command } from 'commander';
import { counted } from '../../schemas/command-line.ts';
import type { Config } from '../config.ts';
import { openLog } from '../log.ts';
import { rebuildDate } from '../run/maintain-root.ts';
import { calendarDate, readerThreads } from './arguments.ts';

interface Options {
  readonly date: string;
  readonly json?: true;
  readonly progress: boolean;
}

/** `hail-pipeline rebuild`: makes a storm date again from the raw files that were kept. */
export function rebuildCommand(config: () => Config): Command {
  return new Command('rebuild')
    .description('make every scan of a storm date again from the raw files that were kept')
    .requiredOption('--date <date>', 'storm date', calendarDate)
    .option('--json', 'print one JSON object')
    .option('--no-progress', 'no bars, also on a terminal')
    .addHelpText('after', '\nExample:\n  hail-pipeline rebuild --date 2024-05-01')
    .action(async (options: Options) => {
      const settings = config();
      const log = openLog(settings.log_level, options.progress && process.stderr.isTTY === true);
      const request = { storm_date: options.date, threads: readerThreads(), log };
      const run = await rebuildDate(settings, request).finally(log.close);
      process.stdout.write(
        options.json
          ? `${JSON.stringify(run)}\n`
          : `Made ${counted(run.redone + run.scans, 'scan')} of ${run.dates.join(', ')} again.\n`,
      );
    });
}
