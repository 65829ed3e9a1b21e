import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { Command, Option } from 'commander';
import { EXIT, STOP_SIGNALS } from '../../schemas/command-line.ts';
import { layout } from '../../schemas/layout.ts';
import type { Config } from '../config.ts';
import { NotFound, UsageError } from '../error.ts';
import { explainError, wholeNumber } from './arguments.ts';
import { EMPTY, openSqlEngine, type SqlEngine } from './sql-engine.ts';
import { openOutFile } from './sql-file.ts';
import { type PrintSettings, printResult, type TextFormat } from './sql-output.ts';
import { messageText, runShell, TEXT_FORMATS } from './sql-shell.ts';

interface SqlOptions {
  readonly format?: TextFormat | 'parquet';
  readonly out?: string;
  readonly force?: true;
  readonly rows: number;
  readonly data?: string;
}

/** Rows that a table shows unless told otherwise. */
const TABLE_ROWS = 40;

/** `hail-pipeline sql`: a shell, or one statement, over views of every published table at one edition. Takes no lock. */
export function sqlCommand(readConfig: () => Config): Command {
  return new Command('sql')
    .description('ask the published tables in SQL: a shell, or one statement; reads only')
    .argument('[statement]', 'one SQL statement of DuckDB; without it a shell, or statements from standard input')
    .addOption(
      new Option('--format <format>', 'how the result is written; parquet needs --out').choices([
        ...TEXT_FORMATS,
        'parquet',
      ]),
    )
    .option('--out <file>', 'write the result to this file outside the data root, in one step')
    .option('--force', 'replace the file of --out')
    .option('--rows <n>', 'rows that a table shows', wholeNumber(1, 999_999), TABLE_ROWS)
    .option('--data <dir>', 'data root (default: HAIL_DATA)')
    .addHelpText(
      'after',
      `
Views have the names of the tables, with _ for -: detections, day_max, ground_reports. A table shows ${TABLE_ROWS} rows; CSV, JSON
and Parquet hold all of them and are written as they are read, in bounded memory.

Examples:
  hail-pipeline sql
  hail-pipeline sql "SELECT storm_date, max(max_mm) FROM day_max GROUP BY ALL ORDER BY ALL"
  hail-pipeline sql --format parquet --out may.parquet "FROM detections WHERE storm_date BETWEEN '2026-05-01' AND '2026-05-31'"`,
    )
    .action(async (statement: string | undefined, options: SqlOptions) => {
      const dataRoot = options.data === undefined ? readConfig().data_root : resolve(options.data);
      if (!existsSync(join(dataRoot, layout.root)))
        throw new NotFound(
          'sql',
          dataRoot,
          `holds no ${layout.root}, expected a data root that something was published to`,
        );
      const format = options.format ?? 'table';
      const asked = { format, rows: options.rows, is_terminal: process.stdout.isTTY === true };
      const out = options.out === undefined ? null : resolve(options.out);
      // The paths of the views are relative to the data root. Paths of the command line are absolute by now.
      process.chdir(dataRoot);
      if (statement === undefined) process.exitCode = await shell(dataRoot, out, asked);
      else if (out !== null) await writeFile(dataRoot, statement, format, out, options.force === true);
      else await printStatement(dataRoot, statement, asked);
    });
}

interface Asked {
  readonly format: TextFormat | 'parquet';
  readonly rows: number;
  readonly is_terminal: boolean;
}

function printSettings({ format, rows, is_terminal }: Asked): PrintSettings {
  if (format === 'parquet') throw new UsageError('--format parquet is given without --out, expected the file to write');
  return { format, rows, look: { width: terminalWidth(), is_terminal } };
}

function terminalWidth(): number | null {
  return process.stdout.isTTY === true ? process.stdout.columns : null;
}

function shell(dataRoot: string, out: string | null, asked: Asked): Promise<number> {
  if (out !== null)
    throw new UsageError('--out is given without a statement, expected the statement to write the result of');
  return runShell({
    open: () => openSqlEngine(dataRoot, null),
    print: printSettings(asked),
    width: terminalWidth,
    input: process.stdin,
    output: process.stdout,
    errors: process.stderr,
    is_terminal: process.stdin.isTTY === true && asked.is_terminal,
  });
}

async function printStatement(dataRoot: string, statement: string, asked: Asked): Promise<void> {
  const print = printSettings(asked);
  await withEngine(dataRoot, null, async (engine) => {
    const result = await engine.run(statement);
    if (result === null) throw new UsageError(EMPTY);
    await printResult(result, print, process.stdout);
  });
}

async function writeFile(
  dataRoot: string,
  statement: string,
  format: Asked['format'],
  path: string,
  force: boolean,
): Promise<void> {
  const file = await openOutFile(path, dataRoot, force);
  try {
    await withEngine(dataRoot, format === 'parquet' ? file.draft : null, async (engine) => {
      if (format === 'parquet') {
        await engine.writeParquet(statement);
        return;
      }
      const result = await engine.run(statement);
      if (result === null) throw new UsageError(EMPTY);
      const print = { format, rows: Number.POSITIVE_INFINITY, look: { width: null, is_terminal: false } };
      await file.stream((to) => printResult(result, print, to));
    });
    await file.keep();
  } finally {
    await file.drop();
  }
  process.stdout.write(`${file.path}\n`);
}

/** Result of `work` on an engine, which is closed in any case; a stop signal cancels the running statement. */
async function withEngine(
  dataRoot: string,
  draft: string | null,
  work: (engine: SqlEngine) => Promise<void>,
): Promise<void> {
  const engine = await openSqlEngine(dataRoot, draft);
  const cancel = () => engine.cancel();
  for (const signal of STOP_SIGNALS) process.once(signal, cancel);
  try {
    await work(engine);
  } catch (error) {
    const { code, message } = explainError(error);
    // Messages of DuckDB repeat what a file or a statement says.
    if (code === EXIT.usage) throw new UsageError(messageText(message));
    throw error;
  } finally {
    for (const signal of STOP_SIGNALS) process.off(signal, cancel);
    await engine.close();
  }
}
