import { frames } from '../../schemas/tables/frames.ts';
import type { Edition } from '../catalog.ts';
import type { Queries } from '../duckdb.ts';
import { FILES } from './select.ts';

/** A storm date of which scans are missing for whole hours. */
export interface DateSeenInPart {
  readonly date: string;
  /** Hours of its 24 in which at least one scan was taken in. */
  readonly hours: number;
}

const HOURS_OF_A_DATE = 24;
/** A storm date begins with a full hour, so that it holds 24 of the clock. */
const HOURS_SQL = `
  SELECT storm_date::VARCHAR AS date, count(DISTINCT date_trunc('hour', scan_time))::INTEGER AS hours FROM ${FILES}
  WHERE storm_date BETWEEN $2::DATE AND $3::DATE GROUP BY ALL HAVING hours < ${HOURS_OF_A_DATE} ORDER BY date`;

/**
 * Storm dates from one to another, both included, with an hour without a scan, ascending: the date still runs, the data begin
 * or end on it, or something failed. Of a date that came as the sum of a whole day no scans are known; it is not among them.
 */
export async function datesSeenInPart(
  engine: Queries,
  edition: Pick<Edition, 'paths' | 'datesBetween'>,
  first: string,
  last: string,
): Promise<DateSeenInPart[]> {
  const paths = edition.paths(frames.name, edition.datesBetween(first, last));
  return paths.length === 0 ? [] : engine.rows<DateSeenInPart>(HOURS_SQL, [paths, first, last]);
}
