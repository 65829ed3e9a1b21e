import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { findObjects } from '../../pipeline/detect/cells.ts';
import type { HailField } from '../../pipeline/grid.ts';
import { hailField, readGrid } from '../../pipeline/read/mrms.ts';
import { advanceTracks, type TrackStep } from '../../pipeline/track/advance.ts';
import { type LiveTrack, type LiveTracks, noLiveTracks } from '../../pipeline/track/live-tracks.ts';
import { median, type Vector, velocityOf } from '../../pipeline/track/motion.ts';
import { patternMotion } from '../../pipeline/track/pattern-motion.ts';
import { maskOf } from '../../pipeline/track/track-cell.ts';
import { latRow, lonCol, type Window } from '../../schemas/geo/lattice.ts';
import { sharedData } from '../support/data/shared-folder.ts';
import { stormObjects } from '../support/data/storm-objects.ts';
import { cropField, trackCells } from '../support/data/track-cells.ts';
import { linksLine, stormLinks } from './storm-links.ts';
import { csi, type ObjectFrame, overlapAt, type ScoredPoint, type TrackScores, trackScores } from './track-scores.ts';

/** Evenings of shared/data/probsevere. */
const STORM_EVENINGS = ['20211011', '20220720'];

/** Which frames are tracked, and what an object in them is. */
export interface TrackedFrames {
  readonly from: string;
  readonly product: string;
  /** Objects are made of values from here on, in tenths of the unit of the product. */
  readonly min_tenths: number;
  readonly min_pixels: number;
  readonly window: Window;
}

/** Rows and columns whose pixel centres lie in a box. */
export function windowOf(west: number, south: number, east: number, north: number): Window {
  const [row0, col0] = [latRow(north), lonCol(west)];
  return { row0, col0, rows: latRow(south) - row0, cols: lonCol(east) - col0 };
}

/** The 20 frames of the project's goal. */
export const GOAL_FRAMES: TrackedFrames = {
  from: sharedData('mrms-sequence'),
  product: 'PrecipRate',
  min_tenths: 500,
  min_pixels: 8,
  window: windowOf(-107, 28.5, -97, 36.5),
};

/** What other trackers do on these frames, with the straightness of track-scores.ts. */
const PEERS = [
  'TINT   17 tracks >= 10 min, median 16 min, straightness .84-.87 km, largest step 4.6 km (p90 10.6), 850 ms per frame',
  'tobac  13 tracks >= 10 min, median 14 min, straightness .5-.8 km, largest step 2.6 km (p90  3.7),  70 ms per frame',
];
const PEER_OVERLAPS = [
  'TINT                    .434  .306  .202  .151',
  'tobac                   .464  .317  .187  .111',
];
/** Leads of frames of two minutes; of others the multiples of their step that are nearest. */
const LEADS_MIN = [4, 8, 14, 20];
/** Overlaps are of frames from here on, as the peers' are: a tracker needs some scans before it knows a motion. */
const OVERLAP_FROM_MIN = 12;

/** A frame of the folder, already cut to the window and the threshold. */
export interface Frame {
  readonly scan_time: number;
  readonly field: HailField;
}

export interface TrackingRun {
  readonly scores: TrackScores;
  /** The same tracks with one position per object: an object that several share counts whole, for the strongest. */
  readonly whole_scores: TrackScores;
  /** The objects of each frame with our motion, whole and in the parts that tracks hold. */
  readonly whole: readonly ObjectFrame[];
  readonly parts: readonly ObjectFrame[];
  readonly track_ms: number;
  readonly label_and_track_ms: number;
}

/** Tracks the frames of the goal and prints the scores beside those of its peers. */
export async function tracking(): Promise<void> {
  const frames = await readFrames(GOAL_FRAMES);
  const run = trackFrames(frames, GOAL_FRAMES.min_pixels);
  console.log(report(frames.length, run));
  console.log(overlapReport(run));
  for (const day of STORM_EVENINGS)
    console.log(linksLine(day, stormLinks(await stormObjects(sharedData('probsevere'), day))));
}

/** The folder's files of the product, in order of time. */
export async function readFrames({ from, product, window, min_tenths }: TrackedFrames): Promise<Frame[]> {
  const names = (await readdir(from)).filter((name) => name.includes(product) && /\.grib2(\.gz)?$/.test(name)).sort();
  const frames: Frame[] = [];
  for (const name of names) {
    const grid = readGrid(await readFile(join(from, name)), name);
    frames.push({ scan_time: grid.scan_time, field: cropField(hailField(grid), window, min_tenths) });
  }
  return frames.sort((a, b) => a.scan_time - b.scan_time);
}

/**
 * Labels and tracks frames that are cut to their threshold already. Objects are plain components (8 neighbours) of at
 * least `min_pixels`; scored positions are their value-weighted centroids, of the track's part where tracks share one.
 */
