import { KM_PER_DEG } from '../../schemas/geo/constants.ts';
import { colLon, LATTICES, rowLat, type Window } from '../../schemas/geo/lattice.ts';
import type { Position } from '../../schemas/geo/position.ts';
import type { Scenario } from './scenario.ts';

/** Range of a weather radar for hail, km. */
export const RADAR_RANGE_KM = 230;

const cache = new WeakMap<Scenario, Uint8Array>();

/** 1 for each pixel of the scenario's window that lies within 230 km of a radar, else 0; row-major from north. */
export function coverageOf(scenario: Scenario): Uint8Array {
  const known = cache.get(scenario);
  if (known) return known;
  const covered = new Uint8Array(scenario.window.rows * scenario.window.cols);
  for (const site of scenario.sites) cover(covered, scenario.window, site);
  cache.set(scenario, covered);
  return covered;
}

/** Sets the disk around a site, row by row: half a chord to each side. */
function cover(covered: Uint8Array, window: Window, site: Position): void {
  const reach_deg = RADAR_RANGE_KM / KM_PER_DEG;
  for (let r = 0; r < window.rows; r += 1) {
    const lat = rowLat(LATTICES.conus, window.row0 + r);
    const away_deg = lat - site.lat;
    if (Math.abs(away_deg) > reach_deg) continue;
    const chord_deg = Math.sqrt(reach_deg ** 2 - away_deg ** 2) / Math.cos((lat * Math.PI) / 180);
    const west = colLon(LATTICES.conus, window.col0);
    const from = Math.max(0, Math.ceil((site.lon - chord_deg - west) * 100));
    const to = Math.min(window.cols, Math.floor((site.lon + chord_deg - west) * 100) + 1);
    if (to > from) covered.fill(1, r * window.cols + from, r * window.cols + to);
  }
}

/** Distance to the nearest site on a flat map around the position, km; Infinity without sites. */
export function nearestSiteKm(sites: readonly Position[], at: Position): number {
  const scale = Math.cos((at.lat * Math.PI) / 180);
  let nearest = Number.POSITIVE_INFINITY;
  for (const site of sites)
    nearest = Math.min(nearest, Math.hypot(site.lat - at.lat, (site.lon - at.lon) * scale) * KM_PER_DEG);
  return nearest;
}
