import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readProbSevere } from '../../../pipeline/read/probsevere.ts';
import { type Vector, velocityOf } from '../../../pipeline/track/motion.ts';
import type { TrackCell } from '../../../pipeline/track/track-cell.ts';
import { fillPolygons } from '../../../schemas/geo/fill.ts';
import { colLon, LATTICE, pixelAreaKm2, rowLat } from '../../../schemas/geo/lattice.ts';
import { multiPolygonFromWkt } from '../../../schemas/geo/wkt.ts';

const WHOLE = { row0: 0, col0: 0, rows: LATTICE.rows, cols: LATTICE.cols };
/** Size of an object without MESH: the tracker compares logarithms. */
const SIZE_MIN_MM = 0.3;

/** An object of a ProbSevere file as a cell, with NOAA's number for the storm and NOAA's motion in km/min. */
export interface StormObject extends TrackCell {
  readonly probsevere_id: string;
  readonly velocity: Vector | null;
}

/** The objects of one file. */
export interface ObjectScan {
  readonly scan_time: number;
  readonly cells: readonly StormObject[];
}

/**
 * The ProbSevere files of an evening (YYYYMMDD) in order of time, without the few objects that hold no pixel's centre.
 * The tracker is told nothing of NOAA's motion.
 */
export async function stormObjects(folder: string, day: string): Promise<ObjectScan[]> {
  const names = (await readdir(folder)).filter((name) => name.includes(day)).sort();
  const scans: ObjectScan[] = [];
  for (const name of names) {
    const { valid_time, objects } = readProbSevere(await readFile(join(folder, name)), name);
    const cells = objects.flatMap((object, cell_index): StormObject[] => {
      const { speed_kmh, direction_deg } = object;
      const still = speed_kmh === null || direction_deg === null;
      const size_mm = Math.max(SIZE_MIN_MM, object.mesh_mm ?? 0);
      const cell = cellOf(object.geometry, cell_index, size_mm);
      const velocity = still ? null : velocityOf({ speed_kmh, direction_deg });
      return cell.rows.length === 0 ? [] : [{ ...cell, probsevere_id: object.probsevere_id, velocity }];
    });
    scans.push({ scan_time: valid_time, cells });
  }
  return scans;
}

/** The pixels inside an outline as a cell of one value. */
function cellOf(wkt: string, cell_index: number, estimated_size_mm: number): TrackCell {
  const runs = fillPolygons(multiPolygonFromWkt(wkt), WHOLE);
  const rows: number[] = [];
  const cols: number[] = [];
  runs.row.forEach((row, k) => {
    for (let col = runs.start[k]; col < runs.end[k]; col++) {
      rows.push(row);
      cols.push(col);
    }
  });
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const lat = mean(rows.map((row) => rowLat(row)));
  const lon = mean(cols.map((col) => colLon(col)));
  return {
    cell_index,
    ...{ lat, lon, centroid_lat: lat, centroid_lon: lon },
    area_km2: rows.reduce((sum, row) => sum + pixelAreaKm2(row), 0),
    estimated_size_mm,
    rows: Uint16Array.from(rows),
    cols: Uint16Array.from(cols),
    tenths: new Uint16Array(rows.length).fill(Math.round(10 * estimated_size_mm)),
    motion_hint: null,
  };
}
