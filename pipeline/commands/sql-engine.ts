import fs from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type DuckDBConnection, DuckDBInstance, type DuckDBResult, StatementType } from '@duckdb/node-api';
import { layout } from '../../schemas/layout.ts';
import { sqlText } from '../duckdb.ts';
import { NotFound, PipelineError, UsageError } from '../error.ts';
import { readIfPresent } from '../files.ts';

/** Most memory that a statement takes before it spills; the process holds about 250 MB besides. */
const MEMORY_LIMIT = '512MB';
const THREADS = '2';
/** Most that statements spill to the folder for temporary files. */
const SPILL_LIMIT = '20GB';

/** Statements over the views of one edition. */
export interface SqlEngine {
  /**
   * Result of a statement that reads; null for a text without one. Pieces of it are read as they are fetched. Throws UsageError for
   * a statement that is wrong or that does more than read, PipelineError for one that fails.
   */
  readonly run: (sql: string) => Promise<DuckDBResult | null>;
  /** Writes the result of a statement to the Parquet file that the engine was opened for. Errors as `run`. */
  readonly writeParquet: (sql: string) => Promise<void>;
  /** Rows of a statement of our own. */
  readonly texts: (sql: string) => Promise<(string | null)[][]>;
  /** Ends the running statement, which then throws. */
  readonly cancel: () => void;
  readonly close: () => Promise<void>;
}

/**
 * Opens an engine over the views of a data root, which has to be the working directory: paths of the views are relative. It can read
 * the published tables and write `parquet_draft`, and nothing else; it takes no lock on the data root. Throws NotFound without views.
 */
export async function openSqlEngine(dataRoot: string, parquet_draft: string | null): Promise<SqlEngine> {
  const views = await readIfPresent(join(dataRoot, layout.views));
  if (views === null)
    throw new NotFound(
      'sql',
      join(dataRoot, layout.views),
      "is missing, expected the views that a command that publishes writes: 'hail-pipeline compact' writes them for what is published already",
    );
  const spill = await fs.mkdtemp(join(tmpdir(), 'hail-sql-'));
  const instance = await DuckDBInstance.create(':memory:', {
    threads: THREADS,
    memory_limit: MEMORY_LIMIT,
    temp_directory: spill,
    max_temp_directory_size: SPILL_LIMIT,
    enable_external_file_cache: 'false',
    autoinstall_known_extensions: 'false',
    autoload_known_extensions: 'false',
  });
  const connection = await instance.connect();
  const close = async () => {
    connection.closeSync();
    instance.closeSync();
    await fs.rm(spill, { recursive: true, force: true });
  };
  try {
    await connection.run("SET TimeZone = 'UTC'");
    await connection.run(`SET allowed_directories = [${sqlText(`${layout.tables}/`)}]`);
    if (parquet_draft !== null) await connection.run(`SET allowed_paths = [${sqlText(parquet_draft)}]`);
    await connection.run('SET enable_external_access = false');
    await connection.run('SET lock_configuration = true');
    await defineViews(connection, views);
  } catch (error) {
    await close();
    throw error;
  }
  return {
    run: async (sql) => {
      try {
        return await resultOf(connection, sql);
      } catch (error) {
        throw explained(error);
      }
    },
    writeParquet: async (sql) => {
      try {
        if ((await checkedStatement(connection, sql)) === null) throw new UsageError(EMPTY);
        await connection.run(`CREATE OR REPLACE TEMP VIEW ${RESULT} AS ${sql}`);
        const into = sqlText(parquet_draft ?? '');
        await connection.run(`COPY (FROM ${RESULT}) TO ${into} (FORMAT parquet, COMPRESSION zstd)`);
      } catch (error) {
        throw explained(error);
      }
    },
    texts: async (sql) => {
      const rows = (await connection.runAndReadAll(sql)).getRows();
      return rows.map((row) => row.map((value) => (value === null ? null : String(value))));
    },
    cancel: () => connection.interrupt(),
    close,
  };
}

/** Of a text without a statement. */
export const EMPTY = 'the statement is empty, expected SQL';

/** The statement of a caller under a name, where it has to be part of one of ours. */
const RESULT = 'hail_statement';

/** Statements of `views.sql`; the first one of the file is a setting, which this engine has no need of. */
const DEFINITIONS: readonly StatementType[] = [StatementType.CREATE, StatementType.ALTER];

async function defineViews(connection: DuckDBConnection, views: string): Promise<void> {
  try {
    const statements = await connection.extractStatements(views.replace(/^SET file_search_path = .*$/m, ''));
    for (let index = 0; index < statements.count; index++) {
      const statement = await statements.prepare(index);
      if (!DEFINITIONS.includes(statement.statementType))
        throw new Error(`it holds a statement of the kind ${StatementType[statement.statementType]}`);
      await statement.run();
      statement.destroySync();
    }
  } catch (cause) {
    if (isSwept(cause)) throw swept(cause);
    const reason = cause instanceof Error ? firstLine(cause.message) : String(cause);
    throw new PipelineError('sql', layout.views, `cannot be used (${reason}), expected definitions of views`, {
      cause,
    });
  }
}

