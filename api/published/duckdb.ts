import { AsyncLocalStorage } from 'node:async_hooks';
import { randomUUID } from 'node:crypto';
import { availableParallelism, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import {
  BOOLEAN,
  DOUBLE,
  type DuckDBConnection,
  DuckDBDoubleVector,
  DuckDBInstance,
  type DuckDBType,
  type DuckDBValue,
  type DuckDBVector,
  LIST,
  listValue,
  SQLNULL,
  VARCHAR,
} from '@duckdb/node-api';
import { ERROR_MESSAGES } from '../../schemas/errors.ts';
import { ApiError } from '../http/errors.ts';
import { die } from './die.ts';

/**
 * What a statement may be given: `$1`, `$2`, …; a list is for `read_parquet($1::VARCHAR[], …)`, its files are held while the statement
 * waits and runs; numbers are DOUBLE.
 */
export type SqlParameter = string | number | boolean | null | readonly string[];

/** Values of each column of a result, by name: numbers, texts, booleans or null; DATE and TIMESTAMPTZ as epoch milliseconds. */
type Columns<Name extends string = string> = Readonly<Record<Name, readonly unknown[]>>;

/** Values of each DOUBLE column of a result, by name; NaN for null. */
type Numbers<Name extends string = string> = Readonly<Record<Name, Float64Array>>;

/**
 * Statements over published files. All throw QueryTimeout when a statement takes too long, ApiError overloaded at
 * once when too many wait already, and DuckDB's error when a file is missing.
 */
export interface Queries {
  /** Rows as plain objects. An empty list of paths is an error of DuckDB: callers answer it themselves. */
  readonly rows: <Row>(sql: string, parameters?: readonly SqlParameter[]) => Promise<Row[]>;
  /** The same as columns, for results of many rows. */
  readonly columns: <Name extends string>(sql: string, parameters?: readonly SqlParameter[]) => Promise<Columns<Name>>;
  /** The same for DOUBLE columns, as arrays with NaN for null: ten times as fast. */
  readonly numbers: <Name extends string>(sql: string, parameters?: readonly SqlParameter[]) => Promise<Numbers<Name>>;
  /**
   * Hands over a result of DOUBLE columns piece by piece, each column an array with NaN for null: for results that are never in
   * memory as a whole. A piece is valid until `take` returns; other requests go on between two of them.
   */
  readonly stream: (sql: string, parameters: readonly SqlParameter[], take: (piece: Piece) => void) => Promise<void>;
}

/** Some rows of a result: its columns, in the order of the select list. */
type Piece = readonly Float64Array[];

/** Runs several statements at a time. It can read the data root and nothing else; no statement can change that. */
export interface Engine extends Queries {
  /** For the preparation of an edition: ahead of all waiting statements, and never refused as too many. */
  readonly priority: Queries;
  readonly load: () => EngineLoad;
  /** Refuses waiting statements, interrupts running ones, and closes once they have ended or were given up. Idempotent. */
  readonly close: () => Promise<void>;
}

/** What an engine is doing. */
export interface EngineLoad {
  readonly running: number;
  readonly waiting: number;
}

/** The share of the machine that an engine may take. */
export interface EngineRole {
  /** Statements that run at the same time; further ones wait. */
  readonly connections: number;
  /** Statements that may wait; beyond them, questions are refused at once. */
  readonly waiting_max: number;
  readonly threads: number;
  /** As DuckDB takes it, such as `320MB`. */
  readonly memory_limit: string;
  /** A statement that takes longer is interrupted. */
  readonly statement_limit_ms: number;
  /** One that was interrupted and takes longer than this to end is given up. */
  readonly interrupt_limit_ms: number;
}

/** Far longer than an interrupt takes to be seen on a busy machine. */
const INTERRUPT_LIMIT_MS = 30_000;

/** More threads than this make no point query faster. */
const THREADS_MAX = 4;
const CORES = availableParallelism();

/** For requests that callers wait for. */
export const ANSWERS: EngineRole = {
  connections: 4,
  waiting_max: 256, // about 2 s of point queries on two cores: a caller that would wait longer is asked to retry
  threads: Math.min(THREADS_MAX, Math.max(2, CORES)),
  memory_limit: '320MB',
  statement_limit_ms: 20_000, // below the 30 s after which a request is given up
  interrupt_limit_ms: INTERRUPT_LIMIT_MS,
};

/** For exports and reports, whose callers poll: one at a time, on at most half of the cores. */
export const JOBS: EngineRole = {
  connections: 1,
  waiting_max: 16,
  threads: Math.min(THREADS_MAX, Math.max(1, Math.floor(CORES / 2))),
  memory_limit: '320MB',
  statement_limit_ms: 600_000,
  interrupt_limit_ms: INTERRUPT_LIMIT_MS,
};

/** A statement ran longer than it may and was interrupted, or given up. */
export class QueryTimeout extends Error {
  constructor(limit_ms: number) {
    super(`a query took longer than ${limit_ms} ms and was interrupted`);
    this.name = 'QueryTimeout';
  }
}

const INTERRUPT_EVERY_MS = 100;
/** Given-up statements of this process that may still run, such as reads of a mount whose server is gone: each keeps a thread. */
const ENDLESS_MAX = 4;
/** Disk space for the spill of a job: many times its memory, and no full disk. */
const JOB_SPILL_LIMIT = '2GB';
/** The queue drains soon: most statements take milliseconds. */
const RETRY_AFTER_S = 1;

/** Opens an engine over the folder of a data root. Engines share no connections, memory or threads. */
export function openEngine(dataRoot: string, role: EngineRole = ANSWERS): Promise<Engine> {
  const spill_folder = join(tmpdir(), `hail-spill-${process.pid}-${randomUUID()}`);
  const allow = `SET allowed_directories = [${sqlText(`${resolve(dataRoot)}/`)}]`;
  return openLocked(role, { temp_directory: spill_folder }, allow);
}

/**
 * Opens an engine for work that writes: it can open these files, to read or to write, and no other. Data that do not fit into
 * its memory go to `spill_folder`, as far as the role allows, until the engine is closed.
 */
export function openFilesEngine(files: readonly string[], role: EngineRole, spill_folder: string): Promise<Engine> {
  const spill = { temp_directory: spill_folder, max_temp_directory_size: JOB_SPILL_LIMIT };
  const allow = `SET allowed_paths = [${files.map((file) => sqlText(resolve(file))).join(', ')}]`;
  return openLocked(role, spill, allow);
}

/** An engine that `open` opens with its first statement. */
export function openWhenAsked(open: () => Promise<Engine>): Engine {
  let opened: Promise<Engine> | undefined;
  let open_engine: Engine | undefined;
  let isClosed = false;
  const engine = (): Promise<Engine> => {
    if (isClosed) return Promise.reject(closed());
    opened ??= open().then(
      (made) => {
        open_engine = made;
        return made;
      },
      (error: unknown) => {
        opened = undefined;
        throw error;
      },
    );
    return opened;
  };
  const queriesOf = (pick: (engine: Engine) => Queries): Queries => ({
    rows: async <Row>(sql: string, parameters?: readonly SqlParameter[]) =>
      pick(await engine()).rows<Row>(sql, parameters),
    columns: async <Name extends string>(sql: string, parameters?: readonly SqlParameter[]) =>
      pick(await engine()).columns<Name>(sql, parameters),
    numbers: async <Name extends string>(sql: string, parameters?: readonly SqlParameter[]) =>
      pick(await engine()).numbers<Name>(sql, parameters),
    stream: async (sql, parameters, take) => pick(await engine()).stream(sql, parameters, take),
  });
  return {
    ...queriesOf((queries) => queries),
    priority: queriesOf(({ priority }) => priority),
    load: () => open_engine?.load() ?? { running: 0, waiting: 0 },
    close: async () => {
      isClosed = true;
      // A failed opening leaves nothing to close, and rejected the statement that caused it.
      const [opening] = await Promise.allSettled([opened]);
      if (opening.status === 'fulfilled') await opening.value?.close();
    },
  };
}

/** A text as a SQL literal, for the places where DuckDB takes no parameter. */
export function sqlText(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/** From the first connection on only the files that `allow` names can be opened, and the spill folder; no setting can change. */
async function openLocked(role: EngineRole, spill: Readonly<Record<string, string>>, allow: string): Promise<Engine> {
  const instance = await DuckDBInstance.create(':memory:', {
    threads: String(role.threads),
    memory_limit: role.memory_limit,
    // The system's own cache holds the files as well, outside our memory.
    enable_external_file_cache: 'false',
    ...spill,
    autoinstall_known_extensions: 'false',
    autoload_known_extensions: 'false',
  });
  const connections: DuckDBConnection[] = [];
  // Others take the place of those whose statement does not end.
  for (let n = 0; n < role.connections + ENDLESS_MAX; n++) connections.push(await configured(await instance.connect()));
  const [first] = connections as [DuckDBConnection];
  await first.run(allow);
  await first.run('SET enable_external_access = false');
  await first.run('SET lock_configuration = true');
  const pool = new ConnectionPool(connections, role);
  let closing: Promise<void> | undefined;
  const closeAll = async () => {
    await pool.close();
    instance.closeSync();
  };
  return {
    ...queriesOver(pool, 'in turn'),
    priority: queriesOver(pool, 'ahead'),
    load: () => pool.load,
    close: () => {
      closing ??= closeAll();
      return closing;
    },
  };
}

/** The question that a statement belongs to: whether one of its statements was admitted to the queue. */
const questions = new AsyncLocalStorage<{ admitted: boolean }>();

/**
 * Runs the statements of one question. It is refused as a whole or not at all: once one of its statements runs or waits, the
 * others are not refused as too many.
 */
export function asOneQuestion<Result>(work: () => Result): Result {
  return questions.run({ admitted: false }, work);
}

type Work<Outcome> = (connection: DuckDBConnection) => Promise<Outcome>;

function queriesOver(pool: ConnectionPool, place: Place): Queries {
  const over = <Outcome>(work: Work<Outcome>) => pool.run(work, place);
  return {
    rows: async <Row>(sql: string, parameters: readonly SqlParameter[] = []) => {
      const { names, columns } = await over((connection) => resultOf(connection, sql, parameters));
      return rowsOf(names, columns) as Row[];
    },
    columns: async (sql, parameters = []) => {
      const { names, columns } = await over((connection) => resultOf(connection, sql, parameters));
      return Object.fromEntries(names.map((name, index) => [name, columns[index] ?? []])) as Columns;
    },
    numbers: (sql, parameters = []) => over((connection) => numbersOf(connection, sql, parameters)),
    stream: (sql, parameters, take) => over((connection) => streamed(connection, sql, parameters, take)),
  };
}

/** Runs work that a question starts and does not wait for, outside of the question. */
export function asNoQuestion<Result>(work: () => Result): Result {
  return questions.exit(work);
}

interface Result {
  readonly names: readonly string[];
  readonly columns: readonly (readonly unknown[])[];
}

async function resultOf(
  connection: DuckDBConnection,
  sql: string,
  parameters: readonly SqlParameter[],
): Promise<Result> {
  const reader = await connection.runAndReadAll(sql, parameters.map(bound), parameters.map(typeOf));
  return { names: reader.deduplicatedColumnNames(), columns: reader.getColumnsJS().map(plainColumn) };
}

async function numbersOf(
  connection: DuckDBConnection,
  sql: string,
  parameters: readonly SqlParameter[],
): Promise<Numbers> {
  const result = await connection.run(sql, parameters.map(bound), parameters.map(typeOf));
  const columns = result.deduplicatedColumnNames().map((name) => [name, new Float64Array(result.rowCount)] as const);
  let row = 0;
  for (const chunk of await result.fetchAllChunks()) {
    for (const [index, [, values]] of columns.entries()) fill(values, row, chunk.getColumnVector(index));
    row += chunk.rowCount;
  }
  return Object.fromEntries(columns);
}

async function streamed(
  connection: DuckDBConnection,
  sql: string,
  parameters: readonly SqlParameter[],
  take: (piece: Piece) => void,
): Promise<void> {
  const result = await connection.stream(sql, parameters.map(bound), parameters.map(typeOf));
  const buffers: Float64Array[] = [];
  for (;;) {
    const chunk = await result.fetchChunk();
    if (chunk === null || chunk.rowCount === 0) return;
    take(
      Array.from({ length: chunk.columnCount }, (_, column) => doubles(chunk.getColumnVector(column), buffers, column)),
    );
  }
}

/** The values of a vector, in the buffer that the pieces of a column share. */
function doubles(vector: DuckDBVector, buffers: Float64Array[], column: number): Float64Array {
  let values = buffers[column];
  if (values === undefined || values.length < vector.itemCount) {
    values = new Float64Array(vector.itemCount);
    buffers[column] = values;
  }
  fill(values, 0, vector);
  return values.subarray(0, vector.itemCount);
}

/** Copies the values of a vector into an array, from a place on. */
function fill(values: Float64Array, from: number, vector: DuckDBVector): void {
  if (!(vector instanceof DuckDBDoubleVector))
    throw new TypeError(`a column is ${vector.type}, expected DOUBLE of a result that is read as numbers`);
  const { itemCount } = vector;
  for (let index = 0; index < itemCount; index++) values[from + index] = vector.getItem(index) ?? Number.NaN;
}

/** Where a statement waits. */
type Place = 'in turn' | 'ahead';

interface Waiting {
  readonly resolve: (connection: DuckDBConnection) => void;
  readonly reject: (reason: Error) => void;
}

/** Statements of this process that were given up and have not ended. */
let endless = 0;

/** The connections of an engine, and the statements that wait for one, first come, first served. */
class ConnectionPool {
  readonly #role: EngineRole;
  readonly #idle: DuckDBConnection[];
  readonly #spare: DuckDBConnection[];
  readonly #waiting: Waiting[] = [];
  readonly #running = new Set<Running<unknown>>();
  #closed = false;

  /** Connections beyond those of the role are spare. */
  constructor(connections: readonly DuckDBConnection[], role: EngineRole) {
    this.#role = role;
    this.#idle = connections.slice(0, role.connections);
    this.#spare = connections.slice(role.connections);
  }

  get load(): EngineLoad {
    return { running: this.#running.size, waiting: this.#waiting.length };
  }

  async run<Outcome>(work: Work<Outcome>, place: Place): Promise<Outcome> {
    if (this.#closed) throw closed();
    const question = questions.getStore();
    const free = this.#idle.pop();
    if (free === undefined && place === 'in turn' && question?.admitted !== true) this.#refuseTooMany();
    if (question !== undefined) question.admitted = true;
    const connection = free ?? (await this.#wait(place));
    const running = begun(connection, this.#role, work, (unended) => {
      this.#running.delete(running);
      if (unended === null) this.#giveBack(connection);
      else this.#leave(connection, unended);
    });
    this.#running.add(running);
    return await running.outcome;
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const { reject } of this.#waiting.splice(0)) reject(closed());
    const outcomes = [...this.#running].map(({ interrupt, outcome }) => {
      interrupt();
      return outcome;
    });
    await Promise.allSettled(outcomes);
    for (const connection of [...this.#idle.splice(0), ...this.#spare.splice(0)]) connection.closeSync();
  }

  /** Gives the connection to the next waiting statement. */
  #giveBack(connection: DuckDBConnection): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#idle.push(connection);
    else next.resolve(connection);
  }

  /** Replaces a connection whose statement does not end, until it does. */
  #leave(connection: DuckDBConnection, ended: Promise<unknown>): void {
    endless += 1;
    if (endless > ENDLESS_MAX) die(`${endless} queries do not end, though they were interrupted`);
    const spare = this.#spare.pop();
    if (spare !== undefined) this.#giveBack(spare);
    void Promise.allSettled([ended]).then(() => {
      endless -= 1;
      if (this.#closed) connection.closeSync();
      else this.#spare.push(connection);
    });
  }

  #refuseTooMany(): void {
    if (this.#waiting.length < this.#role.waiting_max) return;
    throw new ApiError(
      'overloaded',
      ERROR_MESSAGES.overloaded,
      { 'Retry-After': String(RETRY_AFTER_S) },
      { reason: 'engine' },
    );
  }

  #wait(place: Place): Promise<DuckDBConnection> {
    return new Promise((resolve, reject) => {
      if (place === 'ahead') this.#waiting.unshift({ resolve, reject });
      else this.#waiting.push({ resolve, reject });
    });
  }
}

function closed(): Error {
  return new Error('the query engine is closed');
}

/** Settings that each connection has of its own. */
async function configured(connection: DuckDBConnection): Promise<DuckDBConnection> {
  // Published files never change under their name: their footers may be remembered.
  await connection.run('SET parquet_metadata_cache = true');
  await connection.run("SET TimeZone = 'UTC'");
  return connection;
}

/** A running statement. */
interface Running<Outcome> {
  /** Its result. Rejects with QueryTimeout when it takes too long, and with DuckDB's error when it is interrupted before. */
  readonly outcome: Promise<Outcome>;
  /** Interrupts it until it ends; gives it up when it does not. */
  readonly interrupt: () => void;
}

/** Starts a statement. `over` is called before the outcome settles: with null, or with the promise of a statement that was given up. */
function begun<Outcome>(
  connection: DuckDBConnection,
  { statement_limit_ms, interrupt_limit_ms }: EngineRole,
  work: Work<Outcome>,
  over: (unended: Promise<unknown> | null) => void,
): Running<Outcome> {
  const { promise: givenUp, reject: giveUp } = Promise.withResolvers<never>();
  let isLate = false;
  let hasEnded = false;
  let again: NodeJS.Timeout | undefined;
  let last: NodeJS.Timeout | undefined;
  const interrupt = () => {
    if (again !== undefined) return;
    connection.interrupt();
    // DuckDB forgets an interrupt that comes before the statement has started: it is repeated until the statement ends.
    again = setInterval(() => connection.interrupt(), INTERRUPT_EVERY_MS).unref();
    // A thread in a system call sees no interrupt.
    last = setTimeout(() => giveUp(closed()), interrupt_limit_ms);
  };
  const checkLimit = () => {
    if (hasEnded) return;
    isLate = true;
    interrupt();
  };
  // A blocked event loop runs its timers before it sees the statements that have ended meanwhile.
  const first = setTimeout(setImmediate, statement_limit_ms, checkLimit);
  const working = work(connection).finally(() => {
    hasEnded = true;
    clearTimeout(first);
    clearTimeout(last);
    clearInterval(again);
  });
  const settled = async () => {
    try {
      return await Promise.race([working, givenUp]);
    } catch (error) {
      throw isLate ? new QueryTimeout(statement_limit_ms) : error;
    } finally {
      over(hasEnded ? null : working);
    }
  };
  return { outcome: settled(), interrupt };
}

function bound(parameter: SqlParameter): DuckDBValue {
  return isList(parameter) ? listValue([...parameter]) : parameter;
}

function isList(parameter: SqlParameter): parameter is readonly string[] {
  return Array.isArray(parameter);
}

function typeOf(parameter: SqlParameter): DuckDBType {
  if (isList(parameter)) return LIST(VARCHAR);
  if (parameter === null) return SQLNULL;
  if (typeof parameter === 'boolean') return BOOLEAN;
  return typeof parameter === 'number' ? DOUBLE : VARCHAR;
}

function rowsOf(names: readonly string[], columns: readonly (readonly unknown[])[]): Record<string, unknown>[] {
  return Array.from({ length: columns[0]?.length ?? 0 }, (_, index) => {
    const row: Record<string, unknown> = {};
    for (let column = 0; column < names.length; column++) row[names[column] as string] = columns[column]?.[index];
    return row;
  });
}

function plainColumn(values: readonly unknown[]): readonly unknown[] {
  return values.some(isWide) ? values.map(plain) : values;
}

function isWide(value: unknown): boolean {
  return typeof value === 'bigint' || value instanceof Date;
}

function plain(value: unknown): unknown {
  if (typeof value === 'bigint') return Number(value);
  return value instanceof Date ? value.getTime() : value;
}
