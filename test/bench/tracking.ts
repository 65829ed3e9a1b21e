import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Command, CommanderError } from 'commander';
import { findObjects } from '../../pipeline/detect/cells.ts';
import { UsageError } from '../../pipeline/error.ts';
import type { HailField } from '../../pipeline/grid.ts';
import { hailField, readGrid } from '../../pipeline/read/mrms.ts';
import { advanceTracks, type TrackStep } from '../../pipeline/track/advance.ts';
import { gridShift } from '../../pipeline/track/grid-shift.ts';
import {
  type LiveTrack,
  type LiveTracks,
  noLiveTracks,
  type TrackPointShape,
} from '../../pipeline/track/live-tracks.ts';
import { type ScoredPoint, type TrackScores, trackScores } from '../../pipeline/track/scores.ts';
import { LATTICE, latRow, lonCol, type Window } from '../../schemas/geo/lattice.ts';
import { timestamp } from '../../schemas/time.ts';
import { cropField, trackCells } from '../support/data/track-cells.ts';

/** What other trackers do on the 20 frames of shared/data/mrms-sequence with the arguments of the project's goal. */
const PEERS =
  'TINT   17 tracks >= 10 min, median 16 min, straightness 1.43 km, largest step 4.6 km (p90 10.6), 850 ms per frame\n' +
  'tobac  13 tracks >= 10 min, median 14 min, straightness 1.10 km, largest step 2.6 km (p90  3.7),  70 ms per frame';

export interface TrackingOptions {
  readonly from: string;
  readonly product: string;
  readonly min_tenths: number;
  readonly min_pixels: number;
  readonly window: Window;
  readonly out: string | null;
}

/** A frame of the folder, already cut to the window and the threshold. */
export interface Frame {
  readonly scan_time: number;
  readonly field: HailField;
}

/** A track in a frame; its centroid where it had an object, else the predicted position. */
interface TrackRow {
  readonly frame: number;
  readonly point: TrackPointShape;
  readonly lat: number;
  readonly lon: number;
}

export interface TrackingRun {
  readonly rows: readonly TrackRow[];
  readonly scores: TrackScores;
  /** The same tracks with one position per object: an object that several share counts whole, for the strongest. */
  readonly whole_scores: TrackScores;
  readonly track_ms: number;
  readonly label_and_track_ms: number;
}

/** Tracks a folder of MRMS files and prints the scores beside those of its peers. */
export async function tracking(args: string[]): Promise<void> {
  const options = trackingOptions(args);
  const frames = await readFrames(options);
  const run = trackFrames(frames, options.min_pixels);
  console.log(report(frames.length, run));
  if (options.out) await writeFile(options.out, tracksCsv(run.rows));
}

/** Arguments as typed values; throws UsageError with the argument and its accepted form. */
export function trackingOptions(args: string[]): TrackingOptions {
  const values = parse(args);
  const threshold = number('--threshold', values.threshold);
  const min_pixels = number('--min-pixels', values.minPixels);
  if (threshold < 0.1) throw new UsageError(`--threshold is '${values.threshold}', expected at least 0.1`);
  if (!Number.isInteger(min_pixels) || min_pixels < 1)
    throw new UsageError(`--min-pixels is '${values.minPixels}', expected a whole number from 1`);
  return {
    from: values.from,
    product: values.product,
    min_tenths: Math.round(10 * threshold),
    min_pixels,
    window: windowOf(values.bbox),
    out: values.out ?? null,
  };
}

interface Values {
  readonly from: string;
  readonly product: string;
  readonly threshold: string;
  readonly minPixels: string;
  readonly bbox?: string;
  readonly out?: string;
}

function parse(args: string[]): Values {
  const command = new Command('tracking')
    .requiredOption('--from <dir>', 'folder of MRMS files')
    .requiredOption('--product <name>', 'product, as in the names of the files')
    .requiredOption('--threshold <value>', "objects are made of values from here on, in the product's unit")
    .requiredOption('--min-pixels <n>', 'smallest object')
    .option('--bbox <west,south,east,north>', 'part of the grid, degrees')
    .option('--out <file.csv>', 'where the tracks are written')
    .configureOutput({ writeErr: () => {} })
    .exitOverride();
  try {
    return command.parse(args, { from: 'user' }).opts<Values>();
  } catch (cause) {
    if (!(cause instanceof CommanderError)) throw cause;
    throw new UsageError(cause.message);
  }
}

function number(name: string, text: string): number {
  if (!/^-?\d+(\.\d+)?$/.test(text)) throw new UsageError(`${name} is '${text}', expected a number`);
  return Number(text);
}