export function trackFrames(frames: readonly Frame[], min_pixels: number): TrackingRun {
  let carried: LiveTracks = noLiveTracks;
  let track_ms = 0;
  let label_ms = 0;
  const points: ScoredPoint[] = [];
  const wholes: ScoredPoint[] = [];
  const whole: ObjectFrame[] = [];
  const parts: ObjectFrame[] = [];
  frames.forEach(({ scan_time, field }, frame) => {
    const start = performance.now();
    const cells = trackCells(field, findObjects(field, 1, min_pixels));
    const labelled = performance.now();
    const before = frames[frame - 1];
    const shift = before ? patternMotion(before.field, field, (scan_time - before.scan_time) / 60_000) : null;
    const step: TrackStep = advanceTracks(carried, {
      scan_time,
      cells,
      pattern_motion: shift,
    });
    label_ms += labelled - start;
    track_ms += performance.now() - labelled;
    carried = step.live;
    const live = new Map(carried.tracks.map((track) => [track.track_id, track]));
    const owners = step.trackOfCell.map((track_id) => live.get(track_id) as LiveTrack);
    wholes.push(
      ...cells.map((cell, k) => ({
        track_id: step.trackOfCell[k] as string,
        scan_time,
        lat: cell.centroid_lat,
        lon: cell.centroid_lon,
        size: cell.estimated_size_mm,
        reshaped: step.reshaped.has(step.trackOfCell[k] as string),
      })),
    );
    for (const { track_id, state, estimated_size_mm: size } of step.points) {
      const track = live.get(track_id);
      if (state !== 'tracked' || track === undefined) continue;
      const { centroid_lat: lat, centroid_lon: lon } = track;
      points.push({ track_id, scan_time, lat, lon, size, reshaped: step.reshaped.has(track_id) });
    }
    whole.push({
      scan_time,
      objects: cells.map(({ rows, cols }, k) => ({
        mask: maskOf(rows, cols),
        velocity: velocityNow(owners[k] as LiveTrack),
      })),
    });
    parts.push({
      scan_time,
      objects: carried.tracks
        .filter((track) => track.last_seen === scan_time)
        .map((track) => ({ mask: track.mask, velocity: velocityNow(track) })),
    });
  });
  return {
    scores: trackScores(points),
    whole_scores: trackScores(wholes),
    whole,
    parts,
    track_ms: track_ms / frames.length,
    label_and_track_ms: (label_ms + track_ms) / frames.length,
  };
}

/** The motion that is published, km/min. */
function velocityNow({ speed_kmh, direction_deg }: LiveTrack): Vector | null {
  return speed_kmh === null || direction_deg === null ? null : velocityOf({ speed_kmh, direction_deg });
}

/** Leads that frames have, minutes, ascending: the multiples of their usual step that are nearest to LEADS_MIN. */
export function leadsOf(frames: readonly Pick<Frame, 'scan_time'>[]): number[] {
  const steps = frames.slice(1).map(({ scan_time }, k) => (scan_time - (frames[k]?.scan_time ?? 0)) / 60_000);
  if (steps.length === 0) return LEADS_MIN;
  const step_min = Math.max(1, Math.round(median(steps)));
  return [...new Set(LEADS_MIN.map((lead) => step_min * Math.max(1, Math.round(lead / step_min))))];
}

/** Overlaps of a run's frames from OVERLAP_FROM_MIN on, by lead; null where no frame lies within a minute of the lead. */
export function overlaps(frames: readonly ObjectFrame[]): (number | null)[] {
  const first = frames[0]?.scan_time ?? 0;
  const late = frames.filter(({ scan_time }) => scan_time >= first + OVERLAP_FROM_MIN * 60_000);
  return leadsOf(frames).map((lead) => csi(overlapAt(late, lead)));
}

function overlapLine(name: string, frames: readonly ObjectFrame[]): string {
  return `${name.padEnd(22)} ${overlaps(frames)
    .map((value) => shown(value, 3).replace('0.', '.').padStart(5))
    .join(' ')}`;
}

function overlapReport({ whole, parts }: TrackingRun): string {
  const still = whole.map(({ scan_time, objects }) => ({
    scan_time,
    objects: objects.map(({ mask }) => ({ mask, velocity: null })),
  }));
  return [
    `Overlap (CSI) of objects moved forward, frames from ${OVERLAP_FROM_MIN} min on, at ${leadsOf(whole).join(', ')} min:`,
    overlapLine('ours, whole objects', whole),
    overlapLine('ours, parts', parts),
    overlapLine('no motion', still),
    ...PEER_OVERLAPS,
  ].join('\n');
}

function report(frames: number, { scores, whole_scores, track_ms, label_and_track_ms }: TrackingRun): string {
  const both = `${track_ms.toFixed(1)} ms per frame (${label_and_track_ms.toFixed(1)} with labelling)`;
  return [
    `${frames} frames, ${scores.tracks} tracks, ${scores.points} positions in ${whole_scores.points} objects`,
    `ours   ${scoreLine(scores)}, ${both}`,
    ...PEERS,
    `ours with whole objects: ${scoreLine(whole_scores)}`,
    'Where tracks share an object, `ours` scores the part of each, `whole objects` gives the object to the strongest.',
    `Straightness and steps: medians over ${scores.scored_tracks} tracks of >= 6 positions; orthogonal RMSE about the best`,
    'straight line; steps between consecutive positions, also over a missed frame, but not over changes of shape, which',
    'the straightness has; positions are value-weighted centroids.',
    `Mismatch (SD of the maximum along a track, median) ${shown(scores.mismatch_sd_median, 1)}.`,
  ].join('\n');
}

function scoreLine(scores: TrackScores): string {
  return (
    `${scores.long_tracks} tracks >= 10 min, median ${shown(scores.long_duration_median_min, 0)} min, ` +
    `straightness ${shown(scores.rmse_median_km, 2)} km, ` +
    `largest step ${shown(scores.step_median_km, 1)} km (p90 ${shown(scores.step_p90_km, 1)})`
  );
}

function shown(value: number | null, digits: number): string {
  return value === null ? '-' : value.toFixed(digits);
}
