import { randomUUID } from 'node:crypto';
import { availableParallelism, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
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

/** Value of `$1`, `$2`, …: numbers are DOUBLE; a list is VARCHAR[], for `read_parquet($1::VARCHAR[], …)`. */
export type SqlParameter = string | number | boolean | null | readonly string[];

/**
 * Statements over published files. All throw QueryTimeout when a statement takes too long, ApiError overloaded at
 * once when too many wait already, and DuckDB's error when a file is missing.
 */
export interface Queries {
  /** Rows as plain objects; DATE and TIMESTAMPTZ as epoch milliseconds. An empty list of paths is an error of DuckDB. */
  readonly rows: <Row>(sql: string, parameters?: readonly SqlParameter[]) => Promise<Row[]>;
  /** The same as one array for each column, for results of many rows. */
  readonly columns: <Name extends string>(
    sql: string,
    parameters?: readonly SqlParameter[],
  ) => Promise<Readonly<Record<Name, readonly unknown[]>>>;
  /** Hands over DOUBLE columns in the order of the select list piece by piece, NaN for null: never in memory as a whole. */
  readonly stream: (
    sql: string,
    parameters: readonly SqlParameter[],
    take: (piece: readonly Float64Array[]) => void,
  ) => Promise<void>;
}

/** Runs several statements at a time. It can read the data root and nothing else; no statement can change that. */
export interface Engine extends Queries {
  /** For the preparation of an edition: ahead of all waiting statements, and never refused as too many. */
  readonly priority: Queries;
  /** Statements that run and that wait. */
  readonly load: () => { readonly running: number; readonly waiting: number };
  /** Refuses waiting statements, interrupts running ones, and closes once they have ended, after 30 s at the latest. Idempotent. */
  readonly close: () => Promise<void>;
}

/** The share of the machine that an engine may take. */
interface EngineRole {
  /** Statements that run at the same time; further ones wait. */
  readonly connections: number;
  /** Statements that may wait; beyond them, questions are refused at once. */
  readonly waiting_max: number;
  readonly threads: number;
  /** As DuckDB takes it, such as `320MB`. */
  readonly memory_limit: string;
  /** A statement that takes longer is interrupted. */
  readonly statement_limit_ms: number;
}

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
};

/** For exports and reports, whose callers poll: one at a time, on at most half of the cores. */
export const JOBS: EngineRole = {
  connections: 1,
  waiting_max: 16,
  threads: Math.min(THREADS_MAX, Math.max(1, Math.floor(CORES / 2))),
  memory_limit: '320MB',
  statement_limit_ms: 600_000,
};

/** A statement ran longer than it may. */
export class QueryTimeout extends Error {
  constructor(limit_ms: number) {
    super(`a query took longer than ${limit_ms} ms and was interrupted`);
    this.name = 'QueryTimeout';
  }
}

const INTERRUPT_EVERY_MS = 100;
/** A thread in a system call, as on a mount whose server is gone, sees no interrupt. */
const CLOSE_LIMIT_MS = 30_000;
/** Disk space for the spill of a job: many times its memory, and no full disk. */
const JOB_SPILL_LIMIT = '2GB';
/** The queue drains within a second: most statements take milliseconds. */
const RETRY_SOON = { 'Retry-After': '1' };

/** An engine over the folder of a data root. Engines share no connections, memory or threads. */
export function openEngine(dataRoot: string, role: EngineRole = ANSWERS): Engine {
  const temp_directory = join(tmpdir(), `hail-spill-${process.pid}-${randomUUID()}`);
  return engineOf(role, { temp_directory }, `allowed_directories = [${sqlText(`${resolve(dataRoot)}/`)}]`);
}

/**
 * An engine for work that writes: it can open these files, to read or to write, and no other. Data that do not fit into
 * its memory go to `spill_folder` until the engine is closed, at most 2 GB.
 */
export function openFilesEngine(files: readonly string[], role: EngineRole, spill_folder: string): Engine {
  const spill = { temp_directory: spill_folder, max_temp_directory_size: JOB_SPILL_LIMIT };
  return engineOf(role, spill, `allowed_paths = [${files.map((file) => sqlText(resolve(file))).join(', ')}]`);
}

