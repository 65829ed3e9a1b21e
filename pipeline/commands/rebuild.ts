import { Command } from 'commander';
import type { Config } from '../config.ts';
import { NotFound } from '../error.ts';
import { openLog } from '../log.ts';
import { openRoot } from '../publish/root.ts';
import { startReadPool } from '../run/read-pool.ts';
import { openSession } from '../run/session.ts';
import { calendarDate, counted, readerThreads } from './cli.ts';

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
      const { data_root, log_level, storm_day_start_hour, raw_keep_days, now } = config();
      const log = openLog(log_level, options.progress && process.stderr.isTTY === true);
      const root = await openRoot(data_root, 'hail-pipeline rebuild', storm_day_start_hour, now());
      const readers = startReadPool(readerThreads());
      try {
        if ((root.heads.get(options.date)?.scan_count ?? 0) === 0)
          throw new NotFound('rebuild', options.date, `has no published scans under ${data_root}`);
        const session = openSession(root, readers, {
          storm_day_start_hour,
          now,
          log,
          move_raw: false,
          each_scan: false,
          raw_keep_days,
        });
        const run = await session.rebuild(options.date);
        await session.finishDates();
        log.close();
        process.stdout.write(
          options.json
            ? `${JSON.stringify(run)}\n`
            : `Made ${counted(run.redone + run.scans, 'scan')} of ${run.dates.join(', ')} again.\n`,
        );
      } finally {
        log.close();
        await readers.close();
        await root.close();
      }
    });
}