/** Rows and columns whose pixel centres lie in the box; the whole lattice without one. */
function windowOf(text: string | undefined): Window {
  if (text === undefined) return { row0: 0, col0: 0, rows: LATTICE.rows, cols: LATTICE.cols };
  const [west = 0, south = 0, east = 0, north = 0, ...more] = text.split(',').map((part) => number('--bbox', part));
  if (more.length > 0 || west >= east || south >= north)
    throw new UsageError(`--bbox is '${text}', expected WEST,SOUTH,EAST,NORTH in degrees`);
  const row0 = Math.max(0, latRow(north));
  const col0 = Math.max(0, lonCol(west));
  const rows = Math.min(LATTICE.rows, latRow(south)) - row0;
  const cols = Math.min(LATTICE.cols, lonCol(east)) - col0;
  if (rows < 1 || cols < 1) throw new UsageError(`--bbox is '${text}', expected a box that meets 20..55 N, 130..60 W`);
  return { row0, col0, rows, cols };
}

/** The folder's files of the product, in order of time. */
export async function readFrames({ from, product, window, min_tenths }: TrackingOptions): Promise<Frame[]> {
  const names = (await readdir(from)).filter((name) => name.includes(product) && /\.grib2(\.gz)?$/.test(name)).sort();
  if (names.length === 0)
    throw new UsageError(`--from ${from} holds no ${product} file, expected *.grib2 or *.grib2.gz`);
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
  const rows: TrackRow[] = [];
  const wholes: ScoredPoint[] = [];
  frames.forEach(({ scan_time, field }, frame) => {
    const start = performance.now();
    const cells = trackCells(field, findObjects(field, 1, min_pixels));
    const labelled = performance.now();
    const before = frames[frame - 1];
    const shift = before ? gridShift(before.field, field, (scan_time - before.scan_time) / 60_000) : null;
    const step: TrackStep = advanceTracks(carried, { scan_time, cells, grid_shift: shift });
    label_ms += labelled - start;
    track_ms += performance.now() - labelled;
    carried = step.live;
    wholes.push(
      ...cells.map((cell, k) => ({
        track_id: step.trackOfCell[k] as string,
        scan_time,
        lat: cell.centroid_lat,
        lon: cell.centroid_lon,
        size: cell.estimated_size_mm,
      })),
    );
    const live = new Map(carried.tracks.map((track) => [track.track_id, track]));
    rows.push(...step.points.map((point) => rowOf(frame, point, live.get(point.track_id))));
  });
  return {
    rows,
    scores: trackScores(rows.filter(({ point }) => point.state === 'tracked').map(scoredPoint)),
    whole_scores: trackScores(wholes),
    track_ms: track_ms / frames.length,
    label_and_track_ms: (label_ms + track_ms) / frames.length,
  };
}

function rowOf(frame: number, point: TrackPointShape, track: LiveTrack | undefined): TrackRow {
  if (point.state !== 'tracked' || !track) return { frame, point, lat: point.lat, lon: point.lon };
  return { frame, point, lat: track.centroid_lat, lon: track.centroid_lon };
}

function scoredPoint({ point, lat, lon }: TrackRow): ScoredPoint {
  const { track_id, scan_time, estimated_size_mm } = point;
  return { track_id, scan_time, lat, lon, size: estimated_size_mm };
}

function report(frames: number, { scores, whole_scores, track_ms, label_and_track_ms }: TrackingRun): string {
  const both = `${track_ms.toFixed(1)} ms per frame (${label_and_track_ms.toFixed(1)} with labelling)`;
  return [
    `${frames} frames, ${scores.tracks} tracks, ${scores.points} positions in ${whole_scores.points} objects`,
    `ours   ${scoreLine(scores)}, ${both}`,
    PEERS,
    `ours with whole objects: ${scoreLine(whole_scores)}`,
    'Where tracks share an object, `ours` scores the part of each, `whole objects` gives the object to the strongest.',
    `Straightness and steps: medians over ${scores.scored_tracks} tracks of >= 6 positions; orthogonal RMSE about the best`,
    'straight line; steps between consecutive positions, also over a missed frame; positions are value-weighted centroids.',
    `Mismatch (SD of the maximum along a track, median) ${shown(scores.mismatch_sd_median, 1)}. Peers' figures are for`,
    'mrms-sequence, PrecipRate >= 50 mm/h, >= 8 pixels, bbox -107,28.5,-97,36.5, on two shared cores.',
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

/** One line per track and frame. */
function tracksCsv(rows: readonly TrackRow[]): string {
  const lines = rows.map(({ frame, point, lat, lon }) =>
    [
      point.track_id,
      frame,
      timestamp(point.scan_time),
      lat.toFixed(4),
      lon.toFixed(4),
      point.area_km2.toFixed(2),
      point.estimated_size_mm,
      point.state,
    ].join(','),
  );
  return `track_id,frame,time,lat,lon,area_km2,max,state\n${lines.join('\n')}\n`;
}
