import { Command } from 'commander';
import { counted, EXIT, readableBytes } from '../../schemas/command-line.ts';
import type { Config } from '../config.ts';
import { openEngine } from '../duckdb.ts';
import { NotFound } from '../error.ts';
import { openLog } from '../log.ts';
import { type Verification, verifyRoot } from '../publish/verify.ts';
import { calendarDate } from './arguments.ts';

interface Options {
  readonly date?: string;
  readonly json?: true;
  readonly progress: boolean;
}

/** `hail-pipeline verify`: re-reads all published data. Exit code 5 when it finds a fault. Takes no lock. */
export function verifyCommand(config: () => Config): Command {
  return new Command('verify')
    .description('re-read everything that the manifests list and say what is wrong')
    .option('--date <date>', 'one storm date only', calendarDate)
    .option('--json', 'print one JSON object')
    .option('--no-progress', 'no bars, also on a terminal')
    .addHelpText('after', '\nExamples:\n  hail-pipeline verify\n  hail-pipeline verify --date 2024-05-01 --json')
    .action(async (options: Options) => {
      const { data_root, log_level } = config();
      const log = openLog(log_level, options.progress && process.stderr.isTTY === true);
      const engine = await openEngine();
      try {
        const found = await verifyRoot(engine, data_root, options.date ?? null, (done, total) =>
          log.progress('files', done, total),
        );
        log.close();
        if (options.date !== undefined && found.partitions === 0)
          throw new NotFound(
            'verify',
            options.date,
            `has no manifest under ${data_root}, expected a published storm date`,
          );
        process.stdout.write(options.json ? `${JSON.stringify(found)}\n` : readable(found, data_root));
        if (found.faults.length > 0) process.exitCode = EXIT.check_found;
      } finally {
        log.close();
        engine.close();
      }
    });
}

function readable(found: Verification, dataRoot: string): string {
  const read = `${counted(found.files, 'file')}, ${counted(found.rows, 'row')}, ${readableBytes(found.bytes)} in ${counted(found.partitions, 'partition')}`;
  if (found.files + found.faults.length === 0) return `Nothing is published under ${dataRoot}.\n`;
  if (found.faults.length === 0) return `All is as the manifests say: ${read}.\n`;
  const faults = found.faults.map((fault) => `  ${fault.path}: ${fault.reason}`);
  return `${counted(found.faults.length, 'fault')} in ${read}:\n${faults.join('\n')}\n`;
}
