import { readdirSync, readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { findObjects } from '../../../pipeline/detect/cells.ts';
import type { HailField, ScanField } from '../../../pipeline/grid.ts';
import { hailField, readGrid } from '../../../pipeline/read/mrms.ts';
import { advanceTracks } from '../../../pipeline/track/advance.ts';
import { pixelsMoved } from '../../../pipeline/track/hindcast.ts';
import { type LiveTrack, type LiveTracks, noLiveTracks } from '../../../pipeline/track/live-tracks.ts';
import { type Vector, velocityOf } from '../../../pipeline/track/motion.ts';
import { patternMotions } from '../../../pipeline/track/pattern-motion.ts';
import { eachPixel, type Mask, maskOf, type TrackCell } from '../../../pipeline/track/track-cell.ts';
import { LATTICE, latRow, lonCol, type Window } from '../../../schemas/geo/lattice.ts';
import { MS_PER_MIN } from '../../../schemas/time.ts';
import { hasSharedData, sharedData } from './shared-folder.ts';
import { cropField, trackCells } from './track-cells.ts';

/** Rates from 50 mm/h on are cores of heavy rain and stand for hail of 19 mm; so 13 mm/h stand for the 5 mm of a cell's edge. */
export const CORE_TENTHS = 500;
const PATTERN_TENTHS = 130;
export const MIN_PIXELS = 8;
/** Around the storms that other trackers were run on. */
export const PLAINS = windowOf(-107, 28.5, -97, 36.5);
export const COUNTRY = { row0: 0, col0: 0, rows: LATTICE.rows, cols: LATTICE.cols };
/** Overlaps are of frames from here on, as the peers' are: a tracker needs some scans before it knows a motion. */
const OVERLAP_FROM_MIN = 12;

/** Rows and columns whose pixel centres lie in a box. */
function windowOf(west: number, south: number, east: number, north: number): Window {
  const [row0, col0] = [latRow(north), lonCol(west)];
  return { row0, col0, rows: latRow(south) - row0, cols: lonCol(east) - col0 };
}

/** Real frames of rain rate of a folder of the shared data, in order of time; none without it. */
export function realFrames(folder: 'mrms-sequence' | 'mch-sequence'): ScanField[] {
  if (!hasSharedData) return [];
  const names = readdirSync(sharedData(folder)).filter((name) => /PrecipRate.*\.grib2(\.gz)?$/.test(name));
  return names.sort().map((name) => {
    const bytes = readFileSync(sharedData(folder, name));
    const grid = readGrid(name.endsWith('.gz') ? gunzipSync(bytes) : bytes, name);
    return { scan_time: grid.scan_time, mesh: hailField(grid) };
  });
}

/** A frame: the cores of a window as objects, and the field whose pattern moves. */
export interface CoreFrame extends ScanField {
  readonly cores: HailField;
  readonly cells: readonly TrackCell[];
}

export function coresIn(
  frames: readonly ScanField[],
  window: Window,
  { min_tenths = CORE_TENTHS, min_pixels = MIN_PIXELS } = {},
): CoreFrame[] {
  return frames.map(({ scan_time, mesh }) => {
    const cores = cropField(mesh, window, min_tenths);
    const cells = trackCells(cores, findObjects(cores, 1, min_pixels));
    return { scan_time, mesh: cropField(mesh, window, PATTERN_TENTHS), cores, cells };
  });
}

/** The objects of one time with their motion, km/min; null where there is none. */
export interface ObjectFrame {
  readonly scan_time: number;
  readonly objects: readonly { readonly mask: Mask; readonly velocity: Vector | null }[];
}

interface FrameStep {
  readonly frame: CoreFrame;
  readonly step: ReturnType<typeof advanceTracks>;
  /** Motion of the pattern around each cell. */
  readonly pattern_motions: readonly (Vector | null)[];
  /** Track of each cell; the strongest where tracks share it. */
  readonly owners: readonly LiveTrack[];
}

/** The tracker run over frames. */
export function trackFrames(frames: readonly CoreFrame[]): FrameStep[] {
  let live: LiveTracks = noLiveTracks;
  return frames.map((frame, index) => {
    const pattern_motions = patternMotions(frames.slice(Math.max(0, index - 3), index + 1), frame.cells);
    const step = advanceTracks(live, { scan_time: frame.scan_time, cells: frame.cells, pattern_motions });
    live = step.live;
    const owners = step.trackOfCell.map((id) => live.tracks.find(({ track_id }) => track_id === id) as LiveTrack);
    return { frame, step, pattern_motions, owners };
  });
}

/** Published motion of a track, km/min; null while unknown. */
export function velocityNow({ speed_kmh, direction_deg }: LiveTrack): Vector | null {
  return speed_kmh === null || direction_deg === null ? null : velocityOf({ speed_kmh, direction_deg });
}

/** The whole objects of each frame, with a motion for each cell. */
export function wholeObjects(
  steps: readonly FrameStep[],
  velocityAt: (step: FrameStep, cell: number) => Vector | null,
): ObjectFrame[] {
  return steps.map((step) => ({
    scan_time: step.frame.scan_time,
    objects: step.frame.cells.map(({ rows, cols }, k) => ({
      mask: maskOf(rows, cols),
      velocity: velocityAt(step, k),
    })),
  }));
}

/** Pixels that objects moved forward share with those that came, of all of both (critical success index). */
export function overlap(all: readonly ObjectFrame[], lead_min: number): number {
  const first = (all[0]?.scan_time ?? 0) + OVERLAP_FROM_MIN * MS_PER_MIN;
  let [hits, others] = [0, 0];
  for (const frame of all.filter(({ scan_time }) => scan_time >= first)) {
    const minutes = (later: ObjectFrame) => (later.scan_time - frame.scan_time) / MS_PER_MIN;
    const later = all.find((one) => Math.abs(minutes(one) - lead_min) <= 1);
    if (later === undefined) continue;
    const observed = pixelsOf(later, 0);
    const forecast = pixelsOf(frame, minutes(later));
    const common = [...forecast].filter((pixel) => observed.has(pixel)).length;
    hits += common;
    others += observed.size + forecast.size - 2 * common;
  }
  return hits / (hits + others);
}

function pixelsOf({ objects }: ObjectFrame, minutes: number): Set<number> {
  const pixels = new Set<number>();
  for (const { mask, velocity } of objects) {
    const { rows_south, cols_east } = pixelsMoved(mask, velocity, minutes);
    eachPixel(mask, rows_south, cols_east, (pixel) => pixels.add(pixel));
  }
  return pixels;
}
