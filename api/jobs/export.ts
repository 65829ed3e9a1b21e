import { rm } from 'node:fs/promises';
import { type Column, columnNotes, columns } from '../../schemas/columns.ts';
import { convexHull, geodesicAreaKm2 } from '../../schemas/geo/hull.ts';
import { LATTICE } from '../../schemas/geo/lattice.ts';
import { CONUS } from '../../schemas/geo/position.ts';
import { polygonToWkt } from '../../schemas/geo/wkt.ts';
import { MixedProvenance } from '../../schemas/provenance.ts';
import {
  type Dataset,
  EXPORT_ROW_CAPS,
  type ExportFormat,
  type ExportParams,
  type ExportSummary,
} from '../../schemas/resources/export-job.ts';
import { EXPORT_TABLES } from '../../schemas/resources/export-rows.ts';
import { EVENT_MIN_MM, SIZE_BANDS } from '../../schemas/size.ts';
import { dayMax, detections } from '../../schemas/tables/radar.ts';
import { addDays, monthOf, timestamp, utcDate } from '../../schemas/time.ts';
import type { Edition } from '../published/catalog.ts';
import { JOBS, openFilesEngine, type Queries, type SqlParameter, sqlText } from '../published/duckdb.ts';
import { collectedDates, datesWithoutData } from '../queries/dates-without-data.ts';
import { FILES, regionFilter } from '../queries/sql.ts';
import { swathOf } from '../queries/swaths.ts';
import { type Region, regionOf } from '../rules/region.ts';
import { rounded } from '../rules/rounded.ts';
import type { MadeFile, MakeFile } from './kinds.ts';

/** Clips the request: bbox to CONUS, a range that reaches ahead to today (UTC). */
export function servedParams(asked: ExportParams, now_ms: number): ExportParams {
  const today = utcDate(now_ms);
  const is_ahead = asked.date_end > today;
  return {
    ...asked,
    bbox: asked.bbox === null ? null : regionOf(asked).bbox,
    date_end: is_ahead ? today : asked.date_end,
  };
}

/** Makes the file of an export of the edition that is current when it begins, whatever is committed meanwhile. */
export const makeExport: MakeFile<ExportParams, ExportSummary> = ({ params, path, services, signal }) =>
  writeExport(services.catalog.edition(), params, path, signal);

/**
 * Writes the rows of an edition, at most `cap`. The engine may open only the files it reads, the file it writes and a folder for
 * temporary data. Throws the reason of `signal` when it aborts, and QueryTimeout.
 */
export async function writeExport(
  edition: Edition,
  params: ExportParams,
  path: string,
  signal: AbortSignal,
  cap = EXPORT_ROW_CAPS[params.dataset],
): Promise<MadeFile<ExportSummary>> {
  const { dataset, date_start, date_end, format } = params;
  const question = { edition, first: date_start, last: date_end, region: regionOf(params) };
  const spill_folder = `${path}.spill`;
  const engine = openFilesEngine([...filesOf(dataset, question), path], JOBS, spill_folder);
  const stop = () => void engine.close();
  signal.addEventListener('abort', stop);
  try {
    signal.throwIfAborted();
    const rows = await ROWS_OF[dataset](engine, question, cap);
    await engine.rows(copyStatement({ params, rows, path }), rows.parameters);
    const { row_count, truncated, data_as_of_ms, data_source } = rows;
    const { extension, media_type } = FILE_KINDS[format];
    return {
      media_type,
      file_name: `hail-${dataset}-${regionWord(params)}-${date_start}-${date_end}.${extension}`,
      summary: { row_count, truncated },
      data_as_of_ms,
      data_source,
    };
  } catch (error) {
    throw signal.aborted ? signal.reason : error;
  } finally {
    signal.removeEventListener('abort', stop);
    await engine.close();
    await rm(spill_folder, { recursive: true, force: true });
  }
}

/** The region of an export in a file name: the code of a state, the sides of a box from west to north, or conus. */
function regionWord({ bbox, state }: ExportParams): string {
  if (state !== null) return state;
  if (bbox === null) return 'conus';
  const side = (deg: number, [positive, negative]: string) =>
    `${rounded(Math.abs(deg), 4)}${deg < 0 ? negative : positive}`;
  const [west, south, east, north] = bbox;
  return [side(west, 'EW'), side(south, 'NS'), side(east, 'EW'), side(north, 'NS')].join('-');
}

