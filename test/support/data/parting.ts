import { findObjects } from '../../../pipeline/detect/cells.ts';
import { advanceTracks } from '../../../pipeline/track/advance.ts';
import { type LiveTracks, noLiveTracks } from '../../../pipeline/track/live-tracks.ts';
import { strength } from '../../../pipeline/track/match.ts';
import type { TrackCell } from '../../../pipeline/track/track-cell.ts';
import { drawTenths } from './draw.ts';
import { trackCells } from './track-cells.ts';

const MINUTES = 2;
/** Time of the first frame. */
export const START = Date.parse('2026-05-01T20:00:39Z');
const SIDE = 180;
const ROW0 = 1500;
const COL0 = 3500;
const KM_PER_ROW = 1.11;
const KM_PER_COL = 0.86; // at 39 N

/** A rigid texture: tenths at offsets in pixels from its middle. */
export type Patch = readonly { readonly south: number; readonly east: number; readonly tenths: number }[];

/** Towards where, degrees from north clockwise, and how fast. */
interface Way {
  readonly kmh: number;
  readonly towards_deg: number;
}

/** Two patches on top of each other that part in opposite directions, while both drift. */
export interface Parting {
  readonly patches: readonly [Patch, Patch];
  readonly apart: Way;
  readonly drift: Way;
}

/** Scans before the patches begin to part. */
const TOGETHER = 4;
/** Scans in all. */
export const SCANS = 22;

/** A round cell, strongest in its middle. */
export function disc(radius: number, mm: number): Patch {
  const reach = Math.ceil(radius);
  const side = Array.from({ length: 2 * reach + 1 }, (_, i) => i - reach);
  return side.flatMap((south) =>
    side
      .filter((east) => Math.hypot(south, east) <= radius)
      .map((east) => ({ south, east, tenths: Math.round(10 * mm * (1 - 0.5 * (Math.hypot(south, east) / radius))) })),
  );
}

/** Pixels to the south and east that a way covers in some minutes. */
function pixels({ kmh, towards_deg }: Way, minutes: number): { south: number; east: number } {
  const km = (kmh / 60) * minutes;
  const radians = (towards_deg * Math.PI) / 180;
  return { south: (-km * Math.cos(radians)) / KM_PER_ROW, east: (km * Math.sin(radians)) / KM_PER_COL };
}

/** Middles of the two patches in a scan, in pixels of the frame. */
function middles({ apart, drift }: Parting, scan: number) {
  const drifted = pixels(drift, MINUTES * (scan - SCANS / 2));
  const parted = pixels(apart, MINUTES * Math.max(0, scan - TOGETHER));
  return [1, -1].map((side) => ({
    row: Math.round(SIDE / 2 + drifted.south + side * parted.south),
    col: Math.round(SIDE / 2 + drifted.east + side * parted.east),
  }));
}

/** Cells of the two patches in a scan. */
export function frame(parting: Parting, scan: number): TrackCell[] {
  const values = Array.from({ length: SIDE }, () => new Array<number>(SIDE).fill(0));
  middles(parting, scan).forEach(({ row, col }, index) => {
    for (const { south, east, tenths } of parting.patches[index] as Patch) {
      const line = values[row + south] as number[];
      line[col + east] = Math.max(line[col + east], tenths);
    }
  });
  const field = drawTenths(values, { row0: ROW0, col0: COL0 });
  return trackCells(field, findObjects(field, 1, 8));
}

/** Cells of frames and what tracking made of them, one scan after the other; null is a scan that was lost. */
export function follow(frames: readonly (readonly TrackCell[] | null)[]) {
  let live: LiveTracks = noLiveTracks;
  return frames.flatMap((cells, k) => {
    if (cells === null) return [];
    const scan_time = START + k * MINUTES * 60_000;
    const step = advanceTracks(live, { scan_time, cells });
    live = step.live;
    return { cells, step };
  });
}

/**
 * What is wrong with the tracks of two patches that part; empty when all is right. `isLost`: the scans that never came, by their
 * number from the first scan with two cells on.
 */
export function faults(parting: Parting, isLost: (since_break: number) => boolean = () => false): string[] {
  const frames = Array.from({ length: SCANS }, (_, scan) => frame(parting, scan));
  const first = frames.findIndex((cells) => cells.length > 1);
  const followed = follow(frames.map((cells, scan) => (isLost(scan - first) ? null : cells)));
  const whole = followed[0]?.step.trackOfCell[0] as string;
  const points = followed.flatMap(({ step }) => step.points);
  const found: string[] = [];
  const broken = followed.findIndex(({ cells }) => cells.length > 1);
  if (broken === -1) return ['the patches never part'];
  const { cells, step } = followed[broken] as (typeof followed)[number];
  const stronger = cells.reduce((best, cell, i) => (strength(cell) > strength(cells[best] as TrackCell) ? i : best), 0);
  if (step.trackOfCell[stronger] !== whole) found.push(`the stronger branch starts anew`);
  const ids = new Set(points.map(({ track_id }) => track_id));
  if (ids.size !== 2) found.push(`${ids.size} tracks`);
  for (const { track_id, state, parent_track_id, merged_into } of points) {
    if (track_id !== whole && parent_track_id !== whole) found.push(`${track_id} has parent ${parent_track_id}`);
    if (state !== 'tracked') found.push(`${track_id} ${state} ${merged_into}`);
  }
  return [...new Set(found)];
}
