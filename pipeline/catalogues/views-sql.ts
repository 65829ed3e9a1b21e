import { createHash } from 'node:crypto';
import { columns, rowsSql, type Table } from '../../schemas/columns.ts';
import { counted } from '../../schemas/command-line.ts';
import type { Head } from '../../schemas/head.ts';
import { layout } from '../../schemas/layout.ts';
import { combineProvenances } from '../../schemas/provenance.ts';
import { dayMax, isMonthCurrent } from '../../schemas/tables/day-max.ts';
import { TABLES } from '../../schemas/tables/index.ts';
import { sqlText } from '../duckdb.ts';
import { PipelineError } from '../error.ts';
import { mergedDayMaxSql } from '../publish/merge.ts';

/** What the views need of the head of a partition; `files` are those with rows, in the order of their scans. */
export interface ShownHead
  extends Pick<Head, 'partition' | 'commit' | 'source' | 'closed' | 'committed_at' | 'table_commits' | 'dates'> {
  readonly last_scan: string | null;
  readonly files: ReadonlyMap<string, readonly ShownFile[]>;
}

interface ShownFile {
  readonly path: string;
  readonly schema_version: number;
  readonly rows: number;
}

/** A path that can stand in a list with spaces between, and that leaves the data root nowhere. */
const TABLE_PATH = /^tables\/(?!.*\.\.)[\w.=/-]+\.parquet$/;
const SUFFIX = '.parquet';

/** The part of a head that the views are made of; throws PipelineError for a file that cannot be one of a table. */
export function shownHead(head: Head): ShownHead {
  const { partition, commit, source, closed, committed_at, table_commits, dates } = head;
  const files = new Map<string, ShownFile[]>();
  const sorted = [...head.files].sort((a, b) => ((a.first_scan ?? '') < (b.first_scan ?? '') ? -1 : 1));
  for (const { table, path, schema_version, rows } of sorted) {
    if (table === null || rows === 0) continue;
    if (!TABLE_PATH.test(path))
      throw new PipelineError('views', layout.head(partition), `lists '${path}', expected a Parquet file of a table`);
    files.set(table, [...(files.get(table) ?? []), { path, schema_version, rows }]);
  }
  const last_scan = head.scans.last;
  return { partition, commit, source, closed, committed_at, table_commits, dates, last_scan, files };
}

/** Name of the view of a table: SQL takes no dash in a name without quotes. */
export function viewName({ name }: Pick<Table, 'name'>): string {
  return name.replaceAll('-', '_');
}

/** What an edition is called: heads with the same commits have the same name. */
function editionName(heads: readonly ShownHead[]): string {
  const hash = createHash('sha256');
  for (const line of heads.map(({ partition, commit }) => `${partition} ${commit}\n`).sort()) hash.update(line);
  return hash.digest('hex').slice(0, 12);
}

/**
 * SQL for DuckDB that defines a view of every table over the files that the heads list, and comments on their columns. Paths are
 * relative: DuckDB looks for them in its working directory and then in `dataRoot`.
 */
export function viewsSql(heads: readonly ShownHead[], dataRoot: string): string {
  const sorted = [...heads].sort((a, b) => (a.partition < b.partition ? -1 : 1));
  const edition = editionName(sorted);
  const as_of = newestOf(sorted.map(({ committed_at }) => committed_at));
  const newest_scan = newestOf(sorted.flatMap(({ last_scan }) => last_scan ?? []));
  const source = combineProvenances(sorted.filter(({ files }) => files.size > 0).map((head) => head.source));
  const sources = TABLES.map((table) => ({ table, ...filesOf(table, sorted) }));
  const shown = [
    `-- Views of every published table, for DuckDB 1.5 and later: duckdb -init views.sql`,
    `-- Edition ${edition}: ${newest_scan === '' ? 'no scan' : `newest scan ${newest_scan}`}; data: ${source ?? 'none'}.`,
    '-- Written again with every commit; the files it names stay for two hours after that: read it again before then.',
    '-- A view is named after its table, with _ for - (day_max). Files are looked for in the working directory first, so',
    '-- start DuckDB in the data root where the root was moved, is mounted elsewhere, or has a comma in its name.',
    `SET file_search_path = ${sqlText(dataRoot)};`,
    `CREATE OR REPLACE VIEW edition AS SELECT ${sqlText(edition)} AS edition, ${instantSql(as_of)} AS committed_at,`,
    `  ${newest_scan === '' ? 'NULL::VARCHAR' : sqlText(newest_scan)} AS newest_scan, ${source === null ? 'NULL::VARCHAR' : sqlText(source)} AS source;`,
    "COMMENT ON VIEW edition IS 'The commits that all views show; source: observed, simulated or mixed.';",
    ...sources.flatMap(({ table, select, rows, source }) => viewSql(table, select, rows, source)),
  ];
  return `${shown.join('\n')}\n`;
}

function newestOf(times: readonly string[]): string {
  return [...times].sort().at(-1) ?? '';
}

function instantSql(timestamp: string): string {
  return timestamp === '' ? 'NULL::TIMESTAMP' : `TIMESTAMP ${sqlText(new Date(timestamp).toISOString().slice(0, 23))}`;
}

