import { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type Dialect,
  type PostgresCursor,
  PostgresDialect,
  type PostgresPool,
  type PostgresPoolClient,
  type PostgresQueryResult,
} from 'kysely';
import pg from 'pg';
import { NoAnswer } from './errors.ts';

/** How long statements wait for the database. */
export interface Waits {
  /** For locks that other processes hold. */
  readonly lock_ms: number;
  /** For one statement. */
  readonly statement_ms: number;
}

/** Before anything is served: this process may be migrating large tables, or another one. */
const START_WAITS: Waits = { lock_ms: 5_000, statement_ms: 60_000 };
/** How long a connection is waited for, a free one or a new one: no less than for a lock, which those may wait for who have them all. */
const CONNECT_MS = 1_500;
const CONNECTIONS = 10;
/** Connections for looking up the outcome of a commit. */
const OUT_OF_BAND_CONNECTIONS = 2;
/** Added to the time of a statement, which the server should end: after that the server counts as silent. */
const SILENT_AFTER_MS = 250;
/** The server rolls back a transaction whose client sends nothing more. */
const IDLE_IN_TRANSACTION_MS = 15_000;
/** How often a server that was silent or locked is looked at again, and how long one look may take. */
const LOOK_EVERY_MS = 100;
const LOOK_MS = 1_000;
const CLOSE_MS = 1_000;

const LOCK_NOT_AVAILABLE = '55P03';
const READ_ONLY = '25006';
/** SQLSTATEs that say that the session is over, or that there is none to be had: connection, resources, shutdown, start. */
const NO_SESSION = /^(08|53|57P)/;

/** Why writers are refused, or on a silent server all callers. */
type Closed = 'locked' | 'silent';

/**
 * A PostgreSQL server with bounded waits. The server ends statements and lock waits that take too long; where it does not respond
 * at all, the connection is given up. The first caller that times out closes the server for all, as with the lock of a SQLite
 * file: from then on writers (of a locked table) or all callers (on a silent server) are refused at once, until a probe succeeds.
 */
export class PostgresServer {
  /** For transactions that write. */
  readonly writing: Dialect;
  /** For reads, which another's lock on writing does not concern. */
  readonly reading: Dialect;
  /** Never refused: for looking up the outcome of a commit. */
  readonly outOfBand: Dialect;
  readonly #url: string;
  readonly #tables: readonly string[];
  readonly #sockets = new Set<Socket>();
  /** Callbacks that end the waits for a connection when the pool was ended. */
  readonly #waiting = new Set<() => void>();
  #waits = START_WAITS;
  #pool: pg.Pool;
  #outOfBandPool: pg.Pool;
  #closed: Closed | null = null;
  /** The look of those that wait to learn why they were not let in. */
  #looking: Promise<Closed | null> | null = null;
  #ended = false;

