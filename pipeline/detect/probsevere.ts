import { KM_PER_DEG } from '../../schemas/geo/constants.ts';
import { colLon, rowLat } from '../../schemas/geo/lattice.ts';
import type { ProbSevereObject } from '../../schemas/tables/radar.ts';
import { MS_PER_HOUR, MS_PER_MIN } from '../../schemas/time.ts';
import type { HailField } from '../grid.ts';
import type { CellShape } from './cells.ts';
import { latticeRows } from './shape.ts';

/** Largest time difference between a file and a scan, minutes. */
const TIME_MAX_MIN = 5;
/** A cell outside every object takes the nearest one whose edge is within this distance, km. */
const EDGE_MAX_KM = 5;
/** Dilation of the rings: they lie on whole hundredths of a degree, up to half a pixel of CONUS off the centres of the outer pixels. */
const DILATION_DEG = 0.01;
/** Below this share of its object's MESH a cell gets at most the probability of our own model. */
const CAP_SHARE = 0.5;

/** The ProbSevere object a cell belongs to. */
export interface ObjectMatch {
  readonly probsevere_id: string;
  /** Probability of hail >= 25.4 mm within 60 minutes by the object. */
  readonly probability: number;
  /** The cell is much weaker than its object: our own model bounds the probability from above. */
  readonly capped: boolean;
  readonly object: ProbSevereObject;
}

interface Ring {
  readonly object: ProbSevereObject;
  readonly lon: Float64Array;
  readonly lat: Float64Array;
  readonly west: number;
  readonly south: number;
  readonly east: number;
  readonly north: number;
}

/**
 * The object of each cell, or null.
 *
 * Objects within 5 minutes of the scan are advected by their own motion to the time of the scan. A cell belongs to the
 * object that contains most of its pixels, else to the nearest whose edge is within 5 km; ties go to the first object.
 * Several cells may share an object.
 */
export function matchObjects(
  field: HailField,
  cells: readonly CellShape[],
  objects: readonly ProbSevereObject[],
  scan_time: number,
): (ObjectMatch | null)[] {
  const rings = objects
    .filter(({ valid_time }) => Math.abs(scan_time - valid_time) <= TIME_MAX_MIN * MS_PER_MIN)
    .map((object) => movedRing(object, scan_time));
  return cells.map((cell) => {
    const ring = ringOf(field, cell, rings);
    if (!ring) return null;
    const { probsevere_id, prob_hail, mesh_mm } = ring.object;
    return {
      probsevere_id,
      probability: prob_hail,
      capped: mesh_mm !== null && cell.estimated_size_mm < CAP_SHARE * mesh_mm,
      object: ring.object,
    };
  });
}

/** Outer ring of an object's polygon, advected to the time of the scan. */
function movedRing(object: ProbSevereObject, scan_time: number): Ring {
  const corners = [...object.geometry.matchAll(/(-?[\d.]+) (-?[\d.]+)/g)];
  const hours = (scan_time - object.valid_time) / MS_PER_HOUR;
  const distance_km = (object.speed_kmh ?? 0) * hours;
  const towards = ((object.direction_deg ?? 0) * Math.PI) / 180;
  const north_deg = (distance_km * Math.cos(towards)) / KM_PER_DEG;
  const east_deg = (distance_km * Math.sin(towards)) / (KM_PER_DEG * Math.cos((object.lat * Math.PI) / 180));
  const lon = Float64Array.from(corners, (corner) => Number(corner[1]) + east_deg);
  const lat = Float64Array.from(corners, (corner) => Number(corner[2]) + north_deg);
  return {
    object,
    lon,
    lat,
    west: Math.min(...lon),
    south: Math.min(...lat),
    east: Math.max(...lon),
    north: Math.max(...lat),
  };
}

function ringOf(field: HailField, cell: CellShape, rings: readonly Ring[]): Ring | null {
  const rows = latticeRows(field, cell.pixelIndex);
  let best: Ring | null = null;
  let most = 0;
  let nearest: Ring | null = null;
  let nearest_km = EDGE_MAX_KM;
  for (const ring of rings) {
    if (!boxesNear(cell, ring)) continue;
    let inside = 0;
    let edge_km = Number.POSITIVE_INFINITY;
    cell.pixelIndex.forEach((pixel, k) => {
      const lat = rowLat(rows[k]);
      const lon = colLon(field.col[pixel]);
      const distance_deg = distanceToEdgeDeg(ring, lon, lat);
      if (distance_deg <= DILATION_DEG || contains(ring, lon, lat)) inside++;
      edge_km = Math.min(edge_km, distance_deg * KM_PER_DEG);
    });
    if (inside > most) {
      most = inside;
      best = ring;
    }
    if (edge_km < nearest_km || (edge_km === nearest_km && !nearest)) {
      nearest_km = edge_km;
      nearest = ring;
    }
  }
  return best ?? nearest;
}

/** False when the bounding boxes show that a cell is farther from a ring than EDGE_MAX_KM. */
function boxesNear(cell: CellShape, ring: Ring): boolean {
  const lat_deg = (1.1 * EDGE_MAX_KM) / KM_PER_DEG;
  const lon_deg = lat_deg / Math.cos((ring.north * Math.PI) / 180);
  return (
    colLon(cell.col_max) >= ring.west - lon_deg &&
    colLon(cell.col_min) <= ring.east + lon_deg &&
    rowLat(cell.row_min) >= ring.south - lat_deg &&
    rowLat(cell.row_max) <= ring.north + lat_deg
  );
}

/** True for a point inside a ring, by the even-odd rule: rings that touch themselves need no repair. */
function contains({ lon, lat }: Ring, x: number, y: number): boolean {
  let inside = false;
  for (let i = 0, j = lon.length - 1; i < lon.length; j = i++) {
    const yi = lat[i];
    const yj = lat[j];
    if (yi > y === yj > y) continue;
    const xi = lon[i];
    if (x < xi + ((lon[j] - xi) * (y - yi)) / (yj - yi)) inside = !inside;
  }
  return inside;
}

/** Distance to the nearest edge in degrees of latitude, on a plane with the scale of the point's latitude. */
function distanceToEdgeDeg({ lon, lat }: Ring, x: number, y: number): number {
  const shrink = Math.cos((y * Math.PI) / 180);
  let nearest = Number.POSITIVE_INFINITY;
  for (let i = 0, j = lon.length - 1; i < lon.length; j = i++) {
    const ax = (lon[j] - x) * shrink;
    const ay = lat[j] - y;
    const dx = (lon[i] - lon[j]) * shrink;
    const dy = lat[i] - lat[j];
    const length = dx * dx + dy * dy;
    const along = length > 0 ? Math.min(1, Math.max(0, -(ax * dx + ay * dy) / length)) : 0;
    nearest = Math.min(nearest, Math.hypot(ax + along * dx, ay + along * dy));
  }
  return nearest;
}
