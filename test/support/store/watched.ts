import type { DatabaseConnection, Dialect } from 'kysely';
import { ReadingSqlite, type Store, sqliteStore, WritingSqlite } from '../../../api/store/database.ts';
import { WriteLock } from '../../../api/store/sqlite-locks.ts';

/** Every statement that a store wrote, `begin` and `commit` among them; and where it fails. */
export interface Watch {
  readonly statements: string[];
  /** Fails the statement of this number from now on, 0 being the next; null: none. */
  failAt: number | null;
  /** Commits are made, and fail all the same: as when the answer is lost. */
  loseCommits: boolean;
  /** The failure: as SQLite reports a broken disk. */
  failure: () => Error;
}

export function newWatch(): Watch {
  return { statements: [], failAt: null, loseCommits: false, failure: diskBroken };
}

/** A SQLite store whose writes are watched. */
export function watchedStore(path: string, watch: Watch): Store {
  const lock = new WriteLock();
  return sqliteStore(path, lock, watched(new WritingSqlite(path, lock), watch), new ReadingSqlite(path));
}

function diskBroken(): Error {
  return Object.assign(new Error('disk I/O error'), { code: 'ERR_SQLITE_ERROR', errcode: 10 });
}

function watched(dialect: Dialect, watch: Watch): Dialect {
  const step = async <T>(statement: string, run: () => Promise<T>): Promise<T> => {
    watch.statements.push(statement);
    if (watch.failAt !== null && watch.failAt-- === 0) {
      watch.failAt = null;
      throw watch.failure();
    }
    return await run();
  };
  return {
    createAdapter: () => dialect.createAdapter(),
    createQueryCompiler: () => dialect.createQueryCompiler(),
    createIntrospector: (db) => dialect.createIntrospector(db),
    createDriver: () => {
      const driver = dialect.createDriver();
      const inner = new WeakMap<DatabaseConnection, DatabaseConnection>();
      const bare = (connection: DatabaseConnection) => inner.get(connection) ?? connection;
      return {
        init: (options) => driver.init(options),
        acquireConnection: async (options) => {
          const connection = await driver.acquireConnection(options);
          const guard: DatabaseConnection = {
            executeQuery: (query, given) => step(query.sql, () => connection.executeQuery(query, given)),
            streamQuery: (query, size, given) => connection.streamQuery(query, size, given),
          };
          inner.set(guard, connection);
          return guard;
        },
        beginTransaction: (connection, settings) =>
          step('begin', () => driver.beginTransaction(bare(connection), settings)),
        commitTransaction: async (connection) => {
          await step('commit', () => driver.commitTransaction(bare(connection)));
          if (watch.loseCommits) throw watch.failure();
        },
        rollbackTransaction: (connection) => driver.rollbackTransaction(bare(connection)),
        releaseConnection: (connection, options) => driver.releaseConnection(bare(connection), options),
        destroy: (options) => driver.destroy(options),
      };
    },
  };
}