  /** `tables`: those whose locks keep writers out. No connection is opened yet. */
  constructor(url: string, tables: readonly string[]) {
    this.#url = url;
    this.#tables = tables;
    this.#pool = this.#newPool(CONNECTIONS);
    this.#outOfBandPool = this.#newPool(OUT_OF_BAND_CONNECTIONS);
    const dialect = (connect: PostgresPool['connect']) =>
      new PostgresDialect({ pool: { connect, end: async () => {}, options: { connectionString: url } } });
    this.writing = dialect(() => this.#connect(() => this.#closed !== null));
    this.reading = dialect(() => this.#connect(() => this.#closed === 'silent'));
    this.outOfBand = dialect(async () => this.#session(await this.#take(() => this.#outOfBandPool)));
  }

  /** True while writers are refused at once. */
  get writersBlocked(): boolean {
    return this.#closed !== null;
  }

  /** How long a transaction waits for a lock, milliseconds. */
  get lock_ms(): number {
    return this.#waits.lock_ms;
  }

  /** Connections that are open wait as before until they are given back; later ones wait like this. */
  setWaits(waits: Waits): void {
    this.#waits = waits;
    this.#renew();
  }

  /** Ends every connection. */
  async close(): Promise<void> {
    this.#ended = true;
    const ended = Promise.all([this.#pool.end(), this.#outOfBandPool.end()]);
    for (const end of this.#waiting) end();
    await Promise.race([ended, sleep(CLOSE_MS, null, { ref: false })]);
    for (const socket of this.#sockets) socket.destroy();
  }

  get #connect_ms(): number {
    return Math.max(CONNECT_MS, this.#waits.lock_ms);
  }

  /** The settings of a connection; those in the address take precedence. */
  #config(): pg.ClientConfig {
    const { lock_ms, statement_ms } = this.#waits;
    return {
      connectionString: this.#url,
      connectionTimeoutMillis: this.#connect_ms,
      lock_timeout: lock_ms,
      statement_timeout: statement_ms,
      idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MS,
      types: { getTypeParser },
      stream: () => this.#newSocket(),
    };
  }

  #newSocket(): Socket {
    const socket = new Socket();
    this.#sockets.add(socket);
    return socket.once('close', () => this.#sockets.delete(socket));
  }

  #newPool(max: number): pg.Pool {
    const pool = new pg.Pool({ ...this.#config(), max });
    // A connection that breaks is replaced by the pool, and its statement is rejected; without listeners the event, which
    // comes for idle and for busy ones, would end the process.
    pool.on('error', () => {});
    pool.on('connect', (client) => client.on('error', () => {}));
    return pool;
  }

  /** New connections in place of those that are open: they may be silent, or sessions of a server that no longer writes. */
  #renew(): void {
    for (const pool of [this.#pool, this.#outOfBandPool]) void pool.end();
    this.#pool = this.#newPool(CONNECTIONS);
    this.#outOfBandPool = this.#newPool(OUT_OF_BAND_CONNECTIONS);
    for (const end of this.#waiting) end();
  }

  /** A connection of a pool, or of the one that takes its place meanwhile: a pool that is ended forgets who waits for it. */
  async #take(pool: () => pg.Pool): Promise<pg.PoolClient> {
    const until_ms = performance.now() + this.#connect_ms;
    do {
      const { promise: ended, resolve } = Promise.withResolvers<null>();
      const end = () => resolve(null);
      this.#waiting.add(end);
      const taking = pool().connect();
      const client = await Promise.race([taking, ended]).finally(() => this.#waiting.delete(end));
      if (client !== null) return client;
      // Its pool may give it all the same, or say that it has ended: the caller gets a connection of the new pool, or its error.
      void Promise.allSettled([taking]).then(([late]) => {
        if (late.status === 'fulfilled') late.value.release(true);
      });
    } while (performance.now() < until_ms);
    throw new NoAnswer('connections were given up again and again');
  }

  async #connect(refused: () => boolean): Promise<PostgresPoolClient> {
    const refuse = () => {
      if (refused()) throw new NoAnswer(this.#closed === 'locked' ? 'another process locks its tables' : 'no answer');
    };
    refuse();
    const [started_ms, connect_ms] = [performance.now(), this.#connect_ms];
    try {
      return this.#session(await this.#take(() => this.#pool));
    } catch (error) {
      refuse();
      // Those who have all connections may wait for locks of rows.
      if (performance.now() - started_ms >= connect_ms) await this.#closeIfFound();
      throw error;
    }
  }

  /** A connection that is waited for only for so long, and that is not used again when it turns out to be of no use. */
  #session(client: pg.PoolClient): PostgresPoolClient {
    const { statement_ms } = this.#waits;
    let useless = false;
    const ask = async (text: string, values: readonly unknown[]) => {
      if (useless) throw new NoAnswer('its connection was given up');
      try {
        return await answered(client.query(text, [...values]), statement_ms);
      } catch (error) {
        const state = sqlState(error);
        if (state === null || NO_SESSION.test(state) || state === READ_ONLY) useless = true;
        if (error instanceof NoAnswer) this.#close('silent');
        if (state === LOCK_NOT_AVAILABLE) await this.#closeIfFound();
        if (state === READ_ONLY || error instanceof NoAnswer) this.#renew();
        throw error;
      }
    };
    return new Session(ask, () => client.release(useless));
  }

  /** A lock or a connection that was not given may be due to a row, which keeps no other writer out: one look answers for all. */
  async #closeIfFound(): Promise<void> {
    if (this.#closed !== null) return;
    this.#looking ??= this.#look().finally(() => {
      this.#looking = null;
    });
    const found = await this.#looking;
    if (found !== null) this.#close(found);
  }

  #close(closed: Closed): void {
    if (this.#closed === null) void this.#lookUntilOpen();
    // Silence is the worse of the two.
    if (this.#closed !== 'silent') this.#closed = closed;
  }

  async #lookUntilOpen(): Promise<void> {
    do {
      await sleep(LOOK_EVERY_MS, null, { ref: false });
      this.#closed = await this.#look();
    } while (this.#closed !== null && !this.#ended);
  }

  /** What would keep a writer out now; null: nothing. A look on a connection of its own takes none from others. */
  async #look(): Promise<Closed | null> {
    const client = new pg.Client({ ...this.#config(), connectionTimeoutMillis: LOOK_MS });
    client.on('error', () => {});
    const tables = this.#tables.map((table) => client.escapeIdentifier(table)).join();
    const look = `begin; lock table ${tables} in row exclusive mode nowait; rollback`;
    try {
      await answered(
        client.connect().then(() => client.query(look)),
        LOOK_MS,
      );
      return null;
    } catch (error) {
      const state = sqlState(error);
      if (state === LOCK_NOT_AVAILABLE) return 'locked';
      // Any other word from the server is for the next transaction to hear.
      return state === null || NO_SESSION.test(state) ? 'silent' : null;
    } finally {
      // Never waits: the server may not answer to that either.
      void client.end();
    }
  }
}

type Ask = (text: string, values: readonly unknown[]) => Promise<unknown>;

/** A connection as Kysely takes it. */
class Session implements PostgresPoolClient {
  readonly release: () => void;
  readonly #ask: Ask;

  constructor(ask: Ask, release: () => void) {
    this.#ask = ask;
    this.release = release;
  }

  query<Row>(text: string, values: readonly unknown[]): Promise<PostgresQueryResult<Row>>;
  query<Row>(cursor: PostgresCursor<Row>): PostgresCursor<Row>;
  query(text: unknown, values: readonly unknown[] = []): unknown {
    return this.#ask(String(text), values);
  }
}

/** What a statement leads to. Throws NoAnswer when nothing is heard although the server should have ended it. */
async function answered<Result>(result: Promise<Result>, statement_ms: number): Promise<Result> {
  const most_ms = statement_ms + SILENT_AFTER_MS;
  let timer: NodeJS.Timeout | undefined;
  const silence = new Promise<never>((_, reject) => {
    const giveUp = () => reject(new NoAnswer(`no answer in ${most_ms} ms`));
    // On a machine with more work than processors the event loop may come too late itself: what has arrived by now is read first.
    timer = setTimeout(() => setImmediate(giveUp), most_ms);
  });
  try {
    return await Promise.race([result, silence]);
  } finally {
    clearTimeout(timer);
  }
}

/** The SQLSTATE of an error that the server sent; null when it did not. */
function sqlState(error: unknown): string | null {
  return error instanceof pg.DatabaseError ? (error.code ?? null) : null;
}

/** BIGINT and NUMERIC as numbers: credits and sums stay far below 2 ** 53. */
const getTypeParser: pg.CustomTypesConfig['getTypeParser'] = (oid, format) =>
  oid === pg.types.builtins.INT8 || oid === pg.types.builtins.NUMERIC ? Number : pg.types.getTypeParser(oid, format);
