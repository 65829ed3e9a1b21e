import { join, resolve } from 'node:path';
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

/** `hail-pipeline sql`: prints the result of one query over views of every published table at the newest edition. Takes no lock. */
export function sqlCommand(readConfig: () => Config): Command {
  return new Command('sql')
    .description('print the result of one SQL query over the published tables')
    .argument('<query>', 'one query in the SQL of DuckDB')
    .addOption(
      new Option('--format <format>', `table shows ${TABLE_ROWS} rows; csv and json hold all`)
        .choices(Object.keys(PRINT))
        .default('table'),
    )
    .option('--data <dir>', 'data root (default: HAIL_DATA)')
    .addHelpText(
      'after',
      `
Views have the names of the tables, with _ for -: detections, day_max, ground_reports. For a shell: duckdb -init data/views.sql

Examples:
  hail-pipeline sql "SELECT storm_date, max(max_mm) AS mm FROM day_max GROUP BY ALL ORDER BY ALL"
  hail-pipeline sql --format csv "FROM event_days WHERE storm_date >= '2026-05-01'"`,
    )
    .action(async (query: string, { format, data }: { format: keyof typeof PRINT; data?: string }) => {
      const root = data === undefined ? readConfig().data_root : resolve(data);
      if ((await sizeOf(join(root, layout.root))) === null)
        throw new NotFound('sql', root, `holds no ${layout.root}, expected a data root`);
      await printQuery(root, query, PRINT[format]);
    });
}

async function printQuery(root: string, query: string, print: Print): Promise<void> {
  const engine = await openEngine();
  try {
    const { connection } = engine;
    await connection.run(viewsSql(await readEdition(root), root));
    await connection.run(
      `SET TimeZone = 'UTC'; SET allowed_directories = [${sqlText(join(root, layout.tables, '/'))}]`,
    );
    await connection.run('SET enable_external_access = false; SET lock_configuration = true');
    await print(await runQuery(connection, query));
  } finally {
    engine.close();
  }
}

/** Result of one query. Throws UsageError, with the words of DuckDB, for a text that is none or that fails. */
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

/** An instant in ISO 8601 with a Z, a number where it holds the value, else JSON as DuckDB has it. */
const jsonValue: DuckDBValueConverter<Json> = (value, type, converter) => {
  if (value instanceof DuckDBDecimalValue) return value.toDouble();
  if (typeof value === 'bigint' && Number.isSafeInteger(Number(value))) return Number(value);
  const isInstant = value instanceof DuckDBTimestampValue || value instanceof DuckDBTimestampTZValue;
  if (!isInstant || !value.isFinite) return JsonDuckDBValueConverter(value, type, converter);
  return new Date(Number(value.micros) / 1000).toISOString().replace('.000Z', 'Z');
};

type Print = (result: DuckDBResult) => Promise<void>;

const PRINT = { table: printTable, csv: printCsv, json: printJson } as const satisfies Record<string, Print>;

async function printTable(result: DuckDBResult): Promise<void> {
  const names = result.deduplicatedColumnNames();
  const rows: Json[][] = [];
  for await (const chunk of result.yieldConvertedRows(jsonValue)) {
    rows.push(...chunk);
    if (rows.length > TABLE_ROWS) break;
  }
  const shown = rows.slice(0, TABLE_ROWS);
  const cells = [names, ...shown.map((row) => row.map((value) => cellText(value, 'NULL')))].map((row) =>
    row.map((text) => [...text.replaceAll(HIDDEN, ' ')].slice(0, WIDEST_CELL).join('')),
  );
  const widths = names.map((_, k) => cells.reduce((most, row) => Math.max(most, row[k]?.length ?? 0), 0));
  const lines = cells.map((row, r) =>
    row.map((text, k) =>
      typeof shown[r - 1]?.[k] === 'number' ? text.padStart(widths[k] ?? 0) : text.padEnd(widths[k] ?? 0),
    ),
  );
  const count = rows.length > TABLE_ROWS ? `first ${TABLE_ROWS} rows, there are more` : `${rows.length} rows`;
  await write(`${lines.map((row) => row.join('  ').trimEnd()).join('\n')}\n(${count})\n`);
}

async function printCsv(result: DuckDBResult): Promise<void> {
  const line = (row: readonly string[]) =>
    `${row.map((text) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text)).join(',')}\n`;
  await write(line(result.deduplicatedColumnNames()));
  for await (const chunk of result.yieldConvertedRows(jsonValue))
    await write(chunk.map((row) => line(row.map((value) => cellText(value, '')))).join(''));
}

async function printJson(result: DuckDBResult): Promise<void> {
  let before = '[\n';
  for await (const chunk of result.yieldConvertedRowObjects(jsonValue)) {
    if (chunk.length === 0) continue;
    await write(before + chunk.map((row) => JSON.stringify(row)).join(',\n'));
    before = ',\n';
  }
  await write(before === '[\n' ? '[]\n' : '\n]\n');
}

/** Controls and marks that a terminal obeys or hides. */
const HIDDEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

function cellText(value: Json, absent: string): string {
  if (value === null) return absent;
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

/** Returns when the text was taken, or can be no more: a reader such as `head` may have gone. */
function write(text: string): Promise<void> {
  return new Promise((resolve) => process.stdout.write(text, () => resolve()));
}
