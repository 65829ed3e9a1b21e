import type { Transaction } from 'kysely';
import { utcDate } from '../../schemas/time.ts';
import type { Store } from '../store/database.ts';
import { isOutage } from '../store/errors.ts';
import type { Records } from '../store/records.ts';
import type { Database } from '../store/schema.ts';
import type { CommitMarkers } from './commit-markers.ts';

/** Requests that a process takes from a day at a time, at most; fewer the less is left, so that processes share the last ones. */
const LARGEST_BLOCK = 50;
const PART_OF_THE_REST = 32;
/** How long a day that was found used up is not looked at again: another process may have given requests back. */
const USED_UP_MS = 1_000;
/** What was taken from a day and not asked for during so long is given back. */
const IDLE_MS = 1_000;

/** Counts of requests a day, where a plan limits them. */
export interface DailyQuota {
  /**
   * Counts a request, and says whether the day still had one. What was taken from the day beforehand costs nothing more; else a
   * commit takes some for this request and those that follow, so that no call ever finds more than the limit, in any number of
   * processes and after any end of one: what a killed process had taken and not given out is lost until the day ends. While
   * nothing can be written the request is let through, and a charge is not.
   */
  readonly admit: Records['admitToday'];
  /** Gives back what was taken and is not needed; what cannot be given back is lost. */
  readonly close: () => Promise<void>;
}

/** What a process holds of a day of a business. */
interface HeldRequests {
  readonly business_id: string;
  readonly day: string;
  /** Taken from the day, and not asked for yet. */
  left: number;
  /** The limit that it was taken under: under a lower one the day may have none of it. */
  limit: number;
  /** Since somebody last looked. */
  isAskedFor: boolean;
  taking: Promise<void> | null;
  /** The limit at which the day was found used up, and when by the monotonic clock. */
  used_up: { readonly limit: number; readonly at_ms: number } | null;
}

export function openDailyQuota(
  { transact }: Pick<CommitMarkers, 'transact'>,
  { forUpdate, forKeyShare }: Pick<Store, 'forUpdate' | 'forKeyShare'>,
): DailyQuota {
  /** By business and day: calls around midnight come in any order. What nobody asks for is removed. */
  const days = new Map<string, HeldRequests>();
  let givingBack: Promise<void> = Promise.resolve();

  function heldOf(business_id: string, day: string): HeldRequests {
    const name = `${business_id} ${day}`;
    const known = days.get(name);
    if (known !== undefined) return known;
    const held = { business_id, day, left: 0, limit: 0, isAskedFor: false, taking: null, used_up: null };
    days.set(name, held);
    return held;
  }

  async function take(held: HeldRequests, limit: number): Promise<void> {
    const returned = held.left; // taken under a higher limit
    held.left = 0;
    held.limit = limit;
    const taken = await transact((rows) => takeBlock(rows, { forUpdate, forKeyShare }, held, limit, returned));
    held.left += taken;
    held.used_up = taken === 0 ? { limit, at_ms: performance.now() } : null;
  }

  async function waitAndAdmit(held: HeldRequests, limit: number): Promise<boolean> {
    while (!mayGive(held, limit) && !isUsedUp(held, limit)) {
      held.taking ??= take(held, limit).finally(() => {
        held.taking = null;
      });
      try {
        await held.taking;
      } catch (error) {
        if (isOutage(error)) return true;
        throw error;
      }
    }
    if (!mayGive(held, limit)) return false;
    held.left -= 1;
    return true;
  }

  async function giveBack(all: boolean): Promise<void> {
    for (const [name, held] of days) {
      if (all) await held.taking?.catch(ignoreOutage);
      const isIdle = !held.isAskedFor && held.taking === null;
      const unused = all || isIdle ? held.left : 0;
      held.isAskedFor = false;
      if (isIdle) days.delete(name);
      if (unused === 0) continue;
      held.left -= unused;
      await transact((rows) => returnBlock(rows, held.business_id, held.day, unused)).catch(ignoreOutage);
    }
  }

  const timer = setInterval(() => {
    givingBack = givingBack.then(() => giveBack(false));
  }, IDLE_MS).unref();

  return {
    admit: (business_id, limit, now_ms) => {
      const held = heldOf(business_id, utcDate(now_ms));
      held.isAskedFor = true;
      if (!mayGive(held, limit)) return waitAndAdmit(held, limit);
      held.left -= 1;
      return true;
    },
    close: async () => {
      clearInterval(timer);
      await givingBack;
      await giveBack(true);
    },
  };
}

function mayGive(held: HeldRequests, limit: number): boolean {
  return held.left > 0 && limit >= held.limit;
}

function isUsedUp({ used_up }: HeldRequests, limit: number): boolean {
  return used_up?.limit === limit && performance.now() - used_up.at_ms < USED_UP_MS;
}

/** Nothing was taken, or what was given back is lost. */
function ignoreOutage(error: unknown): void {
  if (!isOutage(error)) throw error;
}

/**
 * Takes requests from a day, once those that are `returned` are given back to it, and returns how many: 0 when it is used up, or the
 * business is gone.
 */
async function takeBlock(
  rows: Transaction<Database>,
  { forUpdate, forKeyShare }: Pick<Store, 'forUpdate' | 'forKeyShare'>,
  { business_id, day }: Pick<HeldRequests, 'business_id' | 'day'>,
  limit: number,
  returned: number,
): Promise<number> {
  const business = rows.selectFrom('businesses').select('id').where('id', '=', business_id).modifyEnd(forKeyShare);
  if ((await business.executeTakeFirst()) === undefined) return 0;
  await rows
    .insertInto('request_days')
    .values({ business_id, day, requests: 0 })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  const { requests } = await rows
    .selectFrom('request_days')
    .select('requests')
    .where('business_id', '=', business_id)
    .where('day', '=', day)
    .modifyEnd(forUpdate)
    .executeTakeFirstOrThrow();
  const counted = Math.max(0, requests - returned);
  const rest = Math.max(0, limit - counted);
  const block = Math.min(LARGEST_BLOCK, Math.ceil(rest / PART_OF_THE_REST));
  if (block !== returned)
    await rows
      .updateTable('request_days')
      .set({ requests: counted + block })
      .where('business_id', '=', business_id)
      .where('day', '=', day)
      .execute();
  return block;
}

async function returnBlock(
  rows: Transaction<Database>,
  business_id: string,
  day: string,
  unused: number,
): Promise<void> {
  await rows
    .updateTable('request_days')
    .set((eb) => ({ requests: eb('requests', '-', unused) }))
    .where('business_id', '=', business_id)
    .where('day', '=', day)
    .execute();
}

/** Removes the counts of days that were over at an instant; returns how many. */
export async function sweepDailyQuota(rows: Transaction<Database>, until_ms: number): Promise<number> {
  const { numDeletedRows } = await rows
    .deleteFrom('request_days')
    .where('day', '<', utcDate(until_ms - KEPT_MS))
    .executeTakeFirst();
  return Number(numDeletedRows);
}

/** A clock may be set back by an hour, not by days. */
const KEPT_MS = 2 * 86_400_000;
