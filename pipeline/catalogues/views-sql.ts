import { createHash } from 'node:crypto';
import { columns, rowsSql, type Table } from '../../schemas/columns.ts';
import { counted } from '../../schemas/command-line.ts';
import type { Head } from '../../schemas/head.ts';
import { layout } from '../../schemas/layout.ts';
import { combineProvenances } from '../../schemas/provenance.ts';
import { TABLES } from '../../schemas/tables/index.ts';
import { dayMax, isMonthCurrent } from '../../schemas/tables/radar.ts';
import { sqlText } from '../duckdb.ts';
import { PipelineError } from '../error.ts';
import { mergedDayMaxSql } from '../publish/merge.ts';

/** What the views need of the head of a partition; `files` are those with rows, by table. */
export interface ShownHead
  extends Pick<Head, 'partition' | 'commit' | 'source' | 'closed' | 'committed_at' | 'table_commits' | 'dates'> {
  readonly last_scan: string | null;
  readonly files: ReadonlyMap<string, ShownFiles>;
}

/** Ways of reading a file: with the date of its path, without one, and as one of an older version of its table. */
const KINDS = ['dated', 'undated', 'older'] as const;

/**
 * Files of a table in one partition, in the order of their scans. The lists are ready for the SQL, with spaces between the names:
 * years of dates are only joined at a commit.
 */
interface ShownFiles extends Readonly<Record<(typeof KINDS)[number], string>> {
  readonly count: number;
  readonly rows: number;
}

/** A path that can stand in a list with spaces between, and that leaves the data root nowhere. */
const TABLE_PATH = /^tables\/(?!.*\.\.)[\w.=/-]+\.parquet$/;
const SUFFIX = '.parquet';
const STORM_DATE = 'storm_date';

/** The part of a head that the views are made of; throws PipelineError for a file that cannot be one of a table. */
export function shownHead(head: Head): ShownHead {
  const { partition, commit, source, closed, committed_at, table_commits, dates } = head;
  const files = new Map<string, ShownFiles>();
  const sorted = [...head.files].sort((a, b) => ((a.first_scan ?? '') < (b.first_scan ?? '') ? -1 : 1));
  for (const { table, path, schema_version, rows } of sorted) {
    if (table === null || rows === 0) continue;
    if (!TABLE_PATH.test(path))
      throw new PipelineError('views', layout.head(partition), `lists '${path}', expected a Parquet file of a table`);
    const before = files.get(table) ?? { dated: '', undated: '', older: '', count: 0, rows: 0 };
    const kind = kindOf(table, path, schema_version);
    const names = joined([before[kind], nameBelow(prefixOf(table, kind), path)]);
    files.set(table, { ...before, [kind]: names, count: before.count + 1, rows: before.rows + rows });
  }
  const last_scan = head.scans.last;
  return { partition, commit, source, closed, committed_at, table_commits, dates, last_scan, files };
}

/** Name of the view of a table: SQL takes no dash in a name without quotes. */
export function viewName({ name }: Pick<Table, 'name'>): string {
  return name.replaceAll('-', '_');
}

