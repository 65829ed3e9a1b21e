import { existsSync } from 'node:fs';
import { Command, CommanderError, InvalidArgumentError } from 'commander';
import { columns, EXIT, explainOtherError, throwOnExit } from '../../schemas/command-line.ts';
import { isCalendarDate } from '../../schemas/time.ts';
import { type Business, findBusiness, LABEL_PATTERN } from '../accounts/businesses.ts';
import { openRecords, type Records } from '../billing/records.ts';
import { type Config, SettingsError } from '../config.ts';
import { UnreadableVersion } from '../published/catalog.ts';
import { recordsLocation } from '../records/database.ts';
import { CommitFailed, RecordsUnavailable } from '../records/errors.ts';
import { MasterKeyError } from '../records/secrets.ts';

/** How long a command waits for the server, which may be writing a large portfolio, and for one statement: some read every row. */
const WAITS = { lock_ms: 5_000, statement_ms: 600_000 } as const;

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

/** Failures whose message an operator can act on. */
const EXPECTED = [UnreadableVersion, MasterKeyError, RecordsUnavailable, CommitFailed];

/** Exit code of an error, and its message. */
export function explainError(error: unknown): { code: number; message: string } {
  if (error instanceof InvalidArgumentError) return { code: EXIT.usage, message: error.message };
  // Commander has printed its own message.
  if (error instanceof CommanderError) return { code: error.exitCode === 0 ? EXIT.done : EXIT.usage, message: '' };
  if (error instanceof CommandError) return { code: error.code, message: error.message };
  if (error instanceof SettingsError) return { code: EXIT.usage, message: error.message };
  if (EXPECTED.some((kind) => error instanceof kind))
    return { code: EXIT.failure, message: String(Object(error).message) };
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
    waits: WAITS,
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

/** What the work of a command on the records gets. */
export interface Desk<Settings extends RecordsConfig = RecordsConfig> {
  readonly records: Records;
  readonly settings: Settings;
  /** Data clock, epoch milliseconds. */
  readonly now_ms: number;
}

/** Output of a command: one JSON object with `--json`, else lines; `aside` goes to standard error beside the lines. */
export interface Printed {
  readonly json: unknown;
  readonly lines: readonly string[];
  readonly aside?: string;
}

/** A command on the records, such as `show <business>`. */
export interface RecordsCommand<Settings extends RecordsConfig, Options> {
  readonly usage: string;
  readonly about: string;
  /** Adds options, and help after them. */
  readonly options?: (command: Command) => Command;
  /** Missing SQLite records are made. */
  readonly creates?: boolean;
  readonly run: (desk: Desk<Settings>, options: Options, ...args: string[]) => Promise<Printed>;
}

/** A command that works on the records and prints the result. */
export function onRecords<Settings extends RecordsConfig, Options = unknown>(
  config: () => Settings,
  { usage, about, options = (command) => command, creates = false, run }: RecordsCommand<Settings, Options>,
): Command {
  const [name = '', ...args] = usage.split(' ');
  const command = args.reduce((made, arg) => made.argument(arg), new Command(name).description(about));
  return options(command)
    .option('--json', 'print one JSON object')
    .action(async () => {
      const settings = config();
      const { json, ...given } = command.opts<Options & { readonly json?: true }>();
      const printed = await withRecords(
        settings,
        (records) => run({ records, settings, now_ms: settings.now() }, given as Options, ...command.args),
        { create: creates },
      );
      if (!json && printed.aside !== undefined) process.stderr.write(`${printed.aside}\n`);
      print(json, printed);
    });
}

/** Prints one JSON object, or lines for people. */
export function print(json: boolean | undefined, { json: value, lines }: Printed): void {
  process.stdout.write(json ? `${JSON.stringify(value)}\n` : lines.map((line) => `${line}\n`).join(''));
}

/** `hail-api NAME`, with the commands below it. */
export function group(name: string, about: string, commands: readonly Command[]): Command {
  return commands.reduce((made, command) => made.addCommand(command), new Command(name).description(about));
}

/** Columns of text two spaces apart, under a head; the line `none` without rows. */
export function table(head: readonly string[], rows: readonly (readonly string[])[], none: string): readonly string[] {
  if (rows.length === 0) return [none];
  return columns([head, ...rows]).split('\n');
}

/** `acme is now active`, or that it already was. */
export function nowOrAlready(subject: string, changed: boolean, state: string): string {
  return `${subject} ${changed ? 'is now' : 'already was'} ${state}.`;
}

/** Argument parser: refuses a text of which `read` makes nothing. */
export function argument<Value>(
  expected: string,
  read: (text: string) => Value | null | undefined,
): (text: string) => Value {
  return (text) => {
    const value = read(text);
    if (value == null) throw new InvalidArgumentError(`Found '${text}', expected ${expected}.`);
    return value;
  };
}

/** Argument: the text itself, of some form. */
export function textLike(pattern: RegExp, expected: string): (text: string) => string {
  return argument(expected, (text) => (pattern.test(text) ? text : null));
}

/** Argument: a whole number from `low` to `high`. */
export function wholeNumber(low: number, high: number): (text: string) => number {
  return argument(`a whole number from ${low} to ${high}`, (text) => {
    const value = Number(text);
    return /^-?\d+$/.test(text) && value >= low && value <= high ? value : null;
  });
}

/** Argument: a whole number, or `none`: commander turns null into an empty text. */
export function wholeNumberOrNone(text: string): number | 'none' {
  return text === 'none' ? text : wholeNumber(0, Number.MAX_SAFE_INTEGER)(text);
}

/** Argument: name of a business or a key. */
export const label = textLike(LABEL_PATTERN, '1 to 100 printable characters');

/** Argument: one of some words. */
export function oneWordOf<Word extends string>(words: readonly Word[]): (text: string) => Word {
  return argument(words.join(', '), (text) => words.find((known) => known === text));
}

/** Argument: a month, `YYYY-MM`. */
export const calendarMonth = argument('a month as YYYY-MM', (text) =>
  /^\d{4}-\d{2}$/.test(text) && isCalendarDate(`${text}-01`) ? text : null,
);

const UNITS_MS = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** Argument: a duration in milliseconds, from `30d`, `12h`, `15m`, `10s` or `0`. */
export const duration = argument('a duration such as 30d, 12h or 0', (text) => {
  const [, count, unit] = /^(\d{1,6})([smhd])$/.exec(text === '0' ? '0s' : text) ?? [];
  return count === undefined ? null : Number(count) * UNITS_MS[unit as keyof typeof UNITS_MS];
});

/** Argument: an instant as ISO 8601 with milliseconds, from a UTC date or a UTC time. */
export const parseInstant = argument('a date or a UTC time such as 2027-01-31 or 2027-01-31T12:00:00Z', (text) => {
  const isForm = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2})?Z)?$/.test(text) && isCalendarDate(text.slice(0, 10));
  const time_ms = isForm ? Date.parse(text) : Number.NaN;
  return Number.isNaN(time_ms) ? null : new Date(time_ms).toISOString();
});

/** Argument of an option that may be repeated, each time with one or several words between commas. */
export function collectWords(text: string, before: readonly string[] = []): readonly string[] {
  const words = text.split(',').map((word) => word.trim());
  if (words.includes('')) throw new InvalidArgumentError(`Found '${text}', expected words between commas.`);
  return [...before, ...words];
}
