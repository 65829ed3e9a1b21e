import { createInterface } from 'node:readline/promises';
import type { Readable, Writable } from 'node:stream';
import { columns, EXIT } from '../../schemas/command-line.ts';
import { sqlText } from '../duckdb.ts';
import { UsageError } from '../error.ts';
import { explainError } from './arguments.ts';
import type { SqlEngine } from './sql-engine.ts';
import { type PrintSettings, printResult, type TextFormat } from './sql-output.ts';
import { statementsIn } from './sql-statements.ts';
import { printable } from './sql-table.ts';

/** Formats that the shell prints. */
export const TEXT_FORMATS: readonly TextFormat[] = ['table', 'csv', 'json'];

export interface ShellSettings {
  readonly open: () => Promise<SqlEngine>;
  readonly print: PrintSettings;
  /** Columns of the terminal now. */
  readonly width: () => number | null;
  readonly input: Readable;
  readonly output: Writable;
  readonly errors: Writable;
  /** True when a person types: with prompts, and a failed statement ends nothing. */
  readonly is_terminal: boolean;
}

const HELP = `.tables            the views, with what they hold
.schema TABLE      columns of a view, with their meaning and units
.mode FORMAT       print results as ${TEXT_FORMATS.join(', ')}
.rows N            rows that a table shows
.edition           the commits that all views show
.refresh           read the newest edition
.quit              leave; so does Ctrl-D
A statement ends with a semicolon and may have several lines. Ctrl-C cancels it.
`;

/**
 * Reads statements and commands from a terminal, or from a file until the first failure. Returns the exit code: that of the failure
 * where it ended the shell.
 */
export async function runShell(settings: ShellSettings): Promise<number> {
  const { input, output, errors, is_terminal } = settings;
  let engine = await settings.open();
  let print = settings.print;
  let typed = '';
  let isRunning = false;
  const lines = createInterface({ input, output, terminal: is_terminal, historySize: 1000, prompt: 'hail> ' });
  const ask = () => {
    if (!is_terminal) return;
    lines.setPrompt(typed.trim() === '' ? 'hail> ' : '  ..> ');
    lines.prompt();
  };
  lines.on('SIGINT', () => {
    if (isRunning) {
      engine.cancel();
      return;
    }
    output.write(typed === '' ? '\n(.quit or Ctrl-D leaves)\n' : '\n');
    typed = '';
    ask();
  });
  /** Exit code of work that may fail; 0 when it did not. */
  const attempt = async (work: () => Promise<void>): Promise<number> => {
    isRunning = true;
    try {
      await work();
      return EXIT.done;
    } catch (error) {
      const { code, message } = explainError(error);
      errors.write(`${messageText(message)}\n`);
      return code;
    } finally {
      isRunning = false;
    }
  };
  const look = (): PrintSettings => ({ ...print, look: { ...print.look, width: settings.width() } });
  const execute = async (sql: string) => {
    const result = await engine.run(sql);
    if (result !== null) await printResult(result, look(), output);
  };
  /** False when the shell is left. */
  const obey = async (line: string): Promise<boolean> => {
    const [name = '', ...rest] = line.trim().replace(/;$/, '').split(/\s+/);
    const [given = ''] = rest;
    if (name === '.quit' || name === '.exit') return false;
    if (name === '.help') output.write(HELP);
    else if (name === '.tables') output.write(await tablesText(engine));
    else if (name === '.schema') output.write(await schemaText(engine, given));
    else if (name === '.edition') await execute('FROM edition');
    else if (name === '.mode') print = { ...print, format: formatOf(given) };
    else if (name === '.rows') print = { ...print, rows: rowsOf(given) };
    else if (name === '.refresh') {
      const next = await settings.open();
      await engine.close();
      engine = next;
      await execute('FROM edition');
    } else throw new UsageError(`${name} is no command of the shell, expected one that .help lists`);
    return true;
  };
  try {
    if (is_terminal) output.write('Views of every published table; .help lists commands, .tables the views.\n');
    ask();
    for await (const line of lines) {
      if (typed.trim() === '' && line.trimStart().startsWith('.')) {
        let stays = true;
        const code = await attempt(async () => {
          stays = await obey(line);
        });
        if (!stays) return EXIT.done;
        if (code !== EXIT.done && !is_terminal) return code;
      } else {
        const { whole, rest } = statementsIn(`${typed}${line}\n`);
        typed = rest;
        for (const sql of whole) {
          const code = await attempt(() => execute(sql));
          if (code !== EXIT.done && !is_terminal) return code;
        }
      }
      ask();
    }
    // The end of a file ends its last statement; a person who leaves does not run what is half typed.
    return is_terminal || typed.trim() === '' ? EXIT.done : await attempt(() => execute(typed));
  } finally {
    lines.close();
    await engine.close();
  }
}

/** A message for a terminal: its lines stay, nothing in them is obeyed. */
export function messageText(message: string): string {
  return message.split('\n').map(printable).join('\n');
}

/** A word as the name of a format that the shell prints; throws UsageError. */
function formatOf(word: string): TextFormat {
  const format = TEXT_FORMATS.find((each) => each === word);
  if (format !== undefined) return format;
  throw new UsageError(
    `.mode is '${word}', expected ${TEXT_FORMATS.join(', ')}; Parquet needs --out on the command line`,
  );
}

function rowsOf(word: string): number {
  if (/^[1-9]\d{0,5}$/.test(word)) return Number(word);
  throw new UsageError(`.rows is '${word}', expected a whole number from 1 to 999999`);
}

async function tablesText(engine: SqlEngine): Promise<string> {
  const rows = await engine.texts(
    'SELECT view_name, comment FROM duckdb_views() WHERE NOT internal AND NOT temporary ORDER BY view_name',
  );
  return `${columns(rows.map((row) => row.map((text) => text ?? '')))}\n`;
}

async function schemaText(engine: SqlEngine, view: string): Promise<string> {
  const rows = await engine.texts(
    `SELECT column_name, data_type, comment FROM duckdb_columns() WHERE NOT internal AND table_name = ${sqlText(view)} ORDER BY column_index`,
  );
  if (rows.length === 0) throw new UsageError(`.schema is about '${view}', expected a view that .tables lists`);
  return `${columns(rows.map((row) => row.map((text) => text ?? '')))}\n`;
}
