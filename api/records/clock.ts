import { type RawBuilder, sql } from 'kysely';
import type { Store } from './database.ts';

/** The clock of PostgreSQL, epoch milliseconds; read anew at each use: a statement may have waited for another. */
const SERVER_MS = sql<number>`floor(extract(epoch from clock_timestamp()) * 1000)::bigint`;

/** The clock of due times and leases within a statement: the server's on PostgreSQL, the machine's on SQLite. Epoch milliseconds. */
export function leaseClock({ kind }: Pick<Store, 'kind'>): RawBuilder<number> {
  return kind === 'postgres' ? SERVER_MS : sql<number>`cast(${Date.now()} as integer)`;
}
