import { type Kysely, sql, type Transaction } from 'kysely';
import { utcDate } from '../../schemas/time.ts';
import type { Store, Transact } from '../records/database.ts';
import { isOutage } from '../records/errors.ts';
import type { Database } from '../records/schema.ts';

/** Requests that the one service on a SQLite file takes from a day in one commit. */
const LARGEST_BLOCK = 50;
const PART_OF_LIMIT = 32;
/** How long a day that was used up is not asked again: on SQLite another process may have given requests back. */
const USED_UP_MS = 1_000;
/** A block that was not asked for during so long is given back. */
const IDLE_MS = 1_000;
/** A clock may be set back by an hour, not by days. */
const KEPT_MS = 2 * 86_400_000;

const WITHOUT_DISK = sql<boolean>`(select set_config('synchronous_commit', 'off', true)) = 'off'`;

/** Counts of requests a day, where a plan limits them. */
export interface DailyQuota {
  /**
   * Counts a request, and says whether the day still had one. No call passes the limit, in any number of processes. On SQLite
   * requests are taken from the day in blocks, so that most calls wait for no commit; what a killed process had taken is lost until
   * the day ends. On PostgreSQL a process takes what its waiting calls need and no more, because another process may be asked for the
   * rest: a call is refused only when the day is used up. They wait for no disk: after a crash of the server at most the last half
   * second of counts is missing. While nothing can be written the request is let through, and a charge is not.
   */
  readonly admit: (business_id: string, limit: number, now_ms: number) => boolean | Promise<boolean>;
  /** Gives back what was taken and is not needed; what cannot be given back is lost. */
  readonly close: () => Promise<void>;
}

/** Requests that a process has taken from a day of a business. */
interface Block {
  readonly business_id: string;
  readonly day: string;
  left: number;
  /** The limit that it was taken under: under a lower one the day may have none of it. */
  limit: number;
  /** The limit at which the day was found used up, and until when that is believed, by the monotonic clock. */
  used_up: { readonly limit: number; readonly until_ms: number };
  isAskedFor: boolean;
  /** Calls that wait for requests to be taken. */
  waiting: number;
  taking: Promise<void> | null;
}

export function openDailyQuota(transact: Transact, store: Pick<Store, 'forKeyShare' | 'kind' | 'writer'>): DailyQuota {
  /** By business and day: calls around midnight come in any order. */
  const blocks = new Map<string, Block>();
  let givingBack: Promise<void> = Promise.resolve();

  /** Adds to the requests of a day; false where they would pass the limit, or the business is gone. */
  const addRequests = (block: Block, added: number, limit: number): Promise<boolean> => {
    const add = (rows: Kysely<Database>) => addTo(rows, store, block, added, limit);
    return store.kind === 'sqlite' ? transact(add) : add(store.writer);
  };

  function blockOf(business_id: string, day: string): Block {
    const name = `${business_id} ${day}`;
    const known = blocks.get(name);
    if (known !== undefined) return known;
    const used_up = { limit: 0, until_ms: 0 };
    const block = { business_id, day, left: 0, limit: 0, used_up, isAskedFor: false, waiting: 0, taking: null };
    blocks.set(name, block);
    return block;
  }

  /** Takes a new block in place of what is left of the old one, or as much of it as the day still has. */
  async function take(block: Block, limit: number): Promise<void> {
    const before = block.left;
    block.left = 0;
    const reserve = store.kind === 'sqlite' ? Math.min(LARGEST_BLOCK, Math.ceil(limit / PART_OF_LIMIT)) : 1;
    for (let size = Math.max(block.waiting, reserve); size > 0; size = Math.floor(size / 2)) {
      if (!(await addRequests(block, size - before, limit))) continue;
      block.left = size;
      block.limit = limit;
      return;
    }
    block.left = before;
    block.used_up = { limit, until_ms: performance.now() + USED_UP_MS };
  }

  async function admitLater(block: Block, limit: number): Promise<boolean> {
    block.waiting += 1;
    try {
      while (!mayGive(block, limit)) {
        if (block.used_up.limit === limit && performance.now() < block.used_up.until_ms) return false;
        block.taking ??= take(block, limit).finally(() => {
          block.taking = null;
        });
        await block.taking;
      }
      block.left -= 1;
      return true;
    } catch (error) {
      if (isOutage(error)) return true;
      throw error;
    } finally {
      block.waiting -= 1; // in the same turn, or the next to ask would take one for this call again
    }
  }

  async function giveBack(all: boolean): Promise<void> {
    for (const [name, block] of blocks) {
      if (all) await block.taking?.catch(ignoreOutage);
      const isIdle = all || (!block.isAskedFor && block.taking === null);
      block.isAskedFor = false;
      if (!isIdle) continue;
      blocks.delete(name);
      const unused = block.left;
      block.left = 0;
      if (unused === 0) continue;
      await addRequests(block, -unused, Number.MAX_SAFE_INTEGER).catch(ignoreOutage);
    }
  }

  const timer = setInterval(() => {
    givingBack = givingBack.then(() => giveBack(false));
  }, IDLE_MS).unref();

  return {
    admit: (business_id, limit, now_ms) => {
      const block = blockOf(business_id, utcDate(now_ms));
      block.isAskedFor = true;
      if (!mayGive(block, limit)) return admitLater(block, limit);
      block.left -= 1;
      return true;
    },
    close: async () => {
      clearInterval(timer);
      await givingBack;
      await giveBack(true);
    },
  };
}

function mayGive({ left, limit }: Block, wanted: number): boolean {
  return left > 0 && wanted >= limit;
}

/** Nothing was taken, or what was to be given back is lost. */
function ignoreOutage(error: unknown): void {
  if (!isOutage(error)) throw error;
}

/** One statement, whose commit on PostgreSQL does not wait for the disk. */
async function addTo(
  rows: Kysely<Database>,
  { forKeyShare, kind }: Pick<Store, 'forKeyShare' | 'kind'>,
  { business_id, day }: Pick<Block, 'business_id' | 'day'>,
  added: number,
  limit: number,
): Promise<boolean> {
  if (added > limit) return false;
  const { numInsertedOrUpdatedRows } = await rows
    .insertInto('request_days')
    .columns(['business_id', 'day', 'requests'])
    .expression((eb) =>
      eb
        .selectFrom('businesses')
        .select(['id', sql<string>`${day}`.as('day'), sql<number>`${added}`.as('requests')])
        .where('id', '=', business_id)
        .$if(kind === 'postgres', (found) => found.where(WITHOUT_DISK))
        .modifyEnd(forKeyShare),
    )
    .onConflict((conflict) =>
      conflict
        .columns(['business_id', 'day'])
        .doUpdateSet((eb) => ({ requests: eb('request_days.requests', '+', added) }))
        .where((eb) => eb(eb('request_days.requests', '+', added), '<=', limit)),
    )
    .executeTakeFirst();
  return numInsertedOrUpdatedRows === 1n;
}

/** Removes the counts of days that were over at an instant; returns how many. */
export async function sweepDailyQuota(rows: Transaction<Database>, until_ms: number): Promise<number> {
  const { numDeletedRows } = await rows
    .deleteFrom('request_days')
    .where('day', '<', utcDate(until_ms - KEPT_MS))
    .executeTakeFirst();
  return Number(numDeletedRows);
}
