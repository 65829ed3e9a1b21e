import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { Command, CommanderError } from 'commander';
import { findObjects } from '../../pipeline/detect/cells.ts';
import { UsageError } from '../../pipeline/error.ts';
import type { HailField } from '../../pipeline/grid.ts';
import { hailField, readGrid } from '../../pipeline/read/mrms.ts';
import { advanceTracks, type TrackStep } from '../../pipeline/track/advance.ts';
import {
  type LiveTrack,
  type LiveTracks,
  noLiveTracks,
  type TrackPointShape,
} from '../../pipeline/track/live-tracks.ts';
import { median, type Vector, velocityOf } from '../../pipeline/track/motion.ts';
import { patternMotion } from '../../pipeline/track/pattern-motion.ts';
import { maskOf, type TrackCell } from '../../pipeline/track/track-cell.ts';
import { LATTICE, latRow, lonCol, type Window } from '../../schemas/geo/lattice.ts';
import { timestamp } from '../../schemas/time.ts';
import { hasSharedData, sharedData } from '../support/data/shared-folder.ts';
import { stormObjects } from '../support/data/storm-objects.ts';
import { cropField, trackCells } from '../support/data/track-cells.ts';
import { peerFrames, readPeerTracks } from './peer-tracks.ts';
import { linksLine, stormLinks } from './storm-links.ts';
import { csi, type ObjectFrame, overlapAt, type ScoredPoint, type TrackScores, trackScores } from './track-scores.ts';

/** Evenings of shared/data/probsevere. */
const STORM_EVENINGS = ['20211011', '20220720'];

/**
 * What other trackers do on the 20 frames of shared/data/mrms-sequence with the arguments of the project's goal, with the
 * straightness of scores.ts: printed for these frames and arguments alone. Their tables, given by --peer, are scored here.
 */
const PEERS_RUN = {
  product: 'PrecipRate',
  min_tenths: 500,
  min_pixels: 8,
  window: windowOf('-107,28.5,-97,36.5'),
  first: Date.parse('2019-06-10T00:00:00Z'),
  frames: 20,
  step_min: 2,
} as const;
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

export interface TrackingOptions {
  readonly from: string;
  readonly product: string;
  readonly min_tenths: number;
  readonly min_pixels: number;
  readonly window: Window;
  readonly out: string | null;
  /** Tables of other trackers on the same frames. */
  readonly peers: readonly { readonly name: string; readonly file: string }[];
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
  /** The track goes on in another shape. */
  readonly reshaped: boolean;
}

export interface TrackingRun {
  readonly rows: readonly TrackRow[];
  readonly scores: TrackScores;
  /** The same tracks with one position per object: an object that several share counts whole, for the strongest. */
  readonly whole_scores: TrackScores;
  /** The objects of each frame, and the same with our motion, whole and in the parts that tracks hold. */
  readonly objects: readonly { readonly scan_time: number; readonly cells: readonly TrackCell[] }[];
  readonly whole: readonly ObjectFrame[];
  readonly parts: readonly ObjectFrame[];
  readonly track_ms: number;
  readonly label_and_track_ms: number;
}

/** Tracks a folder of MRMS files and prints the scores beside those of its peers. */
export async function tracking(args: string[]): Promise<void> {
  const options = trackingOptions(args);
  const frames = await readFrames(options);
  const run = trackFrames(frames, options.min_pixels);
  const asPeers = isPeersRun(options, frames);
  console.log(report(frames.length, run, asPeers));
  console.log(overlapReport(run, asPeers));
  for (const { name, file } of options.peers) {
    const points = readPeerTracks(await readFile(file, 'utf8'), file);
    console.log(`${name}: ${scoreLine(trackScores(points))}`);
    console.log(overlapLine(name, peerFrames(points, run.objects)));
  }
  if (hasSharedData)
    for (const day of STORM_EVENINGS)
      console.log(linksLine(day, stormLinks(await stormObjects(sharedData('probsevere'), day))));
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
    peers: (values.peer ?? []).map((text) => {
      const [name = '', file = ''] = text.split('=');
      if (name === '' || file === '') throw new UsageError(`--peer is '${text}', expected NAME=FILE.csv`);
      return { name, file };
    }),
  };
}