/** What rows are asked for, of one edition; from the first to the last storm date, both included. */
type RowsQuestion = Readonly<{ edition: Edition; first: string; last: string; region: Region }>;

/** Rows of a file, counted before they are written, and what the file says of them. */
interface ExportRows {
  /** A query with the columns of the dataset in any order, points left out; a hull is its text. */
  readonly sql: string;
  readonly parameters: readonly SqlParameter[];
  /** So many rows of the query go into the file, the first in its order. */
  readonly row_count: number;
  readonly truncated: boolean;
  /** Provenance of the rows; if there are none, of the files searched; null if no file was searched. */
  readonly data_source: MixedProvenance | null;
  /** Epoch milliseconds. */
  readonly data_as_of_ms: number | null;
  /** Storm dates asked for of which nothing was taken in, ascending: that there are no rows of them says nothing. */
  readonly dates_without_data: readonly string[];
  /** Why having no rows does not mean that there was nothing; null where it does. */
  readonly note: string | null;
}

/** Counts the rows of each dataset; beyond `cap` the latest are left out. */
const ROWS_OF: Readonly<
  Record<Dataset, (queries: Queries, question: RowsQuestion, cap: number) => Promise<ExportRows>>
> = { detections: detectionRows, swaths: swathRows, reports: reportRows };

/** The files that the rows of a dataset are read from. */
function filesOf(dataset: Dataset, question: RowsQuestion): readonly string[] {
  if (dataset === 'reports')
    return [...reportFiles(question), ...(question.edition.collection('reports')?.collected_paths ?? [])];
  const tables = dataset === 'detections' ? [detections] : [detections, dayMax];
  return tables.flatMap(({ name }) => radarFiles(question, name));
}

function radarFiles({ edition, first, last, region }: RowsQuestion, table: string): readonly string[] {
  return edition.paths(table, edition.datesBetween(first, last), { bbox: region.bbox });
}

const NO_SCANS = 'no scan of these dates was taken in: no rows does not mean no hail';
const NO_REPORTS = 'no ground report was ever taken in: no rows does not mean no reports';

function observedOn({ edition, first, last, region }: RowsQuestion) {
  const dates = edition.datesBetween(first, last);
  const data_source = edition.provenanceOf(dates);
  return {
    data_source,
    data_as_of_ms: edition.dataAsOf(dates),
    dates_without_data: datesWithoutData(edition, first, last, region),
    note: region.note ?? (data_source === null ? NO_SCANS : null),
  };
}

/** A query of the columns of a dataset without a row. */
function noRows(dataset: Dataset): Pick<ExportRows, 'sql' | 'parameters' | 'row_count' | 'truncated'> {
  const nulls = columns(EXPORT_TABLES[dataset]).map(({ name, type }) => `NULL::${type} AS "${name}"`);
  return { sql: `SELECT ${nulls.join(', ')} WHERE false`, parameters: [], row_count: 0, truncated: false };
}

/** Select list of the columns of a dataset: the expressions given, and the others as they are; points are left out. */
function selected(dataset: Dataset, expressions: Readonly<Record<string, string>>): string {
  return columns(EXPORT_TABLES[dataset])
    .filter(({ type }) => type !== 'GEOMETRY')
    .map(({ name }) => `${expressions[name] ?? `"${name}"`} AS "${name}"`)
    .join(', ');
}

/** SQL of the size category of a detection; null below the smallest. */
const SIZE_CATEGORY_SQL = `CASE ${SIZE_BANDS.toReversed()
  .map(({ threshold_mm, category }) => `WHEN estimated_size_mm >= ${threshold_mm} THEN '${category}'`)
  .join(' ')} END`;

/**
 * Detections of pixels whose centre lies in a region. Scans are counted first: of many millions of detections only those up to the
 * last scan that counts are sorted.
 */
