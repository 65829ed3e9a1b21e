import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { UsageError } from '../../pipeline/error.ts';
import type { HailField } from '../../pipeline/grid.ts';
import { hailField, readGrid } from '../../pipeline/read/mrms.ts';
import { median } from '../../pipeline/track/motion.ts';
import type { Position } from '../../schemas/geo/position.ts';
import { NOWCAST_LEADS } from '../../schemas/resources/nowcast.ts';
import { MS_PER_MIN, timestamp, utcDate } from '../../schemas/time.ts';
import { hasHailMask, patternField, STAND_INS, type StandIn, standInScan } from '../support/data/hail-mask.ts';
import { type BenchCase, casesOf, isSeen } from './nowcast-cases.ts';

/** A longer gap divides frames into evenings. */
const GAP_MIN = 30;
/** Tracks of three scans have a motion of their own: points are asked for from the third on. */
const PAST_FRAMES = 2;
/** An answer goes by a scan that is up to so old: radar reaches the service typically within 5 minutes. */
export const SCAN_AGE_MAX_MIN = 5;
/** Frames are late or early by so much. */
const JITTER_MIN = 0.5;
/**
 * Storms of a region hang together, and larger blocks claim less. Only some sizes were compared, on few blocks: intervals may still
 * be too narrow.
 */
const REGION_DEG = 3;

/** A real frame of rain rates, mm/h in tenths. */
export interface RainFrame {
  readonly scan_time: number;
  readonly rates: HailField;
}

/** Frames without a long gap, each window in order of time: what learnt from one evening knows nothing of another. */
export interface Evening {
  /** Its date, with a time where a date has several. */
  readonly name: string;
  readonly sequences: readonly (readonly RainFrame[])[];
}

/** The rain-rate files of a folder, in order of time. */
export function rainFrames(folder: string): RainFrame[] {
  const names = readdirSync(folder).filter((name) => name.includes('PrecipRate') && /\.grib2(\.gz)?$/.test(name));
  if (names.length < 2)
    throw new UsageError(`--real ${folder} holds ${names.length} PrecipRate files, expected at least 2`);
  return names
    .map((name) => {
      const grid = readGrid(readFileSync(join(folder, name)), name);
      return { scan_time: grid.scan_time, rates: hailField(grid) };
    })
    .sort(byTime);
}

/** Frames at least `every_min` apart, from the first on. */
export function thinned(frames: readonly RainFrame[], every_min: number): RainFrame[] {
  let next_ms = Number.NEGATIVE_INFINITY;
  return frames.filter(({ scan_time }) => {
    if (scan_time < next_ms) return false;
    next_ms = scan_time + (every_min - JITTER_MIN) * MS_PER_MIN;
    return true;
  });
}

/** Evenings of frames of any folders: a gap of more than 30 minutes divides them. Throws when a frame comes twice. */
export function eveningsOf(frames: readonly RainFrame[]): Evening[] {
  const groups: RainFrame[][] = [];
  for (const frame of frames.toSorted(byTime)) {
    const last = groups.at(-1);
    const before = last?.at(-1);
    if (before !== undefined && frame.scan_time - before.scan_time <= GAP_MIN * MS_PER_MIN) last?.push(frame);
    else groups.push([frame]);
  }
  const dates = groups.map(([first]) => utcDate(first.scan_time));
  return groups.map((group, n) => {
    const [{ scan_time }] = group as [RainFrame];
    const isOnlyOne = dates.filter((date) => date === dates[n]).length === 1;
    const sequences = [...Map.groupBy(group, ({ rates }) => JSON.stringify(rates.window)).values()];
    for (const sequence of sequences)
      for (const [index, { scan_time }] of sequence.entries())
        if (sequence[index - 1]?.scan_time === scan_time)
          throw new UsageError(`--real: two frames of ${timestamp(scan_time)} on one grid, expected one of each time`);
    return { name: isOnlyOne ? (dates[n] as string) : timestamp(scan_time).slice(0, 16).replace('T', ' '), sequences };
  });
}

/** Ways to read hail out of an evening: the mask of the hail cap only where there is one. */
export function standInsOf({ sequences }: Evening): StandIn[] {
  const hasMask = hasHailMask(sequences.flat().map(({ rates }) => rates));
  return STAND_INS.filter((standIn) => hasMask || standIn !== 'hail');
}

/** Median interval of frames, min. */
export function cadenceMin(frames: readonly RainFrame[]): number {
  return median(
    frames.slice(1).map(({ scan_time }, n) => (scan_time - (frames[n] as RainFrame).scan_time) / MS_PER_MIN),
  );
}

/**
 * Ages at which scans are asked about, up to 5 minutes. What falls between frames is not known: with shorter intervals points are
 * asked for at times of frames; with 10 minutes also half-way, from where the leads of 15 and 45 minutes end at a frame.
 */
export function agesMin(cadence_min: number): number[] {
  const step_min = Math.min(SCAN_AGE_MAX_MIN, Math.max(1, Math.round(cadence_min)));
  return Array.from({ length: 1 + Math.floor(SCAN_AGE_MAX_MIN / step_min) }, (_, n) => n * step_min);
}

/** Cases of an evening, asked at every frame from which the frames show what comes; every region is a block. */
export function eveningCases({ name, sequences }: Evening, standIn: StandIn): BenchCase[] {
  return sequences.flatMap((frames) => {
    if (frames.length <= PAST_FRAMES) return [];
    const times_ms = frames.map(({ scan_time }) => scan_time);
    const ages_min = agesMin(cadenceMin(frames));
    return casesOf({
      frames: frames.values().map(({ scan_time, rates }) => ({
        input: standInScan(scan_time, rates, standIn),
        pattern: patternField(rates),
      })),
      evening: name,
      ages_min: (time_ms) =>
        times_ms.indexOf(time_ms) < PAST_FRAMES
          ? []
          : ages_min.filter((age_min) =>
              NOWCAST_LEADS.some(({ minutes }) =>
                isSeen(times_ms, time_ms, time_ms + (age_min + minutes) * MS_PER_MIN),
              ),
            ),
      between: () => null,
      blockOf: (point) => `${name} ${regionOf(point)}`,
    });
  });
}

function regionOf({ lat, lon }: Position): string {
  return `${Math.floor(lat / REGION_DEG)} ${Math.floor(lon / REGION_DEG)}`;
}

function byTime(a: RainFrame, b: RainFrame): number {
  return a.scan_time - b.scan_time;
}
