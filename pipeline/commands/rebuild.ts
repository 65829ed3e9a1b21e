import { Command } from 'commander';
import { counted } from '../../schemas/command-line.ts';
import type { Config } from '../config.ts';
import { NotFound } from '../error.ts';
import { type Log, openLog } from '../log.ts';
import type { RunSummary } from '../scans/ingest.ts';
import { calendarDate, readerThreads } from './arguments.ts';
import { withSession } from './with-root.ts';

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

/** Makes every scan of a storm date again from the archive and finishes the date; NotFound when it has no published scan. */
export function rebuildDate(
  config: Config,
  { storm_date, threads, log }: { readonly storm_date: string; readonly threads: number; readonly log: Log },
): Promise<RunSummary> {
  return withSession(config, { command: 'rebuild', threads, move_raw: false, log }, async (root, session) => {
    if ((root.heads.get(storm_date)?.scans.count ?? 0) === 0)
      throw new NotFound('rebuild', storm_date, `has no published scans under ${config.data_root}`);
    const run = await session.rebuild(storm_date);
    await session.finishDates();
    return run;
  });
}
