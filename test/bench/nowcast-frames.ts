import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { UsageError } from '../../pipeline/error.ts';
import type { HailField } from '../../pipeline/grid.ts';
import { hailField, readGrid } from '../../pipeline/read/mrms.ts';
import type { NowcastCase } from '../../pipeline/train/nowcast-fit.ts';
import type { Position } from '../../schemas/geo/position.ts';
import { MS_PER_MIN } from '../../schemas/time.ts';
import { type StandIn, standInScan } from '../support/data/hail-mask.ts';
import { casesOf } from './nowcast-cases.ts';

/** Tracks of three scans have a motion of their own. */
const PAST_MIN = 4;
/** Frames come every two minutes and what falls between is not known: points are asked for at times of frames. */
const AGES_MIN = [0, 2, 4] as const;
const SHORTEST_LEAD_MIN = 15;
/** Storms of a region hang together. */
const REGION_DEG = 3;

/** A real frame of rain rates, mm/h in tenths. */
export interface RainFrame {
  readonly scan_time: number;
  readonly rates: HailField;
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
    .sort((a, b) => a.scan_time - b.scan_time);
}

/** Cases of real frames, asked at every frame from which a lead comes true; every region is a block. */
export function realCases(frames: readonly RainFrame[], standIn: StandIn): NowcastCase[] {
  const [first_ms, last_ms] = [frames[0]?.scan_time as number, frames.at(-1)?.scan_time as number];
  return casesOf({
    scans: frames.values().map(({ scan_time, rates }) => standInScan(scan_time, rates, standIn)),
    ages_min: (time_ms) =>
      time_ms < first_ms + PAST_MIN * MS_PER_MIN
        ? []
        : AGES_MIN.filter((age_min) => time_ms + (age_min + SHORTEST_LEAD_MIN) * MS_PER_MIN <= last_ms),
    between: () => null,
    blockOf: regionOf,
  });
}

function regionOf({ lat, lon }: Position): string {
  return `${Math.floor(lat / REGION_DEG)} ${Math.floor(lon / REGION_DEG)}`;
}
