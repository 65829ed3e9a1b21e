import { boxAround } from '../../schemas/geo/around.ts';
import { cellsIn, type Geohash4Cell } from '../../schemas/geo/geohash4.ts';
import type { Position } from '../../schemas/geo/position.ts';
import { type Outlook, outlook } from '../../schemas/tables/forecast.ts';
import type { CollectionEdition } from '../published/catalog.ts';
import type { OutlookRow } from '../rules/hail-outlook.ts';
import { type Near, nearestWithin } from '../rules/nearest.ts';
import { type CellRows, type CellView, IN_PART, rowsAsJson, rowsFromJson } from './cell-rows.ts';
import { FILES } from './sql.ts';

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

interface CellDays {
  readonly geohash4: string;
  readonly last_date: string;
  readonly days: string;
}

const OUTLOOK: CellView<CellDays, ReadonlyMap<string, CellDays>> = {
  collection: 'outlook',
  statement: `SELECT geohash4, max(forecast_date)::VARCHAR AS last_date, ${rowsAsJson(outlook, DAY_COLUMNS)} AS days
    FROM ${FILES} WHERE ${IN_PART} GROUP BY geohash4`,
  make: (cells) => new Map(cells.map((cell) => [cell.geohash4, cell])),
};

/** The nearest cell within a radius that has a day from a date on, and those days; null without such a cell. */
export async function nearestOutlook(
  rows: CellRows,
  { paths }: CollectionEdition,
  position: Position & { readonly radius_km: number },
  first_date: string,
): Promise<{ readonly cell: Near<Geohash4Cell>; readonly days: OutlookRow[] } | null> {
  const cells = await rows.of(OUTLOOK, paths());
  const covered = cellsIn(boxAround(position, position.radius_km)).filter(
    ({ geohash4 }) => (cells.get(geohash4)?.last_date ?? '') >= first_date,
  );
  const cell = nearestWithin(position, covered, position.radius_km);
  if (cell === null) return null;
  const days = rowsFromJson<OutlookRow>(DAY_COLUMNS, cells.get(cell.item.geohash4)?.days ?? '[]');
  return {
    cell,
    days: days.filter(({ forecast_date }) => forecast_date >= first_date).sort((a, b) => a.day - b.day),
  };
}
