import { type CollectionName, WHOLE_COLLECTION } from '../../schemas/collections.ts';
import { CONUS_CELLS, type Geohash4Cell } from '../../schemas/geo/geohash4.ts';
import { layout } from '../../schemas/layout.ts';
import { outlookDate } from '../../schemas/outlook-day.ts';
import { combineProvenances, type Provenance } from '../../schemas/provenance.ts';
import { MONTHS } from '../../schemas/risk.ts';
import { climatology } from '../../schemas/tables/derived.ts';
import { type SpcOutlook, spcOutlooks } from '../../schemas/tables/feeds.ts';
import { type Forecast, type ForecastModel, forecast, type Outlook, outlook } from '../../schemas/tables/forecast.ts';
import { addDays } from '../../schemas/time.ts';
import { sqlList } from '../duckdb.ts';
import { isIsolated, PipelineError } from '../error.ts';
import type { Feed, FeedIdentity } from '../feed.ts';
import type { Log } from '../log.ts';
import { readInputVersions, readOutdated } from '../publish/inputs.ts';
import { publishedPaths } from '../publish/manifests.ts';
import type { Root } from '../publish/root.ts';
import { readRows } from '../publish/tables.ts';
import { publishUndated } from '../publish/undated.ts';
import { datesToCount, refreshClimatology } from './climatology.ts';
import { hourProbability } from './diurnal-climatology.ts';
import { hourlyForecast } from './hourly.ts';
import type { CellHour } from './model-cells.ts';
import { readModelHours, writeModelHours } from './model-hours.ts';
import { type Climatology, outlookMaker } from './outlook.ts';

/** Hours of the interface. */
const HOURS = 48;
/** Days from the first date for which outlooks of the Storm Prediction Center are read: they reach day 8. */
const SPC_DAYS = 8;

/**
 * Stores the hours of a model in place of all others and publishes the forecast made from them. Returns the collections whose
 * rows changed. Throws PipelineError when observed and simulated hours are mixed.
 */
export async function publishModelHours(
  root: Root,
  model: ForecastModel,
  hours: readonly CellHour[],
  now_ms: number,
  log: Log,
): Promise<readonly CollectionName[]> {
  if (new Set(hours.map(({ simulated }) => simulated)).size > 1)
    throw new PipelineError('forecast', model, 'observed and simulated runs together, expected one kind');
  await writeModelHours(root, model, hours);
  return (await publishForecast(root, now_ms, log, { model, hours })) ?? [];
}

/**
 * Makes the coming hours and the next seven days from the stored hours of a model, the outlooks of the Storm Prediction Center and
 * the climatology, and publishes both in one commit: no reader finds days made from other hours. Returns the collections whose
 * rows changed; null without any input. `fresh`: hours that were just stored, as new as the commit.
 */
export async function publishForecast(
  root: Root,
  now_ms: number,
  log: Log,
  fresh: { readonly model: ForecastModel; readonly hours: readonly CellHour[] } | null = null,
): Promise<readonly CollectionName[] | null> {
  const made_from = await readInputVersions(root.path, 'outlook');
  const stored = fresh ?? (await readModelHours(root.path, log));
  if (stored === null && Object.values(made_from).every((version) => version === 0)) return null;
  const climatology = await readClimatology(root);
  const hourly =
    climatology &&
    ((cell: Geohash4Cell, valid_time: number) => {
      const probability = climatology.monthly(cell, new Date(valid_time).getUTCMonth() + 1);
      return probability === null ? null : hourProbability(probability, valid_time, cell.lon);
    });
  const request = { after: now_ms, count: HOURS, climatology: hourly };
  const hours = stored === null ? [] : [...hourlyForecast({ ...stored, ...request })];
  const model: Provenance = stored?.hours.some(({ simulated }) => simulated) ? 'simulated' : 'observed';
  const spc = await readSpcOutlooks(root, now_ms);
  const provenance = combineProvenances([
    ...spc.map(({ data_source }) => data_source),
    ...(hours.length > 0 ? [model] : []),
    ...(climatology === null ? [] : [climatology.provenance]),
  ]);
  const rowsOf = outlookMaker({ now_ms, spc, hours, climatology });
  const whole = { segment: WHOLE_COLLECTION, provenance: provenance ?? 'observed', made_from };
  if (stored === null && (made_from[forecast.name] ?? 0) === 0) {
    const rows = CONUS_CELLS.keys().flatMap((k) => rowsOf(k).days);
    const segments = [{ ...whole, table: outlook, rows }];
    const [{ changed }] = await publishUndated(root, [{ name: 'outlook', segments }], now_ms);
    return changed ? ['outlook'] : [];
  }
  // Both tables come from one pass over the cells: the days are kept while the hours, ten times as many, are staged.
  const days: Outlook[] = [];
  const hourRows = function* (): Generator<Forecast> {
    for (const k of CONUS_CELLS.keys()) {
      const made = rowsOf(k);
      days.push(...made.days);
      yield* made.hours;
    }
  };
  const hourSegment = { segment: WHOLE_COLLECTION, table: forecast, rows: hourRows(), provenance: model };
  const parts = [
    { name: 'forecast', brings_data: fresh !== null, segments: [hourSegment] },
    { name: 'outlook', brings_data: true, segments: [{ ...whole, table: outlook, rows: days }] },
  ] as const;
  const outcomes = await publishUndated(root, parts, now_ms);
  return parts.flatMap(({ name }, k) => (outcomes[k]?.changed === true ? [name] : []));
}

