import { hash } from 'node:crypto';
import { existsSync } from 'node:fs';
import type { CellHour } from '../../../pipeline/forecast/model-cells.ts';
import { publishModelHours } from '../../../pipeline/forecast/publish-forecast.ts';
import { silent } from '../../../pipeline/log.ts';
import { openRoot } from '../../../pipeline/publish/open-root.ts';
import { publishUndated } from '../../../pipeline/publish/undated.ts';
import { type CollectionName, WHOLE_COLLECTION } from '../../../schemas/collections.ts';
import type { Table } from '../../../schemas/columns.ts';
import { geohashBox } from '../../../schemas/geo/geohash.ts';
import { CONUS_CELLS } from '../../../schemas/geo/geohash4.ts';
import type { Position } from '../../../schemas/geo/position.ts';
import { combineProvenances, type MixedProvenance } from '../../../schemas/provenance.ts';
import { type Forecast, forecast, OUTLOOK_DAYS, type Outlook, outlook } from '../../../schemas/tables/forecast.ts';
import { addDays, MS_PER_HOUR, scanId } from '../../../schemas/time.ts';
import { copyFolder, prepared } from './prepared.ts';
import { NOW_MS, onRoot } from './world.ts';

/** Centre of a geohash. */
export function centreOf(hash: string): Position {
  const [west, south, east, north] = geohashBox(hash);
  return { lat: (south + north) / 2, lon: (west + east) / 2 };
}

/** Hours of one cell from one run, the first an hour after its start; alike but for `fields`. */
export function forecastRows(
  fields: Partial<Forecast> & { readonly geohash4: string },
  run: string,
  hours: number,
): Forecast[] {
  const run_time = Date.parse(run);
  return Array.from({ length: hours }, (_, k) => ({
    model: 'hrrr',
    run_time,
    runs: scanId(run_time),
    valid_time: run_time + (k + 1) * MS_PER_HOUR,
    ...centreOf(fields.geohash4),
    hail_probability: 0.1,
    estimated_size_mm: 30,
    ship: 0.8,
    risk_category: 'moderate',
    risk_score: 30,
    model_probability: fields.hail_probability ?? 0.1,
    model_size_mm: 30,
    data_source: 'observed',
    ...fields,
  }));
}

/** Seven days of one cell, alike but for `fields`. */
export function outlookRows(
  fields: Partial<Outlook> & { readonly geohash4: string },
  first_date: string,
  days = OUTLOOK_DAYS,
): Outlook[] {
  return Array.from({ length: days }, (_, k) => ({
    forecast_date: addDays(first_date, k),
    day: k + 1,
    ...centreOf(fields.geohash4),
    hail_probability_pct: 20.6,
    spc_pct: 30,
    hrrr_pct: k < 2 ? 15 : null,
    climo_pct: 2.5,
    confidence_score: 0.7,
    confidence_state: 'high',
    primary_source: 'spc',
    data_source: 'observed',
    ...fields,
  }));
}

/** Publishes rows as the whole forecast. */
export function publishForecast(path: string, rows: readonly Forecast[], now_ms: number): Promise<void> {
  return publishWhole(path, 'forecast', forecast, rows, now_ms);
}

/** Publishes rows as the whole outlook. */
export function publishOutlook(path: string, rows: readonly Outlook[], now_ms: number): Promise<void> {
  return publishWhole(path, 'outlook', outlook, rows, now_ms);
}

async function publishWhole(
  path: string,
  name: CollectionName,
  table: Table,
  rows: readonly { readonly data_source: MixedProvenance }[],
  now_ms: number,
): Promise<void> {
  if (!existsSync(path)) {
    const made_of = hash('sha256', JSON.stringify([now_ms, rows])).slice(0, 16);
    const publish = (folder: string) => publishWhole(folder, name, table, rows, now_ms);
    return copyFolder(await prepared(`${name}-${made_of}`, publish), path);
  }
  const provenance = combineProvenances(rows.map(({ data_source }) => data_source)) ?? 'observed';
  const root = await openRoot(path, 'test', 0, now_ms);
  try {
    const segment = { segment: WHOLE_COLLECTION, table, rows: [...rows], provenance };
    await publishUndated(root, [{ name, segments: [segment] }], now_ms);
  } finally {
    await root.close();
  }
}

/** Publishes the first 24 hours of a run with the same weak storm everywhere, strong in the fifth hour. Returns what changed. */
export function publishStormyHours(path: string, run_time: number): Promise<readonly CollectionName[]> {
  const everywhere = (value: number) => new Float32Array(CONUS_CELLS.length).fill(value);
  const hours = Array.from(
    { length: 24 },
    (_, k): CellHour => ({
      run_time,
      valid_time: run_time + (k + 1) * MS_PER_HOUR,
      simulated: false,
      covered: new Uint8Array(CONUS_CELLS.length).fill(1),
      largest: {
        reflectivity_dbz: everywhere(k === 4 ? 66 : 40),
        updraft_helicity_m2_s2: everywhere(0),
        hail_mm: null,
        cape_j_kg: everywhere(2000),
        ship: everywhere(1),
      },
    }),
  );
  return onRoot(path, {}, ({ root }) => publishModelHours(root, 'hrrr', hours, NOW_MS, silent));
}
