import { LATTICE } from '../../schemas/geo/lattice.ts';
import type { Position } from '../../schemas/geo/position.ts';
import { forEachInChunks } from '../http/event-loop.ts';
import type { Engine } from '../published/duckdb.ts';
import { pixelsAround } from '../rules/pixel-distance.ts';
import { type HailPixels, IMPACT_RADIUS_M, type PixelHail } from '../rules/portfolio-impacts.ts';
import { FILES } from './sql.ts';

/** Side of the squares of pixels by which files are sorted: what cannot matter is left out square by square. */
const SQUARE_PX = 50;
/** Pixels taken over before others may run: about 3 ms. */
const CHUNK = 20_000;

const ROW = '"row"::INTEGER';
const COL = 'col::INTEGER';

/**
 * A pixel's day from the files of its stretches. A pixel that only what lies between two scans raised to 10 mm has no
 * detection.
 */
const PIXELS_SQL = `
  SELECT ${ROW} * ${LATTICE.cols} + ${COL} AS pixel, max(max_mm) AS max_mm,
    sum(detection_scans) AS detections
  FROM ${FILES}
  WHERE storm_date = $2::DATE AND NOT interpolated AND detection_scans > 0
    AND ${ROW} // ${SQUARE_PX} * ${LATTICE.cols} + ${COL} // ${SQUARE_PX} IN (SELECT unnest($3::VARCHAR[])::INTEGER)
  GROUP BY pixel`;

/**
 * Pixels with a detection on a storm date near any of the positions: all that lie within the radius of an impact, and others.
 * `paths`: files of `day-max` that hold the date.
 */
export async function readHailPixels(
  engine: Engine,
  paths: readonly string[],
  date: string,
  positions: readonly Position[],
): Promise<HailPixels> {
  const found = new Map<number, PixelHail>();
  if (paths.length === 0 || positions.length === 0) return found;
  const squares = await squaresAround(positions);
  const { pixel, max_mm, detections } = await engine.columns<'pixel' | 'max_mm' | 'detections'>(PIXELS_SQL, [
    paths,
    date,
    squares,
  ]);
  await forEachInChunks(pixel as readonly number[], CHUNK, (key, index) => {
    found.set(key, { max_mm: max_mm[index] as number, detections: detections[index] as number });
  });
  return found;
}

/** Numbers of the squares of pixels that the radius around any position touches, as text. */
async function squaresAround(positions: readonly Position[]): Promise<string[]> {
  const squares = new Set<number>();
  await forEachInChunks(positions, CHUNK, (position) => {
    const { row0, row1, col0, col1 } = pixelsAround(position, IMPACT_RADIUS_M);
    for (const row of [row0, row1])
      for (const col of [col0, col1])
        squares.add(Math.floor(row / SQUARE_PX) * LATTICE.cols + Math.floor(col / SQUARE_PX));
  });
  return [...squares].map(String);
}
