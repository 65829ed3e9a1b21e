import { Command } from 'commander';
import { counted, readableBytes } from '../../schemas/command-line.ts';
import { monthOf } from '../../schemas/time.ts';
import type { Config } from '../config.ts';
import { type Log, openLog } from '../log.ts';
import { withSession } from './with-root.ts';

interface Options {
  readonly json?: true;
}

/** `hail-pipeline compact`: does now what a stream does periodically: closes dates, joins months, sweeps. */
export function compactCommand(config: () => Config): Command {
  return new Command('compact')
    .description('close storm dates that are over, join months, draw what is due, and sweep what no list names')
    .option('--json', 'print one JSON object')
    .addHelpText('after', '\nExample:\n  hail-pipeline compact')
    .action(async (options: Options) => {
      const settings = config();
      const report = await compactRoot(settings, openLog(settings.log_level, false));
      process.stdout.write(options.json ? `${JSON.stringify(report)}\n` : compactText(report));
    });
}

function compactText(report: Awaited<ReturnType<typeof compactRoot>>): string {
  const joined = report.joined_months.join(', ') || 'none';
  return `${counted(report.closed_dates, 'closed date')}; months joined: ${joined}; swept ${counted(report.swept_files, 'file')}, ${readableBytes(report.swept_bytes)}.\n`;
}

/** Finishes the dates of a data root, joins closed dates into months and sweeps files that no manifest names. */
export function compactRoot(config: Config, log: Log) {
  return withSession(config, { command: 'compact', threads: 1, move_raw: false, log }, async (root, session) => {
    await session.finishDates();
    const closed = [...root.heads.values()].filter((head) => head.closed).map((head) => head.partition);
    const joined_months: string[] = [];
    for (const month of new Set(closed.map(monthOf))) if (await session.joinMonth(month)) joined_months.push(month);
    const { files, bytes } = await session.sweep();
    /** Storm dates that are closed now, those closed before included. */
    return { closed_dates: closed.length, joined_months, swept_files: files, swept_bytes: bytes };
  });
}
