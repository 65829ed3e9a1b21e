import { columns, type Table } from '../../schemas/columns.ts';
import { counted } from '../../schemas/command-line.ts';
import { combineProvenances } from '../../schemas/provenance.ts';
import { TABLES } from '../../schemas/tables/index.ts';
import { dayMax } from '../../schemas/tables/radar.ts';
import { sqlText } from '../duckdb.ts';
import { mergedDayMaxSql } from '../publish/merge.ts';
import { type Edition, filesOf, isDate, type ListedFile } from './edition.ts';

const SUFFIX = '.parquet';
const STORM_DATE = 'storm_date';

/** Name of the view of a table: SQL takes no dash in a name without quotes. */
function viewName({ name }: Pick<Table, 'name'>): string {
  return name.replaceAll('-', '_');
}

/**
 * SQL for DuckDB that defines a view of every table over the files of an edition, and comments on their columns. `location`: path or
 * address that the paths of the files follow.
 */
export function viewsSql(edition: Edition, location: string): string {
  const { name, committed_at, newest_scan, source } = edition;
  const textOrNull = (text: string | null) => (text === null ? 'NULL::VARCHAR' : sqlText(text));
  const instant = committed_at === null ? 'NULL::TIMESTAMPTZ' : `TIMESTAMPTZ ${sqlText(committed_at)}`;
  const lines = [
    '-- Views of every published table, for DuckDB 1.5 and later: duckdb -init views.sql',
    `-- Edition ${name}: ${newest_scan === null ? 'no scan' : `newest scan ${newest_scan}`}; data: ${source ?? 'none'}.`,
    `-- The files lie below ${location.replaceAll(/\s/g, ' ')}.`,
    '-- In a copied or moved data root, and for newer data, write this file again: HAIL_DATA=FOLDER hail-pipeline catalogue',
    '-- A view is named after its table, with _ for - (day_max).',
    `CREATE OR REPLACE VIEW edition AS SELECT ${sqlText(name)} AS edition, ${instant} AS committed_at,`,
    `  ${textOrNull(newest_scan)} AS newest_scan, ${textOrNull(source)} AS source;`,
    "COMMENT ON VIEW edition IS 'The commits that all views show; source: observed, simulated or mixed.';",
    ...TABLES.flatMap((table) => viewSql(table, filesOf(edition, table), location)),
  ];
  return `${lines.join('\n')}\n`;
}

function viewSql(table: Table, listed: readonly ListedFile[], location: string): string[] {
  const name = viewName(table);
  const rows = listed.reduce((sum, { file }) => sum + file.rows, 0);
  const source = combineProvenances(listed.map(({ head }) => head.source));
  const content = rows === 0 ? 'no rows' : `${counted(rows, 'row')} in its files, ${source}`;
  const comments = columns(table).map(({ name: column, description, unit, type }) => {
    const measure = type.startsWith('TIMESTAMPTZ') ? ' [UTC]' : unit === null || unit === '1' ? '' : ` [${unit}]`;
    return `COMMENT ON COLUMN ${name}."${column}" IS ${sqlText(`${description}${measure}`)};`;
  });
  return [
    '',
    `CREATE OR REPLACE VIEW ${name} AS`,
    `${selectOf(table, listed, location)};`,
    `COMMENT ON VIEW ${name} IS ${sqlText(`Table ${table.name}, version ${table.schema_version}: ${content}.`)};`,
    ...comments,
  ];
}

function selectOf(table: Table, listed: readonly ListedFile[], location: string): string {
  const fields = columns(table);
  const spread = table.name === dayMax.name ? spreadDates(listed) : new Map<string, ListedFile[]>();
  const plain = listed.filter(({ head }) => !spread.has(head.partition)).map(({ file }) => file.path);
  const dated = `tables/${table.name}/date=`;
  const isDated = (path: string) => fields.some(({ name }) => name === STORM_DATE) && path.startsWith(dated);
  const names = fields.map(({ name }) => `"${name}"`);
  const select = (storm_date: string, from: string) => {
    const shown = names.map((name) => (name === `"${STORM_DATE}"` ? storm_date : name));
    return `SELECT ${shown.join(', ')} FROM ${from}`;
  };
  const where = names.includes('"is_current"') ? ' WHERE is_current' : '';
  const [datedFiles, otherFiles] = [plain.filter(isDated), plain.filter((path) => !isDated(path))];
  const selects = [
    // The date comes from the path: a question about some dates opens their files only.
    ...readsOf(datedFiles, location, dated).map((list) =>
      select(`"date" AS ${STORM_DATE}`, `read_parquet(${list}, hive_partitioning = true, hive_types = {'date': DATE})`),
    ),
    ...readsOf(otherFiles, location, `tables/${table.name}/`).map((list) =>
      select(`"${STORM_DATE}"`, `read_parquet(${list}, hive_partitioning = false)${where}`),
    ),
    // The files of a running date add up. The date is a constant, so that questions about other dates leave it out.
    ...[...spread].map(([date, files]) => {
      const paths = files.map(({ file }) => `${location}/${file.path}`);
      return select(`DATE '${date}' AS "${STORM_DATE}"`, `(${mergedDayMaxSql(paths, null)})`);
    }),
  ];
  const empty = fields.map(({ name, type }) => `NULL::${type} AS "${name}"`).join(', ');
  return selects.length === 0 ? `SELECT ${empty} WHERE false` : selects.join('\nUNION ALL\n');
}

/** Running dates whose day maxima lie in several files. */
function spreadDates(listed: readonly ListedFile[]): Map<string, ListedFile[]> {
  const open = listed.filter(({ head }) => !head.closed && isDate(head.partition));
  return new Map([...Map.groupBy(open, ({ head }) => head.partition)].filter(([, files]) => files.length > 1));
}

/**
 * SQL list of paths, from one text of their names between `prefix` and suffix; [] without paths. A list of literals takes DuckDB long
 * to read, and three times the space.
 */
function readsOf(paths: readonly string[], location: string, prefix: string): string[] {
  if (paths.length === 0) return [];
  const names = paths.map((path) => path.slice(prefix.length, -SUFFIX.length)).join(' ');
  const before = `${location}/${prefix}`;
  const between = sqlText(`${SUFFIX}\n${before}`);
  return [`string_split(${sqlText(before)} || replace(${sqlText(names)}, ' ', ${between}) || '${SUFFIX}', '\n')`];
}