interface Values {
  readonly from: string;
  readonly product: string;
  readonly threshold: string;
  readonly minPixels: string;
  readonly bbox?: string;
  readonly out?: string;
  readonly peer?: readonly string[];
}

function parse(args: string[]): Values {
  const command = new Command('tracking')
    .requiredOption('--from <dir>', 'folder of MRMS files')
    .requiredOption('--product <name>', 'product, as in the names of the files')
    .requiredOption('--threshold <value>', "objects are made of values from here on, in the product's unit")
    .requiredOption('--min-pixels <n>', 'smallest object')
    .option('--bbox <west,south,east,north>', 'part of the grid, degrees')
    .option('--out <file.csv>', 'where the tracks are written')
    .option('--peer <name=file.csv...>', "another tracker's table of the same frames, scored beside ours")
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
  const objects: { scan_time: number; cells: TrackCell[] }[] = [];
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
    rows.push(...step.points.map((point) => rowOf(frame, point, live.get(point.track_id), step.reshaped)));
    objects.push({ scan_time, cells });
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
    rows,
    scores: trackScores(rows.filter(({ point }) => point.state === 'tracked').map(scoredPoint)),
    whole_scores: trackScores(wholes),
    objects,
    whole,
    parts,
    track_ms: track_ms / frames.length,
    label_and_track_ms: (label_ms + track_ms) / frames.length,
  };
}

function rowOf(
  frame: number,
  point: TrackPointShape,
  track: LiveTrack | undefined,
  reshaped: ReadonlySet<string>,
): TrackRow {
  if (point.state !== 'tracked' || !track) return { frame, point, lat: point.lat, lon: point.lon, reshaped: false };
  return { frame, point, lat: track.centroid_lat, lon: track.centroid_lon, reshaped: reshaped.has(point.track_id) };
}

/** The motion that is published, km/min. */
function velocityNow({ speed_kmh, direction_deg }: LiveTrack): Vector | null {
  return speed_kmh === null || direction_deg === null ? null : velocityOf({ speed_kmh, direction_deg });
}

function scoredPoint({ point, lat, lon, reshaped }: TrackRow): ScoredPoint {
  const { track_id, scan_time, estimated_size_mm } = point;
  return { track_id, scan_time, lat, lon, size: estimated_size_mm, reshaped };
}

/** True for the frames and arguments that the figures of the peers are of. */
export function isPeersRun(options: TrackingOptions, frames: readonly Pick<Frame, 'scan_time'>[]): boolean {
  const { product, min_tenths, min_pixels, window, first, frames: count, step_min } = PEERS_RUN;
  return (
    options.product === product &&
    options.min_tenths === min_tenths &&
    options.min_pixels === min_pixels &&
    isDeepStrictEqual(options.window, window) &&
    frames.length === count &&
    frames.every(({ scan_time }, k) => scan_time === first + k * step_min * 60_000)
  );
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

function overlapReport({ whole, parts }: TrackingRun, asPeers: boolean): string {
  const still = whole.map(({ scan_time, objects }) => ({
    scan_time,
    objects: objects.map(({ mask }) => ({ mask, velocity: null })),
  }));
  return [
    `Overlap (CSI) of objects moved forward, frames from ${OVERLAP_FROM_MIN} min on, at ${leadsOf(whole).join(', ')} min:`,
    overlapLine('ours, whole objects', whole),
    overlapLine('ours, parts', parts),
    overlapLine('no motion', still),
    ...(asPeers ? PEER_OVERLAPS : []),
  ].join('\n');
}

function report(
  frames: number,
  { scores, whole_scores, track_ms, label_and_track_ms }: TrackingRun,
  asPeers: boolean,
): string {
  const both = `${track_ms.toFixed(1)} ms per frame (${label_and_track_ms.toFixed(1)} with labelling)`;
  return [
    `${frames} frames, ${scores.tracks} tracks, ${scores.points} positions in ${whole_scores.points} objects`,
    `ours   ${scoreLine(scores)}, ${both}`,
    ...(asPeers ? PEERS : ['TINT and tobac were not run on these frames with these arguments.']),
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
