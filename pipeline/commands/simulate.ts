import { resolve } from 'node:path';
import { Command, Option } from 'commander';
import { WSR88D } from '../../schemas/reference/wsr88d.ts';
import { MS_PER_HOUR, timestamp } from '../../schemas/time.ts';
import type { Config } from '../config.ts';
import { openLog } from '../log.ts';
import { writeFeeds, writeScans } from '../simulate/evening.ts';
import { climateScenario, plainsScenario } from '../simulate/weather.ts';
import { DEFAULT_SEED, plainNumber, wholeNumber } from './arguments.ts';

const SCENARIOS = { supercell: plainsScenario, climate: climateScenario } as const;
const LONGEST_HOURS = 24 * 31;

interface Options {
  readonly out: string;
  readonly seed: number;
  readonly hours: number;
  readonly dayType: keyof typeof SCENARIOS;
}

/** `hail-pipeline simulate`: storms in the formats of the real sources. */
export function simulateCommand(config: () => Config): Command {
  return new Command('simulate')
    .description("write the last hours of simulated storms in the real sources' formats, labelled simulated")
    .requiredOption('--out <folder>', 'folder to write to; it belongs to one evening, which a later run continues')
    .option('--seed <number>', 'number of the simulated weather', wholeNumber(0, 4_294_967_295), DEFAULT_SEED)
    .option('--hours <number>', 'hours that end now', plainNumber(0.01, LONGEST_HOURS), 3)
    .addOption(
      new Option(
        '--day-type <type>',
        'supercell: storms over the Plains at any hour; climate: the whole grid with seasons and times of day',
      )
        .choices(Object.keys(SCENARIOS))
        .default('supercell'),
    )
    .action(async ({ out: folder, seed, hours, dayType }: Options) => {
      const { log_level, now } = config();
      const to_ms = now();
      const evening = { from_ms: to_ms - hours * MS_PER_HOUR, to_ms, out: resolve(folder) };
      const scenario = SCENARIOS[dayType](seed, WSR88D);
      const log = openLog(log_level, process.stderr.isTTY === true);
      let scans = 0;
      for await (const { number, of } of writeScans(scenario, evening)) {
        scans = number;
        log.progress('simulated', number, of);
      }
      await writeFeeds(scenario, evening);
      log.close();
      const span = `${timestamp(evening.from_ms)} to ${timestamp(to_ms)}`;
      process.stdout.write(`${scans} simulated scans of ${span}, reports, warnings and outlooks in ${evening.out}\n`);
    });
}
