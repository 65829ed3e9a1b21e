import { resolve } from 'node:path';
import { Command } from 'commander';
import { LATTICE, latRow, lonCol, type Window } from '../../schemas/geo/lattice.ts';
import { readableBytes } from '../../schemas/readable-bytes.ts';
import { WSR88D } from '../../schemas/reference/wsr88d.ts';
import { addDays, stormDate, timestamp } from '../../schemas/time.ts';
import type { Config } from '../config.ts';
import { UsageError } from '../error.ts';
import { openLog } from '../log.ts';
import { openRoot } from '../publish/root.ts';
import { publishClimate } from '../run/climate.ts';
import { writeEvening } from '../simulate/evening.ts';
import { SIMULATED_PRODUCTS, type SimulatedProduct } from '../simulate/fields.ts';
import { conusScenario, DAY_TYPES, PLAINS, type Scenario } from '../simulate/scenario.ts';
import { measureAcceptance, outside } from '../train/acceptance.ts';
import { formatRows, isAccepted } from '../train/acceptance-table.ts';
import { counted, EXIT, wholeOption } from './cli.ts';

const MS_PER_HOUR = 3_600_000;
const LONGEST_HOURS = 24 * 31;
const LONGEST_YEARS = 30;

interface Options {
  readonly out?: string;
  readonly seed: string;
  readonly hours?: string;
  readonly from?: string;
  readonly to?: string;
  readonly region: string;
  readonly dayType?: string;
  readonly products?: string;
  readonly reports: boolean;
  readonly truth: boolean;
  readonly acceptance: boolean;
  readonly climate?: string;
  readonly density?: string;
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
    .option('--no-reports', 'no ground reports')
    .option('--truth', 'also truth.csv: the storms of every scan as they are', false)
    .option('--acceptance', 'write nothing: measure simulated days and print them beside real ones', false)
    .option(
      '--climate <years>',
      'write no raw files: publish years of daily hail straight into the data root, up to yesterday',
    )
    .option('--density <number>', 'with --climate: so many weathers at once, 1 to 10 (default: 1)')
    .option('--json', 'print one JSON object', false)
    .addHelpText(
      'after',
      `
plains and W,S,E,N have storms at any hour; conus follows the time of day and the season.

Examples:
  hail-pipeline simulate --out evening                               three hours that end now, Plains
  hail-pipeline simulate --out may1 --from 2026-05-01T20:00:00Z --to 2026-05-02T02:00:00Z --seed 7 --truth
  hail-pipeline simulate --out outbreak --region conus --day-type outbreak --products MESH --hours 6
  hail-pipeline simulate --acceptance --seed 3
  hail-pipeline simulate --climate 2                                 two years into the tables, labelled simulated
  hail-pipeline simulate --climate 1 --density 4                     a year of four times as much hail`,
    )
    .action(async (options: Options) => {
      const seed = wholeOption('--seed', options.seed, 2 ** 32 - 1);
      if (options.density !== undefined && options.climate === undefined)
        throw new UsageError('--density is given without --climate, expected both');
      if (options.acceptance) acceptance(seed, options.json);
      else if (options.climate !== undefined)
        await climate(options.climate, seed, densityOf(options.density), options.json, config());
      else await simulate(options, seed, config());
    });
}

async function simulate(options: Options, seed: number, config: Config): Promise<void> {
  if (options.out === undefined) throw new UsageError('--out is missing, expected a folder to write to');
  const { from_ms, to_ms } = span(options, config.now());
  const scenario = scenarioOf(options, seed);
  const products = productList(options.products);
  const out = resolve(options.out);
  const { truth, reports } = options;
  const log = openLog(config.log_level, !options.json && process.stderr.isTTY);
  const total = { scans: 0, files: 0, kept: 0, bytes: 0 };
  for await (const scan of writeEvening(scenario, { from_ms, to_ms, out, products, truth, reports })) {
    total.scans += 1;
    total.files += scan.files;
    total.kept += scan.kept;
    total.bytes += scan.bytes;
    log.progress('simulated', scan.number, scan.of);
  }
  log.close();
  const from = timestamp(from_ms);
  const to = timestamp(to_ms);
  if (options.json) print(JSON.stringify({ out, seed, from, to, window: scenario.window, ...total }));
  else if (total.scans === 0) print(`Nothing to do: no scan falls between ${from} and ${to}.`);
  else
    print(
      `${counted(total.scans, 'simulated scan')} from ${from} to ${to}: ${counted(total.files, 'file')}, ` +
        `${readableBytes(total.bytes)}${total.kept > 0 ? `, ${counted(total.kept, 'file')} there before` : ''} in ${out}`,
    );
}

