import type { Geohash4Cell } from '../../schemas/geo/geohash4.ts';
import type { Position } from '../../schemas/geo/position.ts';
import type { HailOutlook, OutlookDay } from '../../schemas/resources/outlook.ts';
import type { Outlook } from '../../schemas/tables/forecast.ts';
import { stormDate, timestamp } from '../../schemas/time.ts';
import type { Near } from './nearest.ts';
import { rounded } from './rounded.ts';

/** Hour of UTC at which the days of outlooks begin. */
const DAY_START_HOUR = 12;

export type OutlookRow = Omit<Outlook, 'geohash4' | 'lat' | 'lon'>;

/** Date of the day of outlooks that is running: that of the last 12 UTC. Earlier days are over. */
export function runningOutlookDate(now_ms: number): string {
  return stormDate(now_ms, DAY_START_HOUR);
}

/** The outlook at a point from that of the nearest cell; null where no cell is near enough. */
export function hailOutlook(
  { lat, lon }: Position,
  found: { readonly cell: Near<Geohash4Cell>; readonly days: readonly OutlookRow[] } | null,
  data_as_of: number | null,
): HailOutlook {
  return {
    location: { lat: rounded(lat, 5), lon: rounded(lon, 5) },
    covered: found !== null,
    cell:
      found === null ? null : { geohash4: found.cell.item.geohash4, distance_km: rounded(found.cell.distance_km, 2) },
    outlook: (found?.days ?? []).map(dayOf),
    data_as_of: timestamp(data_as_of),
  };
}

function dayOf(row: OutlookRow): OutlookDay {
  return {
    day: row.day,
    forecast_date: row.forecast_date,
    hail_probability: rounded(row.hail_probability_pct, 1),
    // Earlier files have no word for climatology alone.
    confidence: { score: rounded(row.confidence_score, 3), state: row.confidence_state ?? 'low' },
    primary_source: row.primary_source,
    components: {
      spc_pct: rounded(row.spc_pct, 1),
      hrrr_pct: rounded(row.hrrr_pct, 1),
      climo_pct: rounded(row.climo_pct, 1),
    },
    // Not rounded to tenths: the complements of the hours multiply to that of the day.
    hourly: row.hourly_pct?.split(' ').map(Number) ?? null,
  };
}
