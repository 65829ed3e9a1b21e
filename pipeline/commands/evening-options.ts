import { LATTICE, LATTICE_BBOX, latRow, lonCol, type Window } from '../../schemas/geo/lattice.ts';
import { parseBbox } from '../../schemas/geo/position.ts';
import { WSR88D } from '../../schemas/reference/wsr88d.ts';
import { MS_PER_HOUR, timestamp } from '../../schemas/time.ts';
import { UsageError } from '../error.ts';
import { SIMULATED_PRODUCTS, type SimulatedProduct } from '../simulate/fields.ts';
import { conusScenario, DAY_TYPES, PLAINS, type Scenario } from '../simulate/scenario.ts';

const LONGEST_HOURS = 24 * 31;

/** Options that select the evening to simulate, as text of the command line. */
export interface EveningWords {
  readonly hours?: string;
  readonly from?: string;
  readonly to?: string;
  readonly region: string;
  readonly dayType?: string;
  readonly products?: string;
}

/** The evening to simulate, from the options. */
export interface Evening {
  readonly from_ms: number;
  readonly to_ms: number;
  readonly scenario: Scenario;
  readonly products: readonly SimulatedProduct[];
}

/** The evening that the options ask for; throws UsageError naming the option that does not fit. */
export function eveningOf(options: EveningWords, seed: number, now_ms: number): Evening {
  const span = spanOf(options, now_ms);
  const scenario = scenarioOf(options, seed);
  return { ...span, scenario, products: simulatedProducts(options.products) };
}

/** Stretch of time asked for: the last hours, or --from with --to or --hours. */
function spanOf(options: EveningWords, now_ms: number): { from_ms: number; to_ms: number } {
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

function scenarioOf(options: EveningWords, seed: number): Scenario {
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
  const box = parseBbox(text, LATTICE_BBOX);
  if (box === 'form') throw new UsageError(`${form} such as -100,33,-94,38`);
  if (box === 'bounds') throw new UsageError(`${form} within ${LATTICE_BBOX}, the grid of the radars`);
  if (box === 'order') throw new UsageError(`${form} with W < E and S < N`);
  const [west, south, east, north] = box;
  const row0 = latRow(north);
  const col0 = lonCol(west);
  const rows = Math.min(LATTICE.rows, latRow(south)) - row0;
  const cols = Math.min(LATTICE.cols, lonCol(east)) - col0;
  if (rows < 50 || cols < 50) throw new UsageError(`${form} of at least half a degree each way`);
  return { row0, col0, rows, cols };
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
