import { boxAround } from '../../schemas/geo/around.ts';
import type { Position } from '../../schemas/geo/position.ts';
import { dayMax } from '../../schemas/tables/day-max.ts';
import type { Edition } from '../catalog.ts';
import type { Queries } from '../duckdb.ts';
import { pixelsAround } from '../rules/pixel-distance.ts';
import type { PixelDay } from '../rules/verification.ts';
import { FILES, selectList } from './select.ts';

/** What is asked: every pixel around a point on each of some storm dates. */
export interface PointPixelsQuestion extends Position {
  readonly radius_km: number;
  /** Storm dates, both included. */
  readonly first: string;
  readonly last: string;
  /** Smallest MESH that matters. */
  readonly min_mm: number;
}

const COLUMNS = [
  'storm_date',
  'row',
  'col',
  'max_mm',
  'max_time',
  'first_detected',
  'last_detected',
  'detection_scans',
] as const satisfies readonly (keyof PixelDay)[];

const PIXELS_SQL = `
  SELECT ${selectList(dayMax, COLUMNS)} FROM ${FILES}
  WHERE "row" BETWEEN $2::USMALLINT AND $3::USMALLINT AND col BETWEEN $4::USMALLINT AND $5::USMALLINT
    AND max_mm >= $6 AND NOT interpolated AND storm_date BETWEEN $7::DATE AND $8::DATE`;

/**
 * Rows of the day maxima that scans saw in the box around a point, in no order: all within the radius, and others in the corners. A pixel
 * of a running date may have several, which add up.
 */
export async function pointPixels(
  engine: Queries,
  edition: Edition,
  question: PointPixelsQuestion,
): Promise<PixelDay[]> {
  const { first, last, radius_km, min_mm } = question;
  const { row0, row1, col0, col1 } = pixelsAround(question, 1000 * radius_km);
  if (row0 > row1 || col0 > col1) return [];
  const paths = edition.dayMaxPaths(first, last, { bbox: boxAround(question, radius_km), min_size_mm: min_mm });
  if (paths.length === 0) return [];
  return engine.rows<PixelDay>(PIXELS_SQL, [paths, row0, row1, col0, col1, min_mm, first, last]);
}
