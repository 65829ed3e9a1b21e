import { LATTICE } from '../../schemas/geo/lattice.ts';
import { forEachInChunks } from '../http/event-loop.ts';
import type { Engine } from '../published/duckdb.ts';
import type { HailPixels, PixelHail } from '../rules/portfolio-impacts.ts';
import { FILES } from './sql.ts';

/** Pixels taken over before others may run: about 3 ms. */
const CHUNK = 20_000;

/**
 * A pixel's day from the files of its stretches. A pixel that only what lies between two scans raised to 10 mm has no
 * detection.
 */
const PIXELS_SQL = `
  SELECT "row"::INTEGER * ${LATTICE.cols} + col AS pixel, max(max_mm) AS max_mm, sum(detection_scans) AS detections
  FROM ${FILES} WHERE storm_date = $2::DATE AND NOT interpolated AND detection_scans > 0 GROUP BY pixel`;

/** Pixels with a detection on a storm date. `paths`: files of `day-max` that hold the date. */
export async function readHailPixels(engine: Engine, paths: readonly string[], date: string): Promise<HailPixels> {
  const found = new Map<number, PixelHail>();
  if (paths.length === 0) return found;
  const { pixel, max_mm, detections } = await engine.columns<'pixel' | 'max_mm' | 'detections'>(PIXELS_SQL, [
    paths,
    date,
  ]);
  await forEachInChunks(pixel as readonly number[], CHUNK, (key, index) => {
    found.set(key, { max_mm: max_mm[index] as number, detections: detections[index] as number });
  });
  return found;
}
