import { readdirSync, readFileSync } from 'node:fs';
import { type CellShape, findObjects, trackedCells } from '../../../pipeline/detect/cells.ts';
import type { HailField } from '../../../pipeline/grid.ts';
import { hailField, readGrid } from '../../../pipeline/read/mrms.ts';
import { advanceTracks } from '../../../pipeline/track/advance.ts';
import { type LiveTracks, noLiveTracks } from '../../../pipeline/track/live-tracks.ts';
import { type Heading, headingOf, offsetKm } from '../../../pipeline/track/motion.ts';
import { patternMotion } from '../../../pipeline/track/pattern-motion.ts';
import type { Position } from '../../../schemas/geo/position.ts';
import { MS_PER_MIN } from '../../../schemas/time.ts';
import { sharedData, sharedTest } from '../../support/data/shared-data.ts';

/** Lead of the motion errors, and fewest scans of their tracks. */
const LEAD_MIN = 14;
const MATURE_SCANS = 6;
/** Tolerance of a lead: half of the scan interval of about 2 minutes, plus jitter. */
const LEAD_TOLERANCE_MIN = 1.5;
/** Smallest speed with a meaningful direction. */
const DIRECTION_MIN_KMH = 10;

/** A scan with its storm cells. */
interface StormScan {
  readonly scan_time: number;
  readonly field: HailField;
  readonly cells: readonly CellShape[];
}

/** Twenty frames of rain rate, of which only what a rule picks is left. */
function frames(kept: (tenths: number) => boolean): StormScan[] {
  const names = readdirSync(sharedData('mrms-sequence')).filter((name) => name.endsWith('.grib2'));
  return names.sort().map((name) => {
    const grid = readGrid(readFileSync(sharedData('mrms-sequence', name)), name);
    const field = pick(hailField(grid), kept);
    return { scan_time: grid.scan_time, field, cells: findObjects(field, 1, 4) };
  });
}

function pick(field: HailField, kept: (tenths: number) => boolean): HailField {
  const places: number[] = [];
  const rowStart = new Uint32Array(field.rowStart.length);
  for (let row = 0; row < field.window.rows; row++) {
    for (let i = field.rowStart[row] ?? 0; i < (field.rowStart[row + 1] ?? 0); i++)
      if (kept(field.tenths[i] as number)) places.push(i);
    rowStart[row + 1] = places.length;
  }
  return {
    ...field,
    rowStart,
    col: Uint16Array.from(places, (i) => field.col[i] as number),
    tenths: Uint16Array.from(places, (i) => field.tenths[i] as number),
  };
}

/** A tracked storm in one scan. */
interface TrackedStorm extends Position {
  readonly track_id: string;
  readonly scan_time: number;
  /** Scans of the track so far, this one included. */
  readonly scan_count: number;
  /** Motion by the tracker at this scan; null while unknown. */
  readonly motion: Heading | null;
  /** The track was continued by a change of shape in this scan: the displacement of its centroid is no motion. */
  readonly is_reshaped: boolean;
}

/** Storms of scans by the pipeline's tracker; `scans` in order of time. */
function followStorms(scans: Iterable<StormScan>): TrackedStorm[] {
  const storms: TrackedStorm[] = [];
  let live: LiveTracks = noLiveTracks;
  let before: StormScan | null = null;
  for (const scan of scans) {
    const { scan_time, field } = scan;
    const cells = trackedCells(
      field,
      scan.cells,
      scan.cells.map(() => null),
    );
    const pattern_motion = before && patternMotion(before.field, field, (scan_time - before.scan_time) / MS_PER_MIN);
    const step = advanceTracks(live, { scan_time, cells, pattern_motion });
    live = step.live;
    before = scan;
    for (const track of live.tracks) {
      if (track.last_seen !== scan_time) continue;
      const { speed_kmh, direction_deg } = track;
      storms.push({
        track_id: track.track_id,
        scan_time,
        lat: track.centroid_lat,
        lon: track.centroid_lon,
        scan_count: track.scan_count,
        motion: speed_kmh === null || direction_deg === null ? null : { speed_kmh, direction_deg },
        is_reshaped: step.reshaped.has(track.track_id),
      });
    }
  }
  return storms;
}

/**
 * Forecast minus observed motion over the next 14 minutes of every mature storm; directions from -180 to 180 degrees. Storms that end before the lead, hardly move
 * or change their shape on the way are left out.
 */
function motionErrors(storms: readonly TrackedStorm[]): Heading[] {
  const errors: Heading[] = [];
  for (const track of Map.groupBy(storms, ({ track_id }) => track_id).values())
    for (const now of track) {
      const { motion } = now;
      if (motion === null || now.scan_count < MATURE_SCANS) continue;
      const later = atLead(track, now.scan_time);
      if (later === undefined) continue;
      const isOnWay = ({ scan_time }: TrackedStorm) => scan_time > now.scan_time && scan_time <= later.scan_time;
      if (track.some((one) => one.is_reshaped && isOnWay(one))) continue;
      const minutes = (later.scan_time - now.scan_time) / MS_PER_MIN;
      const way = offsetKm(now, later);
      const came = headingOf({ east: way.east / minutes, north: way.north / minutes });
      if (came.speed_kmh < DIRECTION_MIN_KMH || motion.speed_kmh < DIRECTION_MIN_KMH) continue;
      errors.push({
        speed_kmh: motion.speed_kmh - came.speed_kmh,
        direction_deg: ((motion.direction_deg - came.direction_deg + 540) % 360) - 180,
      });
    }
  return errors;
}

function rootMeanSquare(values: readonly number[]): number {
  return Math.sqrt(values.reduce((sum, value) => sum + value * value, 0) / values.length);
}

/** The scan of a track nearest to a lead; undefined without one within the tolerance. */
function atLead(track: readonly TrackedStorm[], scan_time: number): TrackedStorm | undefined {
  const off = (one: TrackedStorm) => Math.abs(one.scan_time - scan_time - LEAD_MIN * MS_PER_MIN);
  const near = track.filter((one) => off(one) <= LEAD_TOLERANCE_MIN * MS_PER_MIN);
  return near.reduce<TrackedStorm | undefined>((best, one) => (best && off(best) <= off(one) ? best : one), undefined);
}

for (const [what, kept, speed_kmh, direction_deg] of [
  ['rain of 50 mm/h and more', (tenths: number) => tenths >= 500, 11.5, 19.1],
  ['cores whose rate is capped for hail', (tenths: number) => tenths === 538, 13.6, 20.8],
] as const)
  sharedTest(`motion of real ${what} is off by ${direction_deg} degrees over 14 minutes`, (t) => {
    const errors = motionErrors(followStorms(frames(kept)));
    const found_kmh = rootMeanSquare(errors.map((error) => error.speed_kmh));
    const found_deg = rootMeanSquare(errors.map((error) => error.direction_deg));
    t.true(errors.length >= 30, `${errors.length} cases`);
    t.true(Math.abs(found_kmh - speed_kmh) < 1, `${found_kmh} km/h`);
    t.true(Math.abs(found_deg - direction_deg) < 1.5, `${found_deg} deg`);
  });