async function detectionRows(queries: Queries, question: RowsQuestion, cap: number): Promise<ExportRows> {
  const { edition, region, first, last } = question;
  const paths = radarFiles(question, detections.name);
  const about = observedOn(question);
  const { window, runs } = region;
  if (window === null || paths.length === 0) return { ...noRows('detections'), ...about };
  const filter = regionFilter({ window, runs }, 2);
  const scans = await queries.rows<{ scan_time: number; n: number }>(
    `SELECT scan_time, count(*)::DOUBLE AS n FROM ${FILES} ${filter.sql} GROUP BY scan_time ORDER BY scan_time`,
    [paths, ...filter.parameters],
  );
  let total = 0;
  let last_scan = 0;
  for (const { scan_time, n } of scans) {
    if (total < cap) last_scan = scan_time;
    total += n;
  }
  if (total === 0) return { ...noRows('detections'), ...about };
  const next = filter.parameters.length + 2;
  const simulated = edition.datesBetween(first, last).filter((date) => edition.provenanceOf([date]) === 'simulated');
  const select = selected('detections', {
    id: `printf('%s-%04d-%04d', strftime(scan_time, '%Y%m%dT%H%M%SZ'), "row", col)`,
    size_category: SIZE_CATEGORY_SQL,
    data_source: `CASE WHEN list_contains($${next + 1}::VARCHAR[]::DATE[], storm_date) THEN 'simulated' ELSE 'observed' END`,
  });
  return {
    sql: `SELECT ${select} FROM ${FILES} ${filter.sql} AND scan_time <= epoch_ms($${next}::BIGINT)`,
    parameters: [paths, ...filter.parameters, last_scan, simulated],
    row_count: Math.min(total, cap),
    truncated: total > cap,
    ...about,
  };
}

/** Columns of the swath rows as the engine takes them in; `rings` is the hull as GeoJSON has it. */
const SWATH_TYPES = Object.fromEntries([
  ...columns(EXPORT_TABLES.swaths).map(({ name, type }) => [name, type === 'GEOMETRY' ? 'VARCHAR' : type] as const),
  ['rings', 'VARCHAR'] as const,
]);
const SWATHS_SQL = `SELECT * FROM (
  SELECT unnest(from_json($1::VARCHAR, '${JSON.stringify([SWATH_TYPES])}'), recursive := true))`;

/** A row for each storm date and size tier of a region: the convex hull of its footprint, and the figures of /v1/hail/swaths from the bound of the tier on. */
async function swathRows(queries: Queries, question: RowsQuestion): Promise<ExportRows> {
  const { edition, first, last, region } = question;
  const swaths: object[] = [];
  for (const date of edition.datesBetween(first, last)) {
    const asked = { date, region, min_size_mm: EVENT_MIN_MM, simplify_m: 0 };
    const { tiers, at_bound, max_size_mm } = await swathOf(queries, edition, asked);
    for (const { threshold_mm, category, area_km2, geometry } of tiers) {
      // Whole numbers find the points on a line exactly.
      const corners = geometry.flat(2).map((corner) => corner.map((deg) => Math.round(deg * LATTICE.per_degree)));
      const ring = convexHull(corners).map((corner) => corner.map((steps) => steps / LATTICE.per_degree));
      const n_detections = at_bound.get(threshold_mm) ?? 0;
      swaths.push({
        ...{ storm_date: date, threshold_mm, category, n_detections },
        hull_area_km2: rounded(geodesicAreaKm2(ring), 1),
        footprint_km2: rounded(area_km2, 1),
        max_size_mm: n_detections === 0 ? null : rounded(max_size_mm, 1),
        data_source: edition.provenanceOf([date]),
        geometry: polygonToWkt([ring]),
        rings: JSON.stringify([ring]),
      });
    }
  }
  const parameters = [JSON.stringify(swaths)];
  return { sql: SWATHS_SQL, parameters, row_count: swaths.length, truncated: false, ...observedOn(question) };
}

function reportFiles({ edition, first, last }: RowsQuestion): readonly string[] {
  // Files are cut by the month of the time; a storm date that starts at noon ends on the next day.
  return edition.collection('reports')?.paths(monthOf(first), monthOf(addDays(last, 1))) ?? [];
}

/** Reports with the pixel that holds each, as `latRow` and `lonCol` find it. */
const REPORTS = `(SELECT *, floor((${LATTICE.north} - lat) / ${LATTICE.step} + 1e-9)::INTEGER AS "row",
  floor((lon - ${LATTICE.west}) / ${LATTICE.step} + 1e-9)::INTEGER AS col FROM ${FILES})`;