function viewSql(table: Table, select: string, rows: number, source: string | null): string[] {
  const name = viewName(table);
  const content = rows === 0 ? 'no rows' : `${counted(rows, 'row')} in its files, ${source}`;
  const about = `Table ${table.name}, version ${table.schema_version}: ${content}.`;
  const comments = columns(table).map(({ name: column, description, unit, type }) => {
    const measure = type === 'TIMESTAMP' ? ' [UTC]' : unit === null || unit === '1' ? '' : ` [${unit}]`;
    return `COMMENT ON COLUMN ${name}."${column}" IS ${sqlText(`${description}${measure}`)};`;
  });
  return [
    '',
    `CREATE OR REPLACE VIEW ${name} AS`,
    `${select};`,
    `COMMENT ON VIEW ${name} IS ${sqlText(about)};`,
    ...comments,
  ];
}

/** SELECT of the rows of a table, the rows that its files hold, and where these come from. */
function filesOf(table: Table, heads: readonly ShownHead[]) {
  const holding = table.name === dayMax.name ? dayMaxHeads(heads) : heads;
  const open = table.name === dayMax.name ? holding.filter(isSpread) : [];
  const files = holding.filter((head) => !open.includes(head)).flatMap((head) => head.files.get(table.name) ?? []);
  const running = open.map(({ partition, files }) => ({ partition, parts: files.get(table.name) ?? [] }));
  const selects = [
    ...fileSelects(table, files),
    // Files of a running date add up. The date is a constant, so that questions about other dates leave it out.
    ...running.map(({ partition, parts }) => {
      const merged = mergedDayMaxSql(
        parts.map(({ path }) => path),
        null,
      );
      const list = columns(table).map(({ name, type }) =>
        name === STORM_DATE ? `DATE '${partition}' AS "${name}"` : `"${name}"::${type} AS "${name}"`,
      );
      return `SELECT ${list.join(', ')} FROM (${merged})`;
    }),
  ];
  const all = [...files, ...running.flatMap(({ parts }) => parts)];
  const source = combineProvenances(holding.filter((head) => head.files.has(table.name)).map((head) => head.source));
  const empty = `SELECT ${columns(table)
    .map(({ name, type }) => `NULL::${type} AS "${name}"`)
    .join(', ')} WHERE false`;
  return {
    select: selects.length === 0 ? empty : selects.join('\nUNION ALL\n'),
    rows: all.reduce((sum, { rows }) => sum + rows, 0),
    source,
  };
}

const STORM_DATE = 'storm_date';

/** True for a running date whose day maxima lie in several files. */
function isSpread({ partition, closed, files }: ShownHead): boolean {
  return !closed && isDate(partition) && (files.get(dayMax.name)?.length ?? 0) > 1;
}

function isDate(partition: string): boolean {
  return /^\d{4}-\d{2}-\d{2}$/.test(partition);
}

/** The heads that day maxima are read from: months that are current, and the dates that none of those holds. */
function dayMaxHeads(heads: readonly ShownHead[]): ShownHead[] {
  const dates = new Map(heads.filter(({ partition }) => isDate(partition)).map((head) => [head.partition, head]));
  const months = heads.filter((head) => head.dates !== null && isMonthCurrent(head, (date) => dates.get(date)));
  const held = new Set(months.flatMap(({ dates }) => Object.keys(dates ?? {})));
  return [...months, ...[...dates.values()].filter(({ partition }) => !held.has(partition))];
}

/** SELECTs of the rows of files of a table, one for each kind of list; none without files. */
function fileSelects(table: Table, files: readonly ShownFile[]): string[] {
  const folder = `${layout.staticTable(table.name)}/`;
  const ofDates = `${folder}date=`;
  const newest = files.filter((file) => file.schema_version === table.schema_version).map(({ path }) => path);
  const older = files.filter((file) => file.schema_version !== table.schema_version).map(({ path }) => path);
  const fields = columns(table);
  const hasDate = fields.some(({ name }) => name === STORM_DATE);
  const isDated = (path: string) => hasDate && path.startsWith(ofDates);
  const dated = newest.filter(isDated);
  const undated = newest.filter((path) => !isDated(path));
  const typed = fields.map(({ name, type }) => (type === 'GEOMETRY' ? `"${name}"` : `"${name}"::${type} AS "${name}"`));
  const selects: string[] = [];
  // The date comes from the path: a question about some dates opens their files only.
  if (dated.length > 0) {
    const list = fields.map(({ name }) => (name === STORM_DATE ? `"date" AS ${STORM_DATE}` : `"${name}"`)).join(', ');
    const read = `read_parquet(${pathsSql(dated, ofDates)}, hive_partitioning = true, hive_types = {'date': DATE})`;
    selects.push(`SELECT ${list} FROM ${read}`);
  }
  if (undated.length > 0) {
    const list = fields.map(({ name }) => `"${name}"`).join(', ');
    selects.push(`SELECT ${list} FROM read_parquet(${pathsSql(undated, folder)}, hive_partitioning = false)`);
  }
  if (older.length > 0) selects.push(`SELECT ${typed.join(', ')} FROM (${rowsSql(table, pathsSql(older, folder))})`);
  return selects;
}

/** SQL of a list of paths as one text: a list of literals takes DuckDB long to read, and this file three times the space. */
function pathsSql(paths: readonly string[], prefix: string): string {
  const outside = paths.find((path) => !path.startsWith(prefix));
  if (outside !== undefined)
    throw new PipelineError('views', outside, `is listed as a file of a table, expected one below ${prefix}`);
  const names = paths.map((path) => path.slice(prefix.length, -SUFFIX.length)).join(' ');
  return `string_split('${prefix}' || replace(${sqlText(names)}, ' ', '${SUFFIX} ${prefix}') || '${SUFFIX}', ' ')`;
}
