import { sql } from 'kysely';

/** The clock of PostgreSQL, epoch milliseconds; read anew at each use: a statement may have waited for another. */
export const SERVER_MS = sql<number>`floor(extract(epoch from clock_timestamp()) * 1000)::bigint`;
