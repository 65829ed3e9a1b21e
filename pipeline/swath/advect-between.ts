import { roughDistanceKm } from '../../schemas/geo/distance.ts';
import { colLon, LATTICE, rowLat } from '../../schemas/geo/lattice.ts';
import type { Position } from '../../schemas/geo/position.ts';
import { CELL_GROW_MM, SIZE_CAP_MM } from '../../schemas/size.ts';
import { eachPixel, type HailField, type ScanField, tenthsAt } from '../grid.ts';

/** Displacement of one storm that both scans have. */
interface StormMotion {
  readonly from: Position;
  readonly to: Position;
}

/** An interpolated pixel: the largest value that passes over it between two scans, and its time. */
export interface FilledPixel {
  readonly row: number;
  readonly col: number;
  readonly mm: number;
  readonly time: number;
}

/** Shortest gap that is filled: in the usual two minutes a storm moves 0.5-2 km, over pixels of 1 km. */
const GAP_MIN_MS = 4 * 60_000;
const STEP_MS = 60_000;
/** An echo moves with the nearest storm within this distance, about the length of a long cell. */
const REACH_KM = 30;

/** Path of one pixel: start and displacement over the gap in pixels, MESH at both ends in mm. */
interface Path {
  readonly row: number;
  readonly col: number;
  readonly rows: number;
  readonly cols: number;
  readonly startMm: number;
  readonly endMm: number;
}

/**
 * Pixels >= 5 mm that storms pass over between two scans more than 4 minutes apart, in steps of 1 minute: without them the swath
 * of a fast storm is a row of separate spots. Empty for closer scans and without motions. Every pixel >= 5 mm of either scan is
 * advected with the nearest storm within 30 km; its MESH changes linearly between the values of the two scans. Values have steps of
 * 0.1 mm; of equal values the earliest counts. Ordered by rows from north, then columns from west.
 */
export function advectBetween(previous: ScanField, next: ScanField, motions: readonly StormMotion[]): FilledPixel[] {
  const gap_ms = next.scan_time - previous.scan_time;
  if (gap_ms <= GAP_MIN_MS || motions.length === 0) return [];
  const paths = [...pathsOf(previous, next, motions, 'from'), ...pathsOf(previous, next, motions, 'to')];
  const filled = new Map<number, FilledPixel>();
  for (let passed_ms = STEP_MS; passed_ms < gap_ms; passed_ms += STEP_MS) {
    const time = previous.scan_time + passed_ms;
    for (const path of paths) {
      const share = passed_ms / gap_ms;
      const mm = Math.round(10 * (path.startMm + share * (path.endMm - path.startMm))) / 10;
      const row = Math.round(path.row + share * path.rows);
      const col = Math.round(path.col + share * path.cols);
      if (mm < CELL_GROW_MM || !onLattice(row, col)) continue;
      const key = row * LATTICE.cols + col;
      if (mm > (filled.get(key)?.mm ?? 0)) filled.set(key, { row, col, mm, time });
    }
  }
  return [...filled.values()].sort((a, b) => a.row - b.row || a.col - b.col);
}

/** Paths of the pixels of one scan: those of the earlier run ahead, those of the later, which may have grown in the gap, back. */
function pathsOf(previous: ScanField, next: ScanField, motions: readonly StormMotion[], end: 'from' | 'to'): Path[] {
  const mesh = end === 'from' ? previous.mesh : next.mesh;
  const paths: Path[] = [];
  eachPixel(mesh, (row, pixel) => {
    const col = mesh.col[pixel];
    const mm = toMm(mesh.tenths[pixel]);
    const motion = mm < CELL_GROW_MM ? null : nearest(motions, end, row, col);
    if (motion === null) return;
    const rows = (motion.from.lat - motion.to.lat) / LATTICE.step;
    const cols = (motion.to.lon - motion.from.lon) / LATTICE.step;
    if (end === 'from')
      paths.push({ row, col, rows, cols, startMm: mm, endMm: mmAt(next.mesh, row + rows, col + cols) });
    else {
      const start = { row: row - rows, col: col - cols };
      paths.push({ ...start, rows, cols, startMm: mmAt(previous.mesh, start.row, start.col), endMm: mm });
    }
  });
  return paths;
}

function mmAt(mesh: HailField, row: number, col: number): number {
  return toMm(tenthsAt(mesh, Math.round(row), Math.round(col)));
}

function toMm(tenths: number): number {
  return Math.min(SIZE_CAP_MM, tenths / 10);
}

function onLattice(row: number, col: number): boolean {
  return row >= 0 && row < LATTICE.rows && col >= 0 && col < LATTICE.cols;
}

/** Motion of the storm nearest to a pixel within reach, the first of equals; null without one. */
function nearest(motions: readonly StormMotion[], end: 'from' | 'to', row: number, col: number): StormMotion | null {
  const pixel = { lat: rowLat(row), lon: colLon(col) };
  let best: StormMotion | null = null;
  let best_km = REACH_KM;
  for (const motion of motions) {
    const km = roughDistanceKm(motion[end], pixel);
    if (km < best_km) {
      best = motion;
      best_km = km;
    }
  }
  return best;
}