/** A text as a SQL literal, for the places where DuckDB takes no parameter. */
export function sqlText(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/** Opened at its first statement: that takes longer than most statements, and some processes run none. */
function engineOf(role: EngineRole, spill: Readonly<Record<string, string>>, allow: string): Engine {
  const pool = connectionPool(role, () => openLocked(role, spill, allow));
  return {
    ...queriesOver((work) => pool.run(work, false)),
    priority: queriesOver((work) => pool.run(work, true)),
    load: pool.load,
    close: pool.close,
  };
}

/** An instance that opens only the files that `allow` names, and the spill folder; no setting can change. */
async function openLocked(role: EngineRole, spill: Readonly<Record<string, string>>, allow: string) {
  const instance = await DuckDBInstance.create(':memory:', {
    threads: String(role.threads),
    memory_limit: role.memory_limit,
    // The system's own cache holds the files as well, outside our memory.
    enable_external_file_cache: 'false',
    ...spill,
    autoinstall_known_extensions: 'false',
    autoload_known_extensions: 'false',
  });
  const connection = await instance.connect();
  // Published files never change under their name: their footers may be remembered.
  const settings = ['GLOBAL parquet_metadata_cache = true', "GLOBAL TimeZone = 'UTC'", allow];
  for (const each of [...settings, 'enable_external_access = false', 'lock_configuration = true'])
    await connection.run(`SET ${each}`);
  connection.closeSync();
  return instance;
}

type Work<Outcome> = (connection: DuckDBConnection) => Promise<Outcome>;

function queriesOver(run: <Outcome>(work: Work<Outcome>) => Promise<Outcome>): Queries {
  const read = (sql: string, parameters: readonly SqlParameter[] = []) =>
    run(async (connection) => {
      const reader = await connection.runAndReadAll(sql, parameters.map(bound), parameters.map(typeOf));
      const columns = reader.getColumnsJS().map(plainColumn);
      return reader.deduplicatedColumnNames().map((name, index) => [name, columns[index] ?? []] as const);
    });
  return {
    rows: async <Row>(sql: string, parameters?: readonly SqlParameter[]) => {
      const columns = await read(sql, parameters);
      return Array.from(columns[0]?.[1] ?? [], (_, index) => {
        const row: Record<string, unknown> = {};
        for (const [name, values] of columns) row[name] = values[index];
        return row as Row;
      });
    },
    columns: async <Name extends string>(sql: string, parameters?: readonly SqlParameter[]) =>
      Object.fromEntries(await read(sql, parameters)) as Record<Name, readonly unknown[]>,
    stream: (sql, parameters, take) =>
      run(async (connection) => {
        const result = await connection.stream(sql, parameters.map(bound), parameters.map(typeOf));
        for (;;) {
          const chunk = await result.fetchChunk();
          if (chunk === null || chunk.rowCount === 0) return;
          take(Array.from({ length: chunk.columnCount }, (_, index) => numbersIn(chunk.getColumnVector(index))));
        }
      }),
  };
}

/** Values of a vector of DOUBLE. */
function numbersIn(vector: DuckDBVector): Float64Array {
  if (!(vector instanceof DuckDBDoubleVector))
    throw new TypeError(`a streamed column is ${vector.type}, expected DOUBLE`);
  return Float64Array.from({ length: vector.itemCount }, (_, index) => vector.getItem(index) ?? Number.NaN);
}

/** The connections of an engine, and the statements that wait for one, first come, first served. */
function connectionPool(
  { connections, waiting_max, statement_limit_ms }: EngineRole,
  open: () => Promise<DuckDBInstance>,
) {
  const idle: DuckDBConnection[] = [];
  let opening: Promise<DuckDBInstance> | undefined;
  let closing: Promise<void> | undefined;
  const waiting: PromiseWithResolvers<DuckDBConnection>[] = [];
  /** Running statements by their connection; they settle once they have ended. */
  const running = new Map<DuckDBConnection, Promise<unknown>>();

  const openAll = async () => {
    const instance = await open();
    while (idle.length < connections) idle.push(await instance.connect());
    return instance;
  };
  /** The next statement tries again. */
  const forgotten = (error: unknown) => {
    opening = undefined;
    throw error;
  };
  const connect = async (isAhead: boolean): Promise<DuckDBConnection> => {
    if (closing === undefined) opening ??= openAll().catch(forgotten);
    await opening;
    if (closing !== undefined) throw closed();
    const free = idle.pop();
    if (free !== undefined) return free;
    if (!isAhead && waiting.length >= waiting_max)
      throw new ApiError('overloaded', ERROR_MESSAGES.overloaded, RETRY_SOON, { reason: 'engine' });
    const place = Promise.withResolvers<DuckDBConnection>();
    if (isAhead) waiting.unshift(place);
    else waiting.push(place);
    const limit = setTimeout(() => {
      waiting.splice(waiting.indexOf(place), 1);
      place.reject(new QueryTimeout(statement_limit_ms));
    }, statement_limit_ms);
    return place.promise.finally(() => clearTimeout(limit));
  };
  const giveBack = (connection: DuckDBConnection) => {
    running.delete(connection);
    const next = waiting.shift();
    if (next === undefined) idle.push(connection);
    else next.resolve(connection);
  };

  const close = async (): Promise<void> => {
    for (const { reject } of waiting.splice(0)) reject(closed());
    const interrupting = [...running.keys()].map(interruptUntilEnd);
    const ended = Promise.allSettled(running.values());
    await Promise.race([ended, pause(CLOSE_LIMIT_MS, null, { ref: false })]);
    for (const timer of interrupting) clearInterval(timer);
    const instance = await opening?.catch(() => undefined); // its statement has the error
    for (const connection of idle.splice(0)) connection.closeSync();
    instance?.closeSync();
  };

  return {
    load: () => ({ running: running.size, waiting: waiting.length }),
    /** Rejects with QueryTimeout at the limit, and at that of waiting for a connection; the connection of a statement that does not end stays taken. */
    run: async <Outcome>(work: Work<Outcome>, isAhead: boolean): Promise<Outcome> => {
      const connection = await connect(isAhead);
      const late = Promise.withResolvers<never>();
      let interrupting: NodeJS.Timeout | undefined;
      let hasEnded = false;
      const giveUp = () => {
        if (hasEnded) return;
        interrupting = interruptUntilEnd(connection);
        late.reject(new QueryTimeout(statement_limit_ms));
      };
      // A blocked event loop runs its timers before it sees the statements that have ended meanwhile.
      const limit = setTimeout(setImmediate, statement_limit_ms, giveUp);
      const working = work(connection).finally(() => {
        hasEnded = true;
        clearTimeout(limit);
        clearInterval(interrupting);
        giveBack(connection);
      });
      running.set(connection, working);
      return Promise.race([working, late.promise]);
    },
    close: (): Promise<void> => {
      closing ??= close();
      return closing;
    },
  };
}

/** DuckDB forgets an interrupt that comes before the statement has started, so it is repeated. */
function interruptUntilEnd(connection: DuckDBConnection): NodeJS.Timeout {
  connection.interrupt();
  return setInterval(() => connection.interrupt(), INTERRUPT_EVERY_MS).unref();
}

function closed(): Error {
  return new Error('the query engine is closed');
}

function bound(parameter: SqlParameter): DuckDBValue {
  return isList(parameter) ? listValue([...parameter]) : parameter;
}

function typeOf(parameter: SqlParameter): DuckDBType {
  if (isList(parameter)) return LIST(VARCHAR);
  if (parameter === null) return SQLNULL;
  if (typeof parameter === 'boolean') return BOOLEAN;
  return typeof parameter === 'number' ? DOUBLE : VARCHAR;
}

function isList(parameter: SqlParameter): parameter is readonly string[] {
  return Array.isArray(parameter);
}

function plainColumn(values: readonly unknown[]): readonly unknown[] {
  return values.some((value) => typeof value === 'bigint' || value instanceof Date) ? values.map(plain) : values;
}

function plain(value: unknown): unknown {
  if (typeof value === 'bigint') return Number(value);
  return value instanceof Date ? value.getTime() : value;
}
