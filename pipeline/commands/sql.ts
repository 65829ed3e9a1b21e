import { join } from 'node:path';
import {
  type DuckDBConnection,
  DuckDBDecimalValue,
  type DuckDBResult,
  DuckDBTimestampTZValue,
  DuckDBTimestampValue,
  type DuckDBValueConverter,
  type Json,
  JsonDuckDBValueConverter,
  StatementType,
} from '@duckdb/node-api';
import { Command, Option } from 'commander';
import { columns } from '../../schemas/command-line.ts';
import { layout } from '../../schemas/layout.ts';
import { readEdition } from '../catalogues/edition.ts';
import { viewsSql } from '../catalogues/views.ts';
import type { Config } from '../config.ts';
import { openEngine, sqlText } from '../duckdb.ts';
import { NotFound, UsageError } from '../error.ts';
import { sizeOf } from '../files.ts';

/** Rows that a table shows; CSV and JSON hold all of them. */
const TABLE_ROWS = 40;
const WIDEST_CELL = 60;
/** Controls and marks that a terminal obeys or hides. */
const HIDDEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;
const FORMATS = { table: tableText, csv: csvText, json: jsonText } as const;

/** `hail-pipeline sql`: prints the result of one query over views of every published table at the newest edition. Takes no lock. */
export function sqlCommand(readConfig: () => Config): Command {
  return new Command('sql')
    .description('print the result of one SQL query over the published tables')
    .argument('<query>', 'one query in the SQL of DuckDB')
    .addOption(
      new Option('--format <format>', `table shows ${TABLE_ROWS} rows; csv and json hold all`)
        .choices(Object.keys(FORMATS))
        .default('table'),
    )
    .addHelpText(
      'after',
      '\nViews have the names of the tables, with _ for -: day_max. For a shell: duckdb -init data/views.sql',
    )
    .action(async (query: string, { format }: { format: keyof typeof FORMATS }) => {
      const root = readConfig().data_root;
      if ((await sizeOf(join(root, layout.root))) === null)
        throw new NotFound('sql', root, `holds no ${layout.root}, expected a data root`);
      const engine = await openEngine();
      try {
        const tables = sqlText(join(root, layout.tables, '/'));
        const limits = `SET allowed_directories = [${tables}]; SET enable_external_access = false; SET lock_configuration = true`;
        await engine.connection.run(`${viewsSql(await readEdition(root), root)} ${limits}`);
        for await (const text of FORMATS[format](await runQuery(engine.connection, query)))
          await new Promise<void>((taken) => process.stdout.write(text, () => taken()));
      } finally {
        engine.close();
      }
    });
}

/** Result of one query. Throws UsageError, with the words of DuckDB, for another statement or a failure. */
async function runQuery(connection: DuckDBConnection, query: string): Promise<DuckDBResult> {
  try {
    const statements = await connection.extractStatements(query);
    if (statements.count !== 1) throw new UsageError(`found ${statements.count} statements, expected one query`);
    const statement = await statements.prepare(0);
    // The engine may write where it may read: COPY and its like are refused.
    if (statement.statementType !== StatementType.SELECT)
      throw new UsageError(`found a statement of the kind ${StatementType[statement.statementType]}, expected SELECT`);
    return await statement.stream();
  } catch (cause) {
    if (cause instanceof UsageError || !(cause instanceof Error)) throw cause;
    throw new UsageError(cause.message.replaceAll(HIDDEN, ' '), { cause });
  }
}

/** An instant in ISO 8601 with a Z, a number where it holds the value, else JSON of DuckDB. */
const jsonValue: DuckDBValueConverter<Json> = (value, type, converter) => {
  if (value instanceof DuckDBDecimalValue) return value.toDouble();
  if (typeof value === 'bigint' && Number.isSafeInteger(Number(value))) return Number(value);
  const isInstant = value instanceof DuckDBTimestampValue || value instanceof DuckDBTimestampTZValue;
  if (!isInstant || !value.isFinite) return JsonDuckDBValueConverter(value, type, converter);
  return new Date(Number(value.micros) / 1000).toISOString().replace('.000Z', 'Z');
};

function cellText(value: Json, absent: string): string {
  if (value === null) return absent;
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

async function* tableText(result: DuckDBResult) {
  const rows: Json[][] = [];
  for await (const chunk of result.yieldConvertedRows(jsonValue)) if (rows.push(...chunk) > TABLE_ROWS) break;
  const cells = [result.deduplicatedColumnNames(), ...rows.slice(0, TABLE_ROWS)].map((row) =>
    row.map((value) => [...cellText(value, 'NULL').replaceAll(HIDDEN, ' ')].slice(0, WIDEST_CELL).join('')),
  );
  const align = rows[0]?.map((value) => (typeof value === 'number' ? 'r' : 'l')).join('');
  const count = rows.length > TABLE_ROWS ? `first ${TABLE_ROWS} rows, there are more` : `${rows.length} rows`;
  yield `${columns(cells, align)}\n(${count})\n`;
}

async function* csvText(result: DuckDBResult) {
  const quoted = (text: string) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const line = (row: readonly Json[]) => `${row.map((value) => quoted(cellText(value, ''))).join(',')}\n`;
  yield line(result.deduplicatedColumnNames());
  for await (const chunk of result.yieldConvertedRows(jsonValue)) yield chunk.map(line).join('');
}

async function* jsonText(result: DuckDBResult) {
  let before = '[\n';
  for await (const chunk of result.yieldConvertedRowObjects(jsonValue)) {
    if (chunk.length === 0) continue;
    yield before + chunk.map((row) => JSON.stringify(row)).join(',\n');
    before = ',\n';
  }
  yield before === '[\n' ? '[]\n' : '\n]\n';
}
