import { resolve } from 'node:path';
import { Command } from 'commander';
import { counted, readableBytes } from '../../schemas/command-line.ts';
import { timestamp } from '../../schemas/time.ts';
import type { Config } from '../config.ts';
import { UsageError } from '../error.ts';
import { openLog } from '../log.ts';
import { writeAllScans } from '../simulate/evening.ts';
import { SIMULATED_PRODUCTS } from '../simulate/fields.ts';
import { DAY_TYPES } from '../simulate/scenario.ts';
import { wholeOption } from './arguments.ts';
import { type EveningWords, eveningOf } from './evening-options.ts';

interface Options extends EveningWords {
  readonly out?: string;
  readonly seed: string;
  readonly feeds: boolean;
  readonly truth: boolean;
  readonly json: boolean;
}

/** `hail-pipeline simulate`: storm evenings in the formats of the real sources. */
export function simulateCommand(config: () => Config): Command {
  return new Command('simulate')
    .description("write storm evenings in the real sources' formats, labelled simulated")
    .option('--out <folder>', 'folder to write to; it belongs to one evening, which a later run continues')
    .option('--seed <number>', 'another number is other weather', '1')
    .option('--hours <number>', 'hours that end now (default: 3)')
    .option('--from <time>', 'first instant, ISO 8601 in UTC such as 2026-05-01T20:00:00Z')
    .option('--to <time>', 'end, ISO 8601 in UTC')
    .option('--region <region>', 'plains, conus, or W,S,E,N in degrees', 'plains')
    .option('--day-type <type>', `${DAY_TYPES.join(', ')}, or climate (default: supercell; conus: climate)`)
    .option('--products <list>', `comma-separated, of ${SIMULATED_PRODUCTS.join(',')}`)
    .option('--no-feeds', 'no reports, warnings, watches, outlooks and model hours')
    .option('--truth', 'also truth.csv: the storms of every scan as they are', false)
    .option('--json', 'print one JSON object', false)
    .addHelpText(
      'after',
      `
plains and W,S,E,N have storms at any hour; conus follows the time of day and the season.

Examples:
  hail-pipeline simulate --out evening                               three hours that end now, Plains
  hail-pipeline simulate --out may1 --from 2026-05-01T20:00:00Z --to 2026-05-02T02:00:00Z --seed 7 --truth
  hail-pipeline simulate --out outbreak --region conus --day-type outbreak --products MESH --hours 6`,
    )
    .action(async (options: Options) => {
      const seed = wholeOption('--seed', options.seed, 2 ** 32 - 1);
      await simulate(options, seed, config());
    });
}

async function simulate(options: Options, seed: number, config: Config): Promise<void> {
  if (options.out === undefined) throw new UsageError('--out is missing, expected a folder to write to');
  const { scenario, ...evening } = eveningOf(options, seed, config.now());
  const out = resolve(options.out);
  const { truth, feeds } = options;
  const log = openLog(config.log_level, !options.json && process.stderr.isTTY);
  const total = await writeAllScans(scenario, { ...evening, out, truth, feeds }, ({ number, of }) =>
    log.progress('simulated', number, of),
  );
  log.close();
  const from = timestamp(evening.from_ms);
  const to = timestamp(evening.to_ms);
  if (options.json) print(JSON.stringify({ out, seed, from, to, window: scenario.window, ...total }));
  else if (total.scans === 0) print(`Nothing to do: no scan falls between ${from} and ${to}.`);
  else
    print(
      `${counted(total.scans, 'simulated scan')} from ${from} to ${to}: ${counted(total.files, 'file')}, ` +
        `${readableBytes(total.bytes)}${total.kept > 0 ? `, ${counted(total.kept, 'file')} there before` : ''} in ${out}`,
    );
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}
