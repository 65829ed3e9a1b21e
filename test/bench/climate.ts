import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { Command } from 'commander';
import { wholeOption } from '../../pipeline/commands/arguments.ts';
import { UsageError } from '../../pipeline/error.ts';
import { openRoot } from '../../pipeline/publish/open-root.ts';
import { addDays, stormDate } from '../../schemas/time.ts';
import { publishClimate } from './publish-climate.ts';

const DAYS_PER_YEAR = 365.25;
const LONGEST_YEARS = 30;
/** One spring month, long over. */
const MAY = { first_date: '2025-05-01', dates: 31, now_ms: Date.parse('2026-01-01T00:00:00Z') };

interface Options {
  readonly out?: string;
  readonly years?: string;
  readonly density: string;
  readonly seed: string;
}

/**
 * Years of simulated climate: rows per second straight into the published tables, over one spring month. With `--out`, years up to
 * yesterday that stay in that data root, for the benches that take `--data`.
 */
export async function climate(args: string[]): Promise<void> {
  const options = new Command('climate')
    .option('--out <folder>', 'data root to publish into; dates that hold data already are left alone')
    .option('--years <number>', 'years up to yesterday (default: May 2025 alone)')
    .option('--density <number>', 'weathers at once, 1 to 10: so many times as much hail', '1')
    .option('--seed <number>', 'another number is other weather', '7')
    .parse(args, { from: 'user' })
    .opts<Options>();
  const density = wholeOption('--density', options.density, 10);
  if (density === 0) throw new UsageError("--density is '0', expected a whole number from 1 to 10");
  const seed = wholeOption('--seed', options.seed, 2 ** 32 - 1);
  const folder =
    options.out === undefined ? await mkdtemp(join(tmpdir(), 'hail-bench-climate-')) : resolve(options.out);
  try {
    await measure(folder, seed, density, options.years === undefined ? MAY : lastYears(options.years));
  } finally {
    if (options.out === undefined) await rm(folder, { recursive: true, force: true });
  }
}

/** Storm dates of so many years up to yesterday. */
function lastYears(text: string): typeof MAY {
  const years = Number(text);
  if (!/^\d+(\.\d+)?$/.test(text) || years <= 0 || years > LONGEST_YEARS)
    throw new UsageError(`--years is '${text}', expected a number of years above 0 and up to ${LONGEST_YEARS}`);
  const dates = Math.max(1, Math.round(years * DAYS_PER_YEAR));
  const now_ms = Date.now();
  return { first_date: addDays(stormDate(now_ms, 0), -dates), dates, now_ms };
}

async function measure(folder: string, seed: number, density: number, { now_ms, ...dates }: typeof MAY): Promise<void> {
  const root = await openRoot(folder, 'bench', 0, now_ms);
  const started = performance.now();
  let detections = 0;
  let days = 0;
  try {
    for await (const day of publishClimate(root, { seed, density, ...dates, storm_day_start_hour: 0 }, now_ms)) {
      detections += day.detections;
      days += 1;
    }
  } finally {
    await root.close();
  }
  const s = (performance.now() - started) / 1000;
  console.log(
    `climate: ${days} days, ${detections} detections in ${s.toFixed(1)} s = ${Math.round(detections / s)} rows/s, ${(s / days).toFixed(2)} s a day`,
  );
}
