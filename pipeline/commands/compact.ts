import { Command } from 'commander';
import { counted, readableBytes } from '../../schemas/command-line.ts';
import type { Config } from '../config.ts';
import { openLog } from '../log.ts';
import { type CompactReport, compactRoot } from '../run/maintain-root.ts';

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

function compactText({ closed_dates, joined_months, swept_files, swept_bytes }: CompactReport): string {
  const joined = joined_months.join(', ') || 'none';
  return `${counted(closed_dates, 'closed date')}; months joined: ${joined}; swept ${counted(swept_files, 'file')}, ${readableBytes(swept_bytes)}.\n`;
}