/** Ground reports whose position lies in a region: in the box, or in a pixel of the state. */
async function reportRows(queries: Queries, question: RowsQuestion, cap: number): Promise<ExportRows> {
  const { edition, first, last, region } = question;
  const collection = edition.collection('reports');
  const paths = reportFiles(question);
  const about = {
    data_source: collection?.source ?? null,
    data_as_of_ms: collection?.as_of_ms ?? null,
    dates_without_data: await datesWithoutReports(queries, question, paths),
    note: region.note ?? (collection === null ? NO_REPORTS : null),
  };
  const filter = reportsWithin(region, 4);
  if (filter === null || paths.length === 0) return { ...noRows('reports'), ...about };
  const parameters = [paths, first, last, ...filter.parameters];
  const kept = `${REPORTS} ${filter.sql} AND storm_date BETWEEN $2::VARCHAR::DATE AND $3::VARCHAR::DATE`;
  const [found] = await queries.rows<{ n: number; sources: string | null }>(
    `SELECT count(*)::DOUBLE AS n, string_agg(DISTINCT data_source, ' ') FILTER (place <= ${cap}) AS sources FROM (
       SELECT data_source, row_number() OVER (ORDER BY time, report_id, data_source) AS place FROM ${kept})`,
    parameters,
  );
  const { n = 0, sources = null } = found ?? {};
  return {
    sql: `SELECT ${selected('reports', { id: 'report_id' })} FROM ${kept}`,
    parameters,
    row_count: Math.min(n, cap),
    truncated: n > cap,
    ...about,
    ...(sources === null ? {} : { data_source: MixedProvenance.parse(sources.includes(' ') ? 'mixed' : sources) }),
  };
}

/** Dates for which no source is known to have been collected, and of which there is no report either, from anywhere. */
async function datesWithoutReports(queries: Queries, { edition, first, last }: RowsQuestion, paths: readonly string[]) {
  const sql = `SELECT DISTINCT storm_date::VARCHAR AS date FROM ${FILES}`;
  const reported = paths.length === 0 ? [] : await queries.rows<{ date: string }>(sql, [paths]);
  const dates = new Set(reported.map(({ date }) => date));
  // At which hour a date begins matters to those that were collected in part alone.
  const { dates_without_reports } = await collectedDates(queries, edition, first, last, 0);
  return dates_without_reports.filter((date) => !dates.has(date));
}

/** Filter on the positions of reports; null where none can be. */
function reportsWithin({ bbox: [west, south, east, north], state, window, runs }: Region, first: number) {
  if (state !== null) return window === null ? null : regionFilter({ window, runs }, first);
  return {
    sql: `WHERE lon BETWEEN $${first} AND $${first + 1} AND lat BETWEEN $${first + 2} AND $${first + 3}
      AND lon BETWEEN ${CONUS.west} AND ${CONUS.east} AND lat BETWEEN ${CONUS.south} AND ${CONUS.north}`,
    parameters: [west, east, south, north],
  };
}

/** The rows, and the absolute path of the file they go to. */
type ExportFile = Readonly<{ params: ExportParams; rows: ExportRows; path: string }>;

/** What a file of a format is called and sent as. */
export const FILE_KINDS = {
  csv: { extension: 'csv', media_type: 'text/csv; charset=utf-8; header=present' },
  geojson: { extension: 'geojson', media_type: 'application/geo+json' },
  parquet: { extension: 'parquet', media_type: 'application/vnd.apache.parquet' },
} as const satisfies Record<ExportFormat, { extension: string; media_type: string }>;

/**
 * The statement that writes a file: its rows in order, a row at a time. What the request said is in it only as literals made
 * of checked values.
 */
function copyStatement(file: ExportFile): string {
  const { params, rows, path } = file;
  const definition = EXPORT_TABLES[params.dataset];
  const ordered = `(${rows.sql} ORDER BY ${definition.order} LIMIT ${rows.row_count})`;
  const { select, options } = FORMATS[params.format](file, columns(definition));
  // By itself DuckDB writes under another name and renames: a name that this engine may not open.
  return `COPY (SELECT ${select} FROM ${ordered}) TO ${sqlText(path)} (${options}, USE_TMP_FILE false)`;
}

type Format = (file: ExportFile, fields: readonly Column[]) => { readonly select: string; readonly options: string };

const FORMATS: Readonly<Record<ExportFormat, Format>> = { csv, geojson, parquet };

const ISO_FORMAT = '%Y-%m-%dT%H:%M:%SZ';
/** What makes a spreadsheet take a text for a formula, in both widths. */
const FORMULA_STARTS = "'=', '+', '-', '@', chr(9), chr(13), '＝', '＋', '－', '＠'";

