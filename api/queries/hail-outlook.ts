import { boxAround } from '../../schemas/geo/around.ts';
import { cellsIn, type Geohash4Cell } from '../../schemas/geo/geohash4.ts';
import type { Position } from '../../schemas/geo/position.ts';
import { type Outlook, outlook } from '../../schemas/tables/forecast.ts';
import type { CollectionEdition } from '../published/catalog.ts';
import type { Queries } from '../published/duckdb.ts';
import type { OutlookRow } from '../rules/hail-outlook.ts';
import { type Near, nearestWithin } from '../rules/nearest.ts';
import { FILES, selectList } from './sql.ts';

const DAY_COLUMNS = [
  'forecast_date',
  'day',
  'hail_probability_pct',
  'spc_pct',
  'hrrr_pct',
  'climo_pct',
  'confidence_score',
  'confidence_state',
  'primary_source',
  'hourly_pct',
  'data_source',
] as const satisfies readonly (keyof Outlook)[];

const DAYS_SQL = `
  SELECT geohash4, ${selectList(outlook, DAY_COLUMNS)} FROM ${FILES}
  WHERE forecast_date >= $2::DATE AND geohash4 BETWEEN $4 AND $5 AND geohash4 IN (SELECT unnest($3::VARCHAR[])) ORDER BY day`;

/** The nearest cell within a radius that has a day from a date on, and those days; null without such a cell. */
export async function nearestOutlook(
  engine: Queries,
  { paths }: CollectionEdition,
  position: Position & { readonly radius_km: number },
  first_date: string,
): Promise<{ readonly cell: Near<Geohash4Cell>; readonly days: OutlookRow[] } | null> {
  const files = paths();
  const near = cellsIn(boxAround(position, position.radius_km));
  if (files.length === 0 || near.length === 0) return null;
  const names = near.map(({ geohash4 }) => geohash4).sort();
  // The bounds leave out most of the file by its statistics.
  const bounds = [names[0] as string, names.at(-1) as string];
  const rows = await engine.rows<OutlookRow & { readonly geohash4: string }>(DAYS_SQL, [
    files,
    first_date,
    names,
    ...bounds,
  ]);
  const daysOf = Map.groupBy(rows, ({ geohash4 }) => geohash4);
  const covered = near.filter(({ geohash4 }) => daysOf.has(geohash4));
  const cell = nearestWithin(position, covered, position.radius_km);
  return cell === null ? null : { cell, days: daysOf.get(cell.item.geohash4) ?? [] };
}