async function resultOf(connection: DuckDBConnection, sql: string): Promise<DuckDBResult | null> {
  const statement = await checkedStatement(connection, sql);
  if (statement === null) return null;
  const result = await statement.stream();
  const types = result.columnTypes().map(String);
  if (!types.some((type) => type.startsWith(GEOMETRY))) return result;
  // Shapes are read as text (WKT): their columns are cast, by position, because two columns may have one name.
  await connection.run(`CREATE OR REPLACE TEMP VIEW ${RESULT} AS ${sql}`);
  const given = types.map((_, index) => `c${index}`).join(', ');
  const names = result.columnNames().map((name) => `"${name.replaceAll('"', '""')}"`);
  const list = types.map((type, k) => `c${k}${type.startsWith(GEOMETRY) ? '::VARCHAR' : ''} AS ${names[k]}`);
  return connection.stream(`SELECT ${list.join(', ')} FROM ${RESULT} AS shapes(${given})`);
}

const GEOMETRY = 'GEOMETRY';

/**
 * Functions that a SELECT may name and that write: logs go to files, and the others run the text that they are given. The text of the
 * statement is searched as it is, because whatever looks for the ends of quoted texts can be led astray.
 */
const WRITING_FUNCTION = /\b(enable_logging|json_execute_serialized_sql)\b|\bquery"?\s*(\(|\/\*|--)/i;

/** Space, comments that hold no other, and the bracket before a SELECT. */
const BEFORE = String.raw`(?:\s|--[^\n]*\n|\/\*(?:(?!\/\*|\*\/)[\s\S])*\*\/|\()*`;
const FIRST_WORD = new RegExp(`^${BEFORE}([a-z]*)`, 'i');
const EXPLAIN = new RegExp(`^${BEFORE}EXPLAIN\\b${BEFORE}(ANALYZE\\b)?`, 'i');
/** Words that statements begin with that read. Others may do something as soon as they are prepared: EXPORT makes a folder. */
const READING = ['SELECT', 'FROM', 'WITH', 'VALUES', 'TABLE', 'DESCRIBE', 'SHOW', 'SUMMARIZE', 'PIVOT', 'UNPIVOT'];

/** The one statement of a text, prepared, once it is known to do nothing but read; null for a text without a statement. */
async function checkedStatement(connection: DuckDBConnection, sql: string) {
  const writing = WRITING_FUNCTION.exec(sql)?.[0];
  if (writing !== undefined)
    throw new UsageError(
      `the statement holds '${writing}', a function that is not run here, expected one that only reads`,
    );
  if (/^(\s|--[^\n]*(\n|$)|\/\*[\s\S]*?\*\/|;)*$/.test(sql)) return null;
  const statements = await connection.extractStatements(sql);
  if (statements.count > 1)
    throw new UsageError(
      `the text holds ${statements.count} statements, expected one (a PIVOT counts as several: name its values with IN)`,
    );
  const read = sql.replace(EXPLAIN, '');
  requireReadingWord(read);
  const statement = await statements.prepare(0);
  if (read === sql) requireReading(statement.statementType);
  else requireReading((await (await connection.extractStatements(read)).prepare(0)).statementType);
  if (statement.parameterCount > 0)
    throw new UsageError('the statement has parameters, expected values in their place');
  return statement;
}

function requireReadingWord(sql: string): void {
  const word = (FIRST_WORD.exec(sql)?.[1] ?? '').toUpperCase();
  if (!READING.includes(word)) throw notReading(word);
}

function requireReading(type: StatementType): void {
  if (type !== StatementType.SELECT) throw notReading(StatementType[type]);
}

function notReading(found: string): UsageError {
  return new UsageError(
    `a statement '${found}' is not run here, expected one that reads: ${READING.join(', ')}, or EXPLAIN of one`,
  );
}

/** Kinds of errors of DuckDB that lie in the text of a statement. */
const MISTAKE = /^(Failed to \w+ statements: )?(Parser|Binder|Catalog|Syntax|Permission|Not implemented) Error/;

function explained(cause: unknown): unknown {
  if (!(cause instanceof Error) || cause instanceof PipelineError || cause instanceof UsageError) return cause;
  if (isSwept(cause)) return swept(cause);
  const message = cause.message.replace(/^Failed to \w+ statements: /, '').trimEnd();
  if (MISTAKE.test(cause.message)) return new UsageError(message);
  if (message.startsWith('INTERRUPT')) return new PipelineError('sql', 'statement', 'was cancelled', { cause });
  return new PipelineError('sql', 'statement', message, { cause });
}

function isSwept(cause: unknown): boolean {
  return cause instanceof Error && /No files found that match|Cannot open file .*No such file/.test(cause.message);
}

function swept(cause: unknown): PipelineError {
  const reason =
    'names a file that is gone: it was replaced more than two hours ago; read the newest edition (.refresh in the shell)';
  return new PipelineError('sql', 'edition', reason, { cause });
}

function firstLine(text: string): string {
  return text.split('\n', 1)[0] ?? '';
}
