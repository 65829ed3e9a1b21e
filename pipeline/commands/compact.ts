import { Command } from 'commander';
import { readableBytes } from '../../schemas/readable-bytes.ts';
import { monthOf } from '../../schemas/time.ts';
import type { Config } from '../config.ts';
import { openLog } from '../log.ts';
import { openRoot } from '../publish/root.ts';
import { startReadPool } from '../run/read-pool.ts';
import { openSession } from '../run/session.ts';
import { counted } from './cli.ts';

interface Options {
  readonly json?: true;
}

/** `hail-pipeline compact`: what a running stream does by itself, at once. */
export function compactCommand(config: () => Config): Command {
  return new Command('compact')
    .description('close storm dates that are over, join months, draw what is due, and sweep what no list names')
    .option('--json', 'print one JSON object')
    .addHelpText('after', '\nExample:\n  hail-pipeline compact')
    .action(async (options: Options) => {
      const { data_root, log_level, storm_day_start_hour, raw_keep_days, now } = config();
      const log = openLog(log_level, false);
      const root = await openRoot(data_root, 'hail-pipeline compact', storm_day_start_hour, now());
      const readers = startReadPool(1);
      try {
        await openSession(root, readers, {
          storm_day_start_hour,
          now,
          log,
          move_raw: false,
          each_scan: false,
          raw_keep_days,
        }).finishDates();
        const closed = [...root.heads.values()].filter((head) => head.closed).map((head) => head.partition);
        const joined: string[] = [];
        for (const month of new Set(closed.map(monthOf))) if (await root.joinMonth(month, now())) joined.push(month);
        // Files carry the time of the machine, whatever the data clock says.
        const swept = await root.sweep(Date.now(), raw_keep_days);
        const result = {
          closed_dates: closed.length,
          joined_months: joined,
          swept_files: swept.files,
          swept_bytes: swept.bytes,
        };
        process.stdout.write(
          options.json
            ? `${JSON.stringify(result)}\n`
            : `${counted(closed.length, 'closed date')}; months joined: ${joined.join(', ') || 'none'}; swept ${counted(swept.files, 'file')}, ${readableBytes(swept.bytes)}.\n`,
        );
      } finally {
        await readers.close();
        await root.close();
      }
    });
}
