import { existsSync } from 'node:fs';
import { Command, CommanderError, InvalidArgumentError } from 'commander';
import { columns, EXIT, explainOtherError, STOP_SIGNALS, throwOnExit } from '../../schemas/command-line.ts';
import { isCalendarDate } from '../../schemas/time.ts';
import { type Business, findBusiness, LABEL_PATTERN } from '../accounts/businesses.ts';
import { openRecords, type Records } from '../billing/records.ts';
import { type Config, SettingsError } from '../config.ts';
import { UnreadableVersion } from '../published/catalog.ts';
import { MasterKeyError } from '../records/cipher.ts';
import { recordsLocation } from '../records/database.ts';
import { CommitFailed, RecordsUnavailable } from '../records/errors.ts';

/** How long a command waits for the server, which may be writing a large portfolio, and for one statement: some read every row. */
const WAITS = { lock_ms: 5_000, statement_ms: 600_000 } as const;

/** A failure of a command: subject, found, expected; and its exit code. */
export class CommandError extends Error {
  readonly code: number;

  constructor(end: keyof typeof EXIT, message: string) {
    super(message);
    this.name = 'CommandError';
    this.code = EXIT[end];
  }
}

/** Failures whose message an operator can act on. */
const EXPECTED = [UnreadableVersion, MasterKeyError, RecordsUnavailable, CommitFailed];

/** Exit code of an error, and its message. */
export function explainError(error: unknown): { code: number; message: string } {
  if (error instanceof InvalidArgumentError || error instanceof SettingsError)
    return { code: EXIT.usage, message: error.message };
  // Commander has printed its own message.
  if (error instanceof CommanderError) return { code: error.exitCode === 0 ? EXIT.done : EXIT.usage, message: '' };
  if (error instanceof CommandError) return { code: error.code, message: error.message };
  if (error instanceof Error && EXPECTED.some((kind) => error instanceof kind))
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
  config: Config,
  work: (records: Records) => Promise<Result>,
  create = false,
): Promise<Result> {
  const location = recordsLocation(config.data_root, config.database_url);
  if (!create && 'path' in location && !existsSync(location.path))
    throw new CommandError(
      'not_found',
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
  if (business === null) throw new CommandError('not_found', `business ${nameOrId}: does not exist`);
  return business;
}

/** What the work of a command on the records gets: `now_ms` is the data clock. */
export type Desk = { readonly records: Records; readonly settings: Config; readonly now_ms: number };

/** Output of a command: one JSON object with `--json`, else `lines`, which are made from the object when left out. */
type Printed = { readonly json: object; readonly lines?: readonly string[] };

/** A command on the records, such as `show <business>`. */
interface RecordsCommand<Given, Options, Args extends readonly unknown[]> {
  readonly usage: string;
  readonly about: string;
  /** Adds options, and arguments that are parsed. */
  readonly options?: (command: Command) => Command;
  /** Printed below the help on its options, such as examples. */
  readonly help?: string;
  /** Missing SQLite records are made. */
  readonly creates?: boolean;
  readonly run: (desk: Given, options: Options, ...args: Args) => Promise<Printed>;
}

/** A command that works on the records and prints the result. */
export function onRecords<Options = unknown, Args extends readonly unknown[] = string[]>(
  config: () => Config,
  {
    usage,
    about,
    options = (command) => command,
    help = '',
    creates = false,
    run,
  }: RecordsCommand<Desk, Options, Args>,
): Command {
  return options(new Command().command(usage).description(about))
    .option('--json', 'print one JSON object')
    .addHelpText('after', help && `\n${help}`)
    .action(async (...given) => {
      const settings = config();
      const { json, ...rest } = (given.at(-1) as Command).opts<Options & { readonly json?: true }>();
      // Commander passes the arguments, the options and the command.
      const args = given.slice(0, -2) as unknown as Args;
      const work = (records: Records) => run({ records, settings, now_ms: settings.now() }, rest as Options, ...args);
      print(json, await withRecords(settings, work, creates));
    });
}

/** The same for a command whose first argument is a business by name or id. */
export function onBusiness<Options = unknown>(
  config: () => Config,
  command: RecordsCommand<Desk & { readonly business: Business }, Options, string[]>,
): Command {
  return onRecords(config, {
    ...command,
    run: async (desk, options: Options, nameOrId: string, ...args: string[]) =>
      command.run({ ...desk, business: await businessNamed(desk.records, nameOrId) }, options, ...args),
  });
}

/** Resolves at the first signal that stops a command. */
export function stopSignal(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of STOP_SIGNALS) process.once(signal, () => resolve());
  });
}

/** Prints one JSON object, or lines for people. */
export function print(json: boolean | undefined, { json: value, lines = linesOf(value) }: Printed): void {
  process.stdout.write(json ? `${JSON.stringify(value)}\n` : lines.map((line) => `${line}\n`).join(''));
}

/** An object for people: a line for each value, and a table for each list of objects. */
function linesOf(value: object, prefix = ''): readonly string[] {
  return Object.entries(value).flatMap(([name, entry]) => {
    if (isRow(entry)) return linesOf(entry, `${prefix}${name}.`);
    if (!Array.isArray(entry) || !isRow(entry[0])) return [`${prefix}${name}: ${wordsOf(entry)}`];
    const rows = entry.map((row: object) => Object.values(row).map(wordsOf));
    return columns([Object.keys(entry[0]), ...rows]).split('\n');
  });
}

function isRow(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function wordsOf(value: unknown): string {
  if (value === null) return 'none';
  if (Array.isArray(value)) return value.join(',') || 'none';
  return isRow(value) ? JSON.stringify(value) : String(value);
}

/** `hail-api NAME`, with the commands below it. */
export function group(name: string, about: string, commands: readonly Command[]): Command {
  return commands.reduce((made, command) => made.addCommand(command), new Command(name).description(about));
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

/** Argument: credits, or `none`. */
export const creditsOrNone = (text: string) => (text === 'none' ? null : wholeNumber(0, Number.MAX_SAFE_INTEGER)(text));

/** Argument: name of a business or a key. */
export const label = textLike(LABEL_PATTERN, '1 to 100 printable characters');

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
