import type { Position } from '../../schemas/geo/position.ts';
import { type HailSource, STRIKE_MM, stormSource, untrackedSources } from '../../schemas/nowcast/probability.ts';
import type { TrackPoint } from '../../schemas/tables/radar.ts';
import type { Edition } from '../published/catalog.ts';
import type { LiveSnapshot } from '../published/live.ts';

const known = new WeakMap<Edition, readonly HailSource[]>();

/**
 * The hail that a nowcast moves on: of every storm, and the hail >= 19 mm of the newest scan that belongs to none. Made once per
 * edition, of the kind of data of its newest scan alone: that is what the weights were fitted on, and storms of the other kind
 * must not lend their motion either.
 */
export function hailSources(edition: Edition, snapshot: LiveSnapshot): readonly HailSource[] {
  const sources = known.get(edition) ?? makeSources(edition, snapshot);
  known.set(edition, sources);
  return sources;
}

function makeSources(edition: Edition, snapshot: LiveSnapshot): HailSource[] {
  const storms = snapshot.storms
    .filter(({ seen }) => edition.provenanceOf([seen.storm_date]) === edition.newest_provenance)
    .map(({ seen }) => stormSource(seen, hailOfCell(snapshot, seen)));
  const untracked = snapshot.newestHail.filter((index) => isHail(snapshot, index) && !snapshot.isTracked(index));
  const pixels = untracked.map((index) => pixelOf(snapshot, index));
  return snapshot.newest_scan_ms === null
    ? storms
    : [...storms, ...untrackedSources(pixels, snapshot.newest_scan_ms, storms)];
}

/** Detections >= 19 mm of the cell of a storm, in the newest scan that saw it: of a coasting storm an earlier one. */
function hailOfCell(snapshot: LiveSnapshot, { scan_time, cell_index }: TrackPoint): Position[] {
  if (cell_index === null) return [];
  return snapshot
    .detectionsOfCell(scan_time, cell_index)
    .filter((index) => isHail(snapshot, index))
    .map((index) => pixelOf(snapshot, index));
}

function isHail({ detections }: LiveSnapshot, index: number): boolean {
  return detections.column('estimated_size_mm')[index] >= STRIKE_MM;
}

function pixelOf({ detections }: LiveSnapshot, index: number): Position {
  return { lat: detections.column('lat')[index] as number, lon: detections.column('lon')[index] as number };
}
