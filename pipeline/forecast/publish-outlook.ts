import { type CollectionName, WHOLE_COLLECTION } from '../../schemas/collections.ts';
import { rowsSql } from '../../schemas/columns.ts';
import { CONUS_CELLS } from '../../schemas/geo/geohash4.ts';
import { layout } from '../../schemas/layout.ts';
import { combineProvenances, type Provenance } from '../../schemas/provenance.ts';
import { MONTHS } from '../../schemas/risk.ts';
import { climatology } from '../../schemas/tables/derived.ts';
import { type SpcOutlook, spcOutlooks } from '../../schemas/tables/feeds.ts';
import { type Forecast, forecast, type Outlook, outlook } from '../../schemas/tables/forecast.ts';
import { addDays } from '../../schemas/time.ts';
import { sqlList } from '../duckdb.ts';
import { DERIVED_OUTLOOK, readInputVersions } from '../publish/derived.ts';
import { publishedPaths, readHead, tablePaths } from '../publish/manifests.ts';
import type { Root } from '../publish/root.ts';
import { readRows } from '../publish/tables.ts';
import type { UndatedPart } from '../publish/undated.ts';
import { type HourColumns, type HourFacts, hourColumns, type ModelRow, modelProbability } from './hour-columns.ts';
import { type CellOutlook, type Climatology, firstOutlookDate, outlookMaker } from './outlook.ts';

/** Days from the first date for which outlooks of the Storm Prediction Center are read: they reach day 8. */
const SPC_DAYS = 8;

/** Hours of a model as they came, before those of a day are shifted. */
export interface ModelHours {
  readonly hours: readonly HourColumns[];
  readonly provenance: Provenance;
  /** The hours as they are published, shifted; null for new hours, and for those of an earlier version, which were not shifted. */
  readonly published: readonly HourColumns[] | null;
  /** False for hours that are published already. */
  readonly is_new: boolean;
}

/**
 * Publishes the outlook of the next seven days from its published components, in place of the previous one, and the published
 * hours shifted to agree with it. Returns the collections whose rows changed; null when no component is published.
 */
export async function publishOutlook(root: Root, now_ms: number): Promise<readonly CollectionName[] | null> {
  const versions = await readInputVersions(root.path, DERIVED_OUTLOOK);
  if (Object.values(versions).every((version) => version === 0)) return null;
  return publishDays(root, await publishedHours(root), now_ms);
}

/**
 * Publishes hours of a model and the days that are blended from them, in one commit: a reader never finds days that were
 * made from other hours. Without hours (null), the days alone. Returns the collections whose rows changed.
 */
export async function publishDays(root: Root, model: ModelHours | null, now_ms: number): Promise<CollectionName[]> {
  const made_from = await readInputVersions(root.path, DERIVED_OUTLOOK);
  const first_date = firstOutlookDate(now_ms);
  const last_date = addDays(first_date, SPC_DAYS);
  const climatology = await readClimatology(root);
  const dates = `forecast_date BETWEEN '${first_date}' AND '${last_date}'`;
  const spc_paths = await publishedPaths(root.path, layout.collectionPartition('outlooks'), spcOutlooks);
  const spc = await readRows<SpcOutlook>(root.engine, spcOutlooks, spc_paths, dates);
  const provenances = [...spc.map(({ data_source }) => data_source), model?.provenance, climatology?.provenance];
  const rowsOf = outlookMaker({ now_ms, spc, hours: model?.hours ?? [], climatology });
  // Most changes of the days leave the hours as they are: ten times as many rows are then not written.
  const kept = model === null || model.published === null ? null : daysOfSameHours(rowsOf, model.published);
  // Both tables come from one pass over the cells: the days are kept while the hours, ten times as many, are staged.
  const days: Outlook[] = [];
  const hours = function* (): Generator<Forecast> {
    for (const k of CONUS_CELLS.keys()) {
      const made = rowsOf(k);
      days.push(...made.days);
      yield* made.hours;
    }
  };
  const parts: UndatedPart[] = [
    {
      name: 'outlook',
      brings_data: true,
      segments: [
        {
          segment: WHOLE_COLLECTION,
          table: outlook,
          rows: kept ?? (model === null ? CONUS_CELLS.keys().flatMap((k) => rowsOf(k).days) : days),
          provenance: combineProvenances(provenances.filter((one) => one !== undefined)) ?? 'observed',
          made_from,
        },
      ],
    },
  ];
  if (model !== null && kept === null) {
    const segment = { segment: WHOLE_COLLECTION, table: forecast, rows: hours(), provenance: model.provenance };
    parts.unshift({ name: 'forecast', brings_data: model.is_new, segments: [segment] });
  }
  const published = await root.publishTogether(parts, now_ms);
  return (['forecast', 'outlook'] as const).filter((name) =>
    published.some(({ changed }, index) => changed && parts[index].name === name),
  );
}

