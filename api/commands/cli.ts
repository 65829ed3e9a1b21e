import { existsSync } from 'node:fs';
import { type Command, CommanderError, InvalidArgumentError } from 'commander';
import { columns, EXIT, explainOtherError, throwOnExit } from '../../schemas/command-line.ts';
import { isCalendarDate } from '../../schemas/time.ts';
import { type Business, findBusiness, LABEL_PATTERN } from '../accounts/businesses.ts';
import { openRecords, type Records } from '../billing/records.ts';
import { type Config, SettingsError } from '../config.ts';
import { UnreadableVersion } from '../published/catalog.ts';
import { recordsLocation } from '../records/database.ts';
import { CommitFailed, RecordsUnavailable } from '../records/errors.ts';
import { MasterKeyError } from '../records/secrets.ts';

/** How long a command waits for the server, which may be writing a large portfolio. */
const WRITE_WAIT_MS = 5_000;
/** How long one statement of a command may take: some read every row. */
const STATEMENT_WAIT_MS = 600_000;

/** Option of every command that prints one JSON object instead of lines. */
export interface Json {
  readonly json?: true;
}

/** What these commands need of the settings. */
export type RecordsConfig = Pick<Config, 'data_root' | 'database_url' | 'raw_keep_days' | 'now'>;

/** A failure of a command: subject, found, expected; and its exit code. */
export class CommandError extends Error {
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.name = 'CommandError';
    this.code = code;
  }
}

/** Exit code of an error, and its message. */
export function explainError(error: unknown): { code: number; message: string } {
  if (error instanceof InvalidArgumentError) return { code: EXIT.usage, message: error.message };
  // Commander has printed its own message.
  if (error instanceof CommanderError) return { code: error.exitCode === 0 ? EXIT.done : EXIT.usage, message: '' };
  if (error instanceof CommandError) return { code: error.code, message: error.message };
  if (error instanceof SettingsError) return { code: EXIT.usage, message: error.message };
  if (error instanceof UnreadableVersion) return { code: EXIT.failure, message: error.message };
  if (error instanceof MasterKeyError) return { code: EXIT.failure, message: error.message };
  if (error instanceof RecordsUnavailable || error instanceof CommitFailed)
    return { code: EXIT.failure, message: error.message };
  return explainOtherError(error);
}

/** Runs a program and returns its exit code; prints errors on standard error. */
export async function runProgram(program: Command, args: readonly string[]): Promise<number> {
  throwOnExit(program);
  try {
    await program.parseAsync(args, { from: 'user' });
    return Number(process.exitCode ?? EXIT.done);
  } catch (error) {
    const { code, message } = explainError(error);
    if (message !== '') process.stderr.write(`${program.name()}: ${message}\n`);
    return code;
  }
}

/**
 * Runs `work` on the records and closes them. Safe while the server runs: both use transactions. Without `create`, a missing
 * SQLite file is an error, because the data root is probably the wrong one.
 */
export async function withRecords<Result>(
  config: RecordsConfig,
  work: (records: Records) => Promise<Result>,
  { create = false } = {},
): Promise<Result> {
  const location = recordsLocation(config.data_root, config.database_url);
  if (!create && 'path' in location && !existsSync(location.path))
    throw new CommandError(
      EXIT.not_found,
      `records ${location.path}: no such file, expected what 'hail-api serve' or 'hail-api seed apply' makes`,
    );
  const records = await openRecords({
    ...config,
    write_wait_ms: WRITE_WAIT_MS,
    statement_wait_ms: STATEMENT_WAIT_MS,
    report: (line) => process.stderr.write(`${line}\n`),
  });
  try {
    return await work(records);
  } finally {
    await records.close();
  }
}

/** The business of that name or id; throws when there is none. */
export async function businessNamed(records: Records, nameOrId: string): Promise<Business> {
  const business = await findBusiness(records.reader, nameOrId);
  if (business === null) throw new CommandError(EXIT.not_found, `business ${nameOrId}: does not exist`);
  return business;
}

/** Prints one JSON object, or lines for people. */
export function print(json: boolean | undefined, value: unknown, lines: readonly string[]): void {
  process.stdout.write(json ? `${JSON.stringify(value)}\n` : lines.map((line) => `${line}\n`).join(''));
}

/** Columns of text two spaces apart, under a head; the line `none` without rows. */
export function table(head: readonly string[], rows: readonly (readonly string[])[], none: string): readonly string[] {
  if (rows.length === 0) return [none];
  return columns([head, ...rows]).split('\n');
}

/** Argument parser: a whole number from `low` to `high`. */
export function wholeNumber(low: number, high: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (!/^-?\d+$/.test(text) || value < low || value > high)
      throw new InvalidArgumentError(`Found '${text}', expected a whole number from ${low} to ${high}.`);
    return value;
  };
}

/** Argument parser: a whole number, or `none`: commander turns null into an empty text. */
export function wholeNumberOrNone(text: string): number | 'none' {
  return text === 'none' ? text : wholeNumber(0, Number.MAX_SAFE_INTEGER)(text);
}

/** Argument parser: name of a business or a key. */
export function label(text: string): string {
  if (!LABEL_PATTERN.test(text)) throw new InvalidArgumentError('Expected 1 to 100 printable characters.');
  return text;
}

/** Argument parser: one of some words. */
export function oneWordOf<Word extends string>(words: readonly Word[]): (text: string) => Word {
  return (text) => {
    const word = words.find((known) => known === text);
    if (word === undefined) throw new InvalidArgumentError(`Found '${text}', expected ${words.join(', ')}.`);
    return word;
  };
}

/** Argument parser: a month, `YYYY-MM`. */
export function calendarMonth(text: string): string {
  if (!/^\d{4}-\d{2}$/.test(text) || !isCalendarDate(`${text}-01`))
    throw new InvalidArgumentError(`Found '${text}', expected a month as YYYY-MM.`);
  return text;
}

const UNITS_MS = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** Argument parser: a duration in milliseconds, from `30d`, `12h`, `15m`, `10s` or `0`. */
export function duration(text: string): number {
  const [, count, unit] = /^(\d{1,6})([smhd])$/.exec(text === '0' ? '0s' : text) ?? [];
  if (count === undefined)
    throw new InvalidArgumentError(`Found '${text}', expected a duration such as 30d, 12h or 0.`);
  return Number(count) * UNITS_MS[unit as keyof typeof UNITS_MS];
}

/** Argument parser: an instant as ISO 8601 with milliseconds, from a UTC date or a UTC time. */
export function parseInstant(text: string): string {
  const time_ms = Date.parse(text);
  if (
    !/^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2})?Z)?$/.test(text) ||
    !isCalendarDate(text.slice(0, 10)) ||
    Number.isNaN(time_ms)
  )
    throw new InvalidArgumentError(
      `Found '${text}', expected a date or a UTC time such as 2027-01-31 or 2027-01-31T12:00:00Z.`,
    );
  return new Date(time_ms).toISOString();
}

/** Argument parser of an option that may be repeated, each time with one or several words between commas. */
export function collectWords(text: string, before: readonly string[] = []): readonly string[] {
  const words = text.split(',').map((word) => word.trim());
  if (words.includes('')) throw new InvalidArgumentError(`Found '${text}', expected words between commas.`);
  return [...before, ...words];
}