/** Outlooks of the Storm Prediction Center for the days of an outlook made now. */
async function readSpcOutlooks(root: Root, now_ms: number): Promise<SpcOutlook[]> {
  const first_date = outlookDate(now_ms);
  const paths = await publishedPaths(root.path, layout.collectionPartition('outlooks'), spcOutlooks);
  const dates = `forecast_date BETWEEN '${first_date}' AND '${addDays(first_date, SPC_DAYS)}'`;
  return readRows<SpcOutlook>(root.engine, spcOutlooks, paths, dates);
}

/** Published probabilities of severe hail by place and month; null while no climatology is published. */
async function readClimatology(root: Pick<Root, 'engine' | 'path'>): Promise<Climatology | null> {
  const paths = await publishedPaths(root.path, layout.staticPartition, climatology);
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

/** Outcome of a refresh. */
export type Refreshed = Awaited<ReturnType<typeof refreshForecast>>;

/**
 * Makes the climatology when it is due, and the forecast when an input has another commit than the one it was made from: a process
 * may have been killed between the two commits. Every command that writes ends with this.
 */
export async function refreshForecast(root: Root, now_ms: number, log: Log) {
  const failed: { table: string; reason: string }[] = [];
  const attempt = async <T>(table: string, make: () => Promise<T>): Promise<T | null> => {
    try {
      return await make();
    } catch (error) {
      if (!isIsolated(error)) throw error;
      failed.push({ table, reason: error.message });
      log.warn('Table:Refresh:Failed', { table, reason: error.message });
      return null;
    }
  };
  const climatology = await attempt('climatology', () => refreshClimatology(root, now_ms, log));
  const outdated = (await readOutdated(root.path)).find(({ table }) => table === 'outlook');
  const forecast = outdated === undefined ? null : await attempt('outlook', () => publishForecast(root, now_ms, log));
  if (outdated !== undefined && forecast !== null)
    log.info('Table:Refresh:Done', { table: outdated.table, reason: outdated.reason });
  return {
    /** Null when the climatology was not due or failed. */
    climatology,
    climatology_failure: failed.find(({ table }) => table === 'climatology')?.reason ?? null,
    /** Collections and static tables whose rows changed. */
    changed: [...(climatology?.changed ? ['climatology'] : []), ...(forecast ?? [])],
    /** Tables that cannot be made, with the reason; their published rows stay. */
    failed,
  };
}

/** Polled daily, remade weekly. */
export const CLIMATOLOGY_FEED: FeedIdentity = { name: 'climatology', collection: 'climatology', every_s: 24 * 3600 };
/** The blend follows its components, the fastest of which change every hour. */
export const OUTLOOK_FEED: FeedIdentity = { name: 'outlook', collection: 'outlook', every_s: 3 * 3600 };

/** The climatology, made from all closed storm dates when it is due. */
export function climatologyFeed(log: Log): Feed {
  return madeFeed(CLIMATOLOGY_FEED, async (root, now_ms) => {
    const made = await refreshClimatology(root, now_ms, log);
    // A success before the first date is closed would delay the next poll by a day.
    const failure = datesToCount(root) === null ? 'no storm date is closed, expected at least one' : null;
    return { failure, changed: made === null ? [] : ['climatology'] };
  });
}

/** The hours and days of the forecast, made again from published tables: the days move on with the clock. */
export function outlookFeed(log: Log): Feed {
  return madeFeed(OUTLOOK_FEED, async (root, now_ms) => {
    const changed = await publishForecast(root, now_ms, log);
    // A new root has no components yet. A success would delay the next poll by hours.
    const failure = changed === null ? 'none of its components is published, expected at least one' : null;
    return { failure, changed: changed ?? [] };
  });
}

/** Feed of a table that is made from published ones: its poll reads nothing. */
function madeFeed(
  identity: FeedIdentity,
  make: (root: Root, now_ms: number) => Promise<{ failure: string | null; changed: readonly string[] }>,
): Feed {
  const publish = async (root: Root, now_ms: number) => {
    const { failure, changed } = await make(root, now_ms);
    return { failure: failure === null ? null : `${identity.name}: ${failure}`, files: [], changed };
  };
  return { ...identity, poll: async (now_ms) => ({ publish: (root) => publish(root, now_ms) }) };
}