/** The days of all cells; null when an hour of one differs from the published one. */
function daysOfSameHours(rowsOf: (k: number) => CellOutlook, published: readonly HourColumns[]): Outlook[] | null {
  const days: Outlook[] = [];
  for (const k of CONUS_CELLS.keys()) {
    const made = rowsOf(k);
    const known = published.filter(({ covered }) => covered[k] === 1).map((hour) => modelProbability(hour, k));
    if (made.hours.some(({ hail_probability }, index) => hail_probability !== known[index])) return null;
    days.push(...made.days);
  }
  return days;
}

/** The published hours as the model gave them, a million rows on a day of long runs; null while no forecast was published. */
async function publishedHours(root: Root): Promise<ModelHours | null> {
  const head = await readHead(root.path, layout.collectionPartition('forecast'));
  const paths = head === null ? [] : tablePaths(root.path, head, forecast.name);
  if (paths.length === 0) return null;
  const isShifted = head?.files.every(({ schema_version }) => schema_version === forecast.schema_version) ?? false;
  const published = rowsSql(sqlList(paths));
  const facts = await root.engine.rows<HourFacts>(
    `SELECT DISTINCT model, epoch_ms(run_time)::DOUBLE AS run_time, runs, epoch_ms(valid_time)::DOUBLE AS valid_time, data_source
     FROM (${published})`,
  );
  const reader = await root.engine.connection.runAndReadAll(
    // Hours of version 1 were not shifted: they are the model's own.
    `SELECT geohash4, epoch_ms(valid_time)::DOUBLE AS valid_time, coalesce(model_probability, hail_probability),
       coalesce(model_size_mm, estimated_size_mm), ship, hail_probability FROM (${published})`,
  );
  // DuckDB returns no columns for a forecast without rows, whose hours are all over.
  type Values = (number | null)[];
  const columns = reader.getColumnsJS() as Partial<[string[], number[], Values, Values, Values, Values]>;
  const [geohash4 = [], valid_time = [], own = [], size_mm = [], ship = [], shifted = []] = columns;
  const byTime = new Map(facts.map((hour) => [hour.valid_time, hour]));
  const rowsWith = (probability: Values) =>
    geohash4.values().map(
      (cell, index): ModelRow => ({
        ...(byTime.get(valid_time[index]) as HourFacts),
        geohash4: cell,
        model_probability: probability[index],
        model_size_mm: size_mm[index],
        ship: ship[index],
      }),
    );
  return {
    hours: hourColumns(rowsWith(own)),
    provenance: facts[0]?.data_source ?? 'observed',
    published: isShifted ? hourColumns(rowsWith(shifted)) : null,
    is_new: false,
  };
}

/** Published probabilities of severe hail by place and month; null while no climatology is published. */
export async function readClimatology(root: Pick<Root, 'engine' | 'path'>): Promise<Climatology | null> {
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
