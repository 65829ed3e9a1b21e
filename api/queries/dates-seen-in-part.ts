import { existsSync } from 'node:fs';
import type { DateSeenInPart } from '../../schemas/resources/verification.ts';
import { frames } from '../../schemas/tables/frames.ts';
import type { Edition } from '../catalog.ts';
import type { Queries } from '../duckdb.ts';

const HOURS_OF_A_DATE = 24;
/** Files whose hours are remembered, some 200 bytes each: ten years of closed dates, and a running one. */
const FILES_KEPT = 4096;
/** Hours of the clock in which a file has a scan, a bit each. A storm date begins with a full hour, so that it holds 24 of them. */
const HOURS_SQL = `
  SELECT filename AS path, bit_or(1 << date_part('hour', scan_time)::INTEGER)::INTEGER AS hours
  FROM read_parquet($1::VARCHAR[], hive_partitioning = false, filename = true) GROUP BY ALL`;

/** By path, read longest ago first: published files never change under their name. */
const hoursOfFile = new Map<string, number>();

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
  const files = edition.datesBetween(first, last).map((date) => ({ date, paths: edition.paths(frames.name, [date]) }));
  const hours = await hoursOf(
    engine,
    files.flatMap(({ paths }) => paths),
  );
  return files
    .filter(({ paths }) => paths.length > 0)
    .map(({ date, paths }) => ({ date, hours: counted(paths.reduce((all, path) => all | (hours.get(path) ?? 0), 0)) }))
    .filter((date) => date.hours < HOURS_OF_A_DATE);
}

/** The hours of each file. One that has gone is read, and so fails, although it is remembered. */
async function hoursOf(engine: Queries, paths: readonly string[]): Promise<ReadonlyMap<string, number>> {
  const known = new Map(
    paths.flatMap((path) => {
      const hours = hoursOfFile.get(path);
      return hours === undefined || !existsSync(path) ? [] : [[path, hours] as const];
    }),
  );
  const unknown = paths.filter((path) => !known.has(path));
  if (unknown.length === 0) return known;
  const rows = await engine.rows<{ path: string; hours: number }>(HOURS_SQL, [unknown]);
  for (const { path, hours } of rows) {
    known.set(path, hours);
    hoursOfFile.set(path, hours);
    if (hoursOfFile.size > FILES_KEPT) hoursOfFile.delete(hoursOfFile.keys().next().value as string);
  }
  return known;
}

/** Bits that are set. */
function counted(bits: number): number {
  let count = 0;
  for (let left = bits; left !== 0; left &= left - 1) count += 1;
  return count;
}
