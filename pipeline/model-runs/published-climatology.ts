import type { Geohash4Cell } from '../../schemas/geo/geohash4.ts';
import { layout } from '../../schemas/layout.ts';
import type { Provenance } from '../../schemas/provenance.ts';
import { MONTHS } from '../../schemas/risk.ts';
import { climatology } from '../../schemas/tables/climatology.ts';
import { sqlList } from '../duckdb.ts';
import { usualHour } from '../forecast/diurnal-climatology.ts';
import type { HourlyClimatology } from '../forecast/hourly.ts';
import type { Climatology } from '../forecast/outlook.ts';
import { readHead, tablePaths } from '../publish/manifests.ts';
import type { Root } from '../publish/root.ts';

/** Chances of severe hail by place and month, as published; null while no climatology is. */
export async function readUsualHail(root: Pick<Root, 'engine' | 'path'>): Promise<Climatology | null> {
  const head = await readHead(root.path, layout.staticPartition);
  const paths = head === null ? [] : tablePaths(root.path, head, climatology.name);
  if (paths.length === 0) return null;
  const months = MONTHS.map((month) => `severe_${month}`).join(', ');
  const rows = await root.engine.rows<Record<string, number> & { geohash4: string; data_source: Provenance }>(
    `SELECT geohash4, data_source, ${months} FROM read_parquet(${sqlList(paths)})`,
  );
  const byCell = new Map(rows.map((row) => [row.geohash4, MONTHS.map((month) => row[`severe_${month}`] ?? null)]));
  return {
    monthly: ({ geohash4 }, month) => byCell.get(geohash4)?.[month - 1] ?? null,
    provenance: rows[0]?.data_source ?? 'observed',
  };
}

/** The same by the hour, for the hourly forecast. */
export function hourlyClimatology({ monthly }: Climatology): HourlyClimatology {
  return (cell: Geohash4Cell, valid_time: number) => {
    const time = new Date(valid_time);
    const probability = monthly(cell, time.getUTCMonth() + 1);
    if (probability === null) return null;
    const days_in_month = new Date(Date.UTC(time.getUTCFullYear(), time.getUTCMonth() + 1, 0)).getUTCDate();
    return usualHour(probability, days_in_month, valid_time, cell.lon);
  };
}