function acceptance(seed: number, json: boolean): void {
  const parts = measureAcceptance(seed);
  const count = outside(parts);
  if (json) {
    const rows = parts.flatMap(({ title, rows }) =>
      rows.map((row) => ({ part: title, ...row, accepted: isAccepted(row) })),
    );
    print(JSON.stringify({ seed, rows, outside: count }));
  } else {
    for (const { title, rows } of parts) print(`${title}\n${formatRows(rows)}\n`);
    print(count === 0 ? 'All within what is accepted.' : `${counted(count, 'figure')} outside what is accepted.`);
  }
  if (count > 0) process.exitCode = EXIT.check_found;
}

async function climate(text: string, seed: number, density: number, json: boolean, config: Config): Promise<void> {
  const years = Number(text);
  if (!/^\d+(\.\d+)?$/.test(text) || years <= 0 || years > LONGEST_YEARS)
    throw new UsageError(`--climate is '${text}', expected a number of years above 0 and up to ${LONGEST_YEARS}`);
  const dates = Math.max(1, Math.round(years * 365.25));
  const { data_root, storm_day_start_hour, now, log_level } = config;
  const first_date = addDays(stormDate(now(), storm_day_start_hour), -dates);
  const log = openLog(log_level, !json && process.stderr.isTTY);
  const root = await openRoot(data_root, 'hail-pipeline simulate --climate', storm_day_start_hour, now());
  const started = performance.now();
  const total = { dates: 0, detections: 0 };
  try {
    const years = { seed, density, first_date, dates, storm_day_start_hour };
    for await (const day of publishClimate(root, years, now())) {
      total.dates += 1;
      total.detections += day.detections;
      log.progress('storm dates', day.number, day.of);
    }
  } finally {
    log.close();
    await root.close();
  }
  const seconds = Math.round((performance.now() - started) / 100) / 10;
  if (json) print(JSON.stringify({ data_root, seed, density, first: first_date, ...total, seconds }));
  else if (total.dates === 0) print(`Nothing to do: every storm date from ${first_date} on holds data already.`);
  else
    print(
      `Published ${counted(total.dates, 'simulated storm date')} from ${first_date} on, ${counted(total.detections, 'detection')} in ` +
        `${seconds} s under ${data_root}. SIMULATED, not observed.`,
    );
}

function densityOf(text = '1'): number {
  if (!/^([1-9]|10)$/.test(text)) throw new UsageError(`--density is '${text}', expected a whole number from 1 to 10`);
  return Number(text);
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** Stretch of time asked for: the last hours, or --from with --to or --hours. */
function span(options: Options, now_ms: number): { from_ms: number; to_ms: number } {
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
  const parts = text.split(',');
  const [west, south, east, north] = parts.map(Number) as [number, number, number, number];
  const form = `--region is '${text}', expected plains, conus, or W,S,E,N`;
  if (parts.length !== 4 || !parts.every((part) => /^-?\d+(\.\d+)?$/.test(part)))
    throw new UsageError(`${form} such as -100,33,-94,38`);
  if (west < -130 || east > -60 || south < 20 || north > 55)
    throw new UsageError(`${form} within -130,20,-60,55, the grid of the radars`);
  if (west >= east || south >= north) throw new UsageError(`${form} with W < E and S < N`);
  const row0 = latRow(north);
  const col0 = lonCol(west);
  const rows = Math.min(LATTICE.rows, latRow(south)) - row0;
  const cols = Math.min(LATTICE.cols, lonCol(east)) - col0;
  if (rows < 50 || cols < 50) throw new UsageError(`${form} of at least half a degree each way`);
  return { row0, col0, rows, cols };
}

function productList(text: string | undefined): SimulatedProduct[] {
  if (text === undefined) return [...SIMULATED_PRODUCTS];
  const names = text.split(',');
  const chosen = SIMULATED_PRODUCTS.filter((product) => names.includes(product));
  const unknown = names.find((name) => !SIMULATED_PRODUCTS.some((product) => product === name));
  if (unknown !== undefined)
    throw new UsageError(`--products names '${unknown}', expected some of ${SIMULATED_PRODUCTS.join(',')}`);
  return chosen;
}
