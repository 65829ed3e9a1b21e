import { WHOLE_COLLECTION } from '../../schemas/collections.ts';
import { layout } from '../../schemas/layout.ts';
import { combineProvenances, type Provenance } from '../../schemas/provenance.ts';
import { forecast } from '../../schemas/tables/forecast.ts';
import { outlook } from '../../schemas/tables/outlook.ts';
import { type SpcOutlook, spcOutlooks } from '../../schemas/tables/spc-outlooks.ts';
import { addDays } from '../../schemas/time.ts';
import { sqlList } from '../duckdb.ts';
import { type ForecastHour, firstOutlookDate, outlookRows } from '../forecast/outlook.ts';
import { DERIVED_OUTLOOK, readInputVersions } from '../publish/derived.ts';
import { publishedPaths } from '../publish/manifests.ts';
import type { Root } from '../publish/root.ts';
import { readRows } from '../publish/tables.ts';
import { readClimatology } from './publish-forecast.ts';

/** Days from the first date for which outlooks of the Storm Prediction Center are read: they reach day 8. */
const SPC_DAYS = 8;

/**
 * Publishes the outlook of the next seven days from its published components, in place of the previous one. Returns whether
 * anything changed; null when no component is published.
 */
export async function publishOutlook(root: Root, now_ms: number): Promise<boolean | null> {
  const made_from = await readInputVersions(root.path, DERIVED_OUTLOOK);
  const first_date = firstOutlookDate(now_ms);
  const last_date = addDays(first_date, SPC_DAYS);
  const climatology = await readClimatology(root);
  const dates = `forecast_date BETWEEN '${first_date}' AND '${last_date}'`;
  const spc_paths = await publishedPaths(root.path, layout.collectionPartition('outlooks'), spcOutlooks);
  const spc = await readRows<SpcOutlook>(root.engine, spcOutlooks, spc_paths, dates);
  const hours = await forecastHours(root);
  if (Object.values(made_from).every((version) => version === 0)) return null;
  const provenances = [...spc.map(({ data_source }) => data_source), hours.provenance, climatology?.provenance ?? null];
  const rowsByCell = outlookRows({ first_date, spc, forecast: hours.rows, climatology });
  const segment = {
    segment: WHOLE_COLLECTION,
    table: outlook,
    rows: rowsByCell.flatMap((rows) => rows.values()),
    provenance: combineProvenances(provenances.filter((one) => one !== null)) ?? 'observed',
    made_from,
  };
  return (await root.publishUndated('outlook', [segment], now_ms)).changed;
}

/** The columns of the published forecast that the outlook uses: a million rows on a day of long runs. */
async function forecastHours(
  root: Root,
): Promise<{ readonly provenance: Provenance | null; readonly rows: Iterable<ForecastHour> }> {
  const paths = await publishedPaths(root.path, layout.collectionPartition('forecast'), forecast);
  if (paths.length === 0) return { provenance: null, rows: [] };
  const reader = await root.engine.connection.runAndReadAll(
    `SELECT geohash4, epoch_ms(valid_time)::DOUBLE AS valid_time, hail_probability, data_source
     FROM read_parquet(${sqlList(paths)}) ORDER BY ${forecast.order}`,
  );
  // DuckDB returns no columns for a forecast without rows, whose hours are all over.
  const columns = reader.getColumnsJS() as Partial<[string[], number[], (number | null)[], Provenance[]]>;
  const [geohash4 = [], valid_time = [], hail_probability = [], data_source = []] = columns;
  const rows = geohash4.values().map((cell, index) => ({
    geohash4: cell,
    valid_time: valid_time[index],
    hail_probability: hail_probability[index],
    data_source: data_source[index],
  }));
  return { provenance: data_source[0] ?? null, rows };
}
