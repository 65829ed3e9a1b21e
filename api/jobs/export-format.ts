import { type Column, columnNotes, columns } from '../../schemas/columns.ts';
import type { ExportFormat, ExportParams } from '../../schemas/resources/export-job.ts';
import { EXPORT_TABLES } from '../../schemas/resources/export-rows.ts';
import { timestamp } from '../../schemas/time.ts';
import { sqlText } from '../published/duckdb.ts';
import type { ExportRows } from './export-rows.ts';

/** The rows, and the file they go to. */
interface ExportFile {
  readonly params: ExportParams;
  readonly rows: ExportRows;
  /** Absolute. */
  readonly path: string;
}

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
export function copyStatement(file: ExportFile): string {
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
