import type { Catalog } from './catalog.ts';
import type { Engine } from './duckdb.ts';
import type { Live } from './live.ts';
import type { Records } from './records/records.ts';
import type { Terrain } from './terrain.ts';

/** Everything that answers are made from; made once at start, shared by all requests. */
export interface Services {
  /** Which published files answer now. */
  readonly catalog: Catalog;
  /** The last 30 minutes, in memory. */
  readonly live: Live;
  /** What terrain blocks of radar beams, in memory. */
  readonly terrain: Terrain;
  /** Runs queries over published files. */
  readonly engine: Engine;
  /** Businesses, keys, credits, portfolios. */
  readonly records: Records;
  /** Public address, ending in `/v1`. */
  readonly base_url: string;
  readonly storm_day_start_hour: number;
  /** Data clock, epoch milliseconds. */
  readonly now: () => number;
}