/** What an edition is called: heads with the same commits have the same name. */
export function editionName(heads: readonly ShownHead[]): string {
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
  const holders = holdersOf(sorted);
  const sources = TABLES.map((table) => ({ table, ...filesOf(table, holders.get(table.name) ?? []) }));
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

/** The heads that the rows of each table are read from. */
function holdersOf(heads: readonly ShownHead[]): Map<string, ShownHead[]> {
  const holders = new Map<string, ShownHead[]>();
  for (const head of heads)
    for (const name of head.files.keys()) {
      const known = holders.get(name);
      if (known === undefined) holders.set(name, [head]);
      else known.push(head);
    }
  const isHolder = ({ files }: ShownHead) => files.has(dayMax.name);
  return holders.set(dayMax.name, dayMaxHeads(heads).filter(isHolder));
}

/** SELECT of the rows of a table, the rows that its files hold, and where these come from. */
function filesOf(table: Table, holding: readonly ShownHead[]) {
  const open = table.name === dayMax.name ? holding.filter(isSpread) : [];
  const files = holding.flatMap((head) => (open.includes(head) ? [] : (head.files.get(table.name) ?? [])));
  const selects = [
    ...fileSelects(table, files),
    // Files of a running date add up. The date is a constant, so that questions about other dates leave it out.
    ...open.map(({ partition, files }) => {
      const merged = mergedDayMaxSql(pathsOf(table, files.get(table.name)), null);
      const list = columns(table).map(({ name, type }) =>
        name === STORM_DATE ? `DATE '${partition}' AS "${name}"` : `"${name}"::${type} AS "${name}"`,
      );
      return `SELECT ${list.join(', ')} FROM (${merged})`;
    }),
  ];
  const source = combineProvenances(holding.map(({ source }) => source));
  const empty = `SELECT ${columns(table)
    .map(({ name, type }) => `NULL::${type} AS "${name}"`)
    .join(', ')} WHERE false`;
  return {
    select: selects.length === 0 ? empty : selects.join('\nUNION ALL\n'),
    rows: holding.reduce((sum, { files }) => sum + (files.get(table.name)?.rows ?? 0), 0),
    source,
  };
}

/** True for a running date whose day maxima lie in several files. */
function isSpread({ partition, closed, files }: ShownHead): boolean {
  return !closed && isDate(partition) && (files.get(dayMax.name)?.count ?? 0) > 1;
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
function fileSelects(table: Table, files: readonly ShownFiles[]): string[] {
  const paths = (kind: (typeof KINDS)[number]) =>
    pathsSql(prefixOf(table.name, kind), joined(files.map((one) => one[kind])));
  const [dated, undated, older] = KINDS.map(paths);
  const fields = columns(table);
  const typed = fields.map(({ name, type }) => (type === 'GEOMETRY' ? `"${name}"` : `"${name}"::${type} AS "${name}"`));
  const selects: string[] = [];
  // The date comes from the path: a question about some dates opens their files only.
  if (dated !== null) {
    const list = fields.map(({ name }) => (name === STORM_DATE ? `"date" AS ${STORM_DATE}` : `"${name}"`)).join(', ');
    const read = `read_parquet(${dated}, hive_partitioning = true, hive_types = {'date': DATE})`;
    selects.push(`SELECT ${list} FROM ${read}`);
  }
  if (undated !== null) {
    const list = fields.map(({ name }) => `"${name}"`).join(', ');
    selects.push(`SELECT ${list} FROM read_parquet(${undated}, hive_partitioning = false)`);
  }
  if (older !== null) selects.push(`SELECT ${typed.join(', ')} FROM (${rowsSql(table, older)})`);
  return selects;
}

const DATED_TABLES = new Set(
  TABLES.filter((table) => columns(table).some(({ name }) => name === STORM_DATE)).map(({ name }) => name),
);
const NEWEST = new Map(TABLES.map(({ name, schema_version }) => [name, schema_version]));

function kindOf(table: string, path: string, schema_version: number): (typeof KINDS)[number] {
  if (schema_version !== NEWEST.get(table)) return 'older';
  return DATED_TABLES.has(table) && path.startsWith(prefixOf(table, 'dated')) ? 'dated' : 'undated';
}

/** What the paths of a kind of files of a table begin with. */
function prefixOf(table: string, kind: (typeof KINDS)[number]): string {
  return `${layout.staticTable(table)}/${kind === 'dated' ? 'date=' : ''}`;
}

function nameBelow(prefix: string, path: string): string {
  if (path.startsWith(prefix)) return path.slice(prefix.length, -SUFFIX.length);
  throw new PipelineError('views', path, `is listed as a file of a table, expected one below ${prefix}`);
}

function joined(lists: readonly string[]): string {
  return lists.filter((names) => names !== '').join(' ');
}

/** Paths of all files of a table in one partition. */
function pathsOf({ name }: Table, files: ShownFiles | undefined): string[] {
  if (files === undefined) return [];
  return KINDS.flatMap((kind) => {
    const names = files[kind] === '' ? [] : files[kind].split(' ');
    return names.map((each) => `${prefixOf(name, kind)}${each}${SUFFIX}`);
  });
}

/**
 * SQL of a list of paths as one text, null for none: a list of literals takes DuckDB long to read, and this file three times the
 * space.
 */
function pathsSql(prefix: string, names: string): string | null {
  if (names === '') return null;
  return `string_split('${prefix}' || replace(${sqlText(names)}, ' ', '${SUFFIX} ${prefix}') || '${SUFFIX}', ' ')`;
}
