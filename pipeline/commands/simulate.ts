import { resolve } from 'node:path';
import { Command } from 'commander';
import { counted, readableBytes } from '../../schemas/command-line.ts';
import { LATTICES, latRow, lonCol, type Window } from '../../schemas/geo/lattice.ts';
import { parseBbox } from '../../schemas/geo/position.ts';
import { WSR88D } from '../../schemas/reference/wsr88d.ts';
import { MS_PER_HOUR, timestamp } from '../../schemas/time.ts';
import type { Config } from '../config.ts';
import { UsageError } from '../error.ts';
import { openLog } from '../log.ts';
import { writeAllScans } from '../simulate/evening.ts';
import { SIMULATED_PRODUCTS, type SimulatedProduct } from '../simulate/fields.ts';
import { conusScenario, DAY_TYPES, PLAINS, type Scenario } from '../simulate/scenario.ts';
import { wholeOption } from './arguments.ts';

const LONGEST_HOURS = 24 * 31;

interface Options {
  readonly hours?: string;
  readonly from?: string;
  readonly to?: string;
  readonly region: string;
  readonly dayType?: string;
  readonly products?: string;
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

/** The evening that the options ask for; throws UsageError naming the option that does not fit. */
function eveningOf(options: Options, seed: number, now_ms: number) {
  const span = spanOf(options, now_ms);
  const scenario = scenarioOf(options, seed);
  return { ...span, scenario, products: simulatedProducts(options.products) };
}

/** Stretch of time asked for: the last hours, or --from with --to or --hours. */
function spanOf(options: Options, now_ms: number): { from_ms: number; to_ms: number } {
  const hours = options.hours === undefined ? 3 : hoursOf(options.hours);
  if (options.to !== undefined && options.from === undefined)
    throw new UsageError('--to is given without --from, expected both');
  if (options.to !== undefined && options.hours !== undefined)
    throw new UsageError('--hours and --to are both given, expected one of them');
  if (options.from === undefined) return { from_ms: now_ms - hours * MS_PER_HOUR, to_ms: now_ms };
  const from_ms = instant('--from', options.from);
  const to_ms = options.to === undefined ? from_ms + hours * MS_PER_HOUR : instant('--to', options.to);
  if (to_ms <= from_ms) throw new UsageError(`--to is ${options.to}, expected a time after --from (${options.from})`);
  if (to_ms - from_ms > LONGEST_HOURS * MS_PER_HOUR)
    throw new UsageError(`--to is ${options.to}, expected at most ${LONGEST_HOURS} hours after --from`);
  return { from_ms, to_ms };
}

function hoursOf(text: string): number {
  const hours = Number(text);
  if (!/^\d+(\.\d+)?$/.test(text) || hours <= 0 || hours > LONGEST_HOURS)
    throw new UsageError(`--hours is '${text}', expected a number above 0 and up to ${LONGEST_HOURS}`);
  return hours;
}

function instant(name: string, text: string): number {
  const time_ms = Date.parse(text);
  const whole = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2})?Z$/.test(text);
  if (!whole || Number.isNaN(time_ms) || !timestamp(time_ms).startsWith(text.slice(0, 16)))
    throw new UsageError(`${name} is '${text}', expected an instant that exists, as 2026-05-01T20:00:00Z`);
  return time_ms;
}

function scenarioOf(options: Options, seed: number): Scenario {
  const conus = options.region === 'conus';
  const day_type = dayTypeOf(options.dayType ?? (conus ? 'climate' : 'supercell'));
  if (conus) return conusScenario(seed, day_type, WSR88D);
  const window = options.region === 'plains' ? PLAINS : windowOf(options.region);
  return { seed, window, day_type, steady: day_type !== 'climate', sites: WSR88D };
}

function dayTypeOf(text: string): Scenario['day_type'] {
  const found = [...DAY_TYPES, 'climate' as const].find((type) => type === text);
  if (found === undefined)
    throw new UsageError(`--day-type is '${text}', expected one of ${DAY_TYPES.join(', ')}, climate`);
  return found;
}

/** Window of whole pixels inside the box W,S,E,N. */
function windowOf(text: string): Window {
  const form = `--region is '${text}', expected plains, conus, or W,S,E,N`;
  const box = parseBbox(text, LATTICES.conus.bbox);
  if (box === 'form') throw new UsageError(`${form} such as -100,33,-94,38`);
  if (box === 'bounds') throw new UsageError(`${form} within ${LATTICES.conus.bbox}, the grid of the radars`);
  if (box === 'order') throw new UsageError(`${form} with W < E and S < N`);
  const [west, south, east, north] = box;
  const row0 = latRow(LATTICES.conus, north);
  const col0 = lonCol(LATTICES.conus, west);
  const rows = Math.min(LATTICES.conus.rows, latRow(LATTICES.conus, south)) - row0;
  const cols = Math.min(LATTICES.conus.cols, lonCol(LATTICES.conus, east)) - col0;
  if (rows < 50 || cols < 50) throw new UsageError(`${form} of at least half a degree each way`);
  return { lattice: LATTICES.conus, row0, col0, rows, cols };
}

function simulatedProducts(text: string | undefined): SimulatedProduct[] {
  if (text === undefined) return [...SIMULATED_PRODUCTS];
  const names = text.split(',');
  const chosen = SIMULATED_PRODUCTS.filter((product) => names.includes(product));
  const unknown = names.find((name) => !SIMULATED_PRODUCTS.some((product) => product === name));
  if (unknown !== undefined)
    throw new UsageError(`--products names '${unknown}', expected some of ${SIMULATED_PRODUCTS.join(',')}`);
  return chosen;
}