/** RFC 4180: a text that a spreadsheet would run begins with an apostrophe instead; numbers are as they are. */
function csv({ params }: ExportFile, fields: readonly Column[]) {
  const cells = fields.filter(({ type }) => type !== 'GEOMETRY' || !isPoint(params));
  return {
    select: cells.map(csvCell).join(', '),
    options: `FORMAT csv, HEADER true, NEW_LINE '\r\n'`,
  };
}

function csvCell({ name, type }: Column): string {
  if (type === 'TIMESTAMPTZ') return `strftime("${name}", '${ISO_FORMAT}') AS "${name}"`;
  return type === 'VARCHAR' ? harmless(name) : `"${name}"`;
}

function harmless(name: string): string {
  return `CASE WHEN "${name}"[1] IN (${FORMULA_STARTS}) THEN '''' || "${name}" ELSE "${name}" END AS "${name}"`;
}

/** A FeatureCollection of RFC 7946, a feature a line; members that hold for all rows come first. */
function geojson(file: ExportFile, fields: readonly Column[]) {
  const { params } = file;
  const properties = fields
    .filter(({ type }) => type !== 'GEOMETRY')
    .map(
      ({ name, type }) => `"${name}": ${type === 'TIMESTAMPTZ' ? `strftime("${name}", '${ISO_FORMAT}')` : `"${name}"`}`,
    );
  const geometry = isPoint(params)
    ? `json_object('type', 'Point', 'coordinates', json_array(round(lon, 6), round(lat, 6)))`
    : `json_object('type', 'Polygon', 'coordinates', rings::JSON)`;
  const id = isPoint(params) ? `'id', id, ` : '';
  const head = JSON.stringify({ type: 'FeatureCollection', ...facts(file) });
  return {
    select: `json_object('type', 'Feature', ${id}'geometry', ${geometry}, 'properties', {${properties.join(', ')}})`,
    // A column without quotes: what would end it early, a line end, is escaped in JSON.
    options: `FORMAT csv, HEADER false, QUOTE '', ESCAPE '', DELIMITER '\n', NEW_LINE ',\n', PREFIX ${sqlText(
      `${head.slice(0, -1)},"features":[\n`,
    )}, SUFFIX '\n]}\n'`,
  };
}

/** What GeoParquet says of geometries: written by itself where there are any. */
const NO_GEOMETRIES = JSON.stringify({
  version: '1.0.0',
  primary_column: 'geometry',
  columns: { geometry: { encoding: 'WKB', geometry_types: [] } },
});

/** GeoParquet that old readers open: no dictionary, whose numbers some return as texts, and no zstd. */
function parquet(file: ExportFile, fields: readonly Column[]) {
  const { params, rows } = file;
  const definition = EXPORT_TABLES[params.dataset];
  const notes = {
    hail_export: JSON.stringify(facts(file)),
    schema_version: String(definition.schema_version),
    ...(rows.data_source === null ? {} : { source: rows.data_source }),
    columns: columnNotes(definition, 'parquet'),
    ...(rows.row_count === 0 ? { geo: NO_GEOMETRIES } : {}),
  };
  const point = `('POINT (' || lon || ' ' || lat || ')')::GEOMETRY`;
  const select = fields.map(({ name, type }) => {
    if (type !== 'GEOMETRY') return `"${name}"::${type} AS "${name}"`;
    return `${isPoint(params) ? point : `"${name}"::GEOMETRY`} AS "${name}"`;
  });
  const pairs = Object.entries(notes).map(([key, value]) => `${key}: ${sqlText(value)}`);
  return {
    select: select.join(', '),
    options: `FORMAT parquet, COMPRESSION snappy, DICTIONARY_SIZE_LIMIT 0, KV_METADATA {${pairs.join(', ')}}`,
  };
}

function isPoint({ dataset }: ExportParams): boolean {
  return dataset !== 'swaths';
}

/** What a file says of itself where its format has a place for it. */
function facts({ params, rows }: ExportFile) {
  const { dataset, date_start, date_end, bbox, state } = params;
  return {
    dataset,
    query: { date_start, date_end, bbox, state },
    data_source: rows.data_source,
    data_as_of: rows.data_as_of_ms === null ? null : timestamp(rows.data_as_of_ms),
    row_count: rows.row_count,
    truncated: rows.truncated,
    dates_without_data: rows.dates_without_data,
    note: rows.note,
  };
}
