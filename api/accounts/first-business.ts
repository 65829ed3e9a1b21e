import type { Store } from '../records/database.ts';
import { createBusiness } from './businesses.ts';
import { createKey } from './keys.ts';
import { SELF_HOSTED } from './plans.ts';

/** The keys of the first business, to be shown once. */
export type FirstKeys = Readonly<Record<'live' | 'test', string>>;

/**
 * Makes the business `default` with a live and a test key when the records hold no business yet; null when they do.
 * Servers that start together make it once.
 */
export async function ensureFirstBusiness(
  records: Pick<Store, 'transaction'>,
  now_ms: number,
): Promise<FirstKeys | null> {
  return await records.transaction(async (rows) => {
    if (await rows.selectFrom('businesses').select('id').limit(1).executeTakeFirst()) return null;
    const business = await createBusiness(rows, 'default', SELF_HOSTED, now_ms);
    if (business === null) return null;
    const make = async (kind: 'live' | 'test') => {
      const key = { business_id: business.id, kind, name: `first ${kind} key`, scopes: ['*'], expires_at: null };
      return (await createKey(rows, key, now_ms)).text;
    };
    return { live: await make('live'), test: await make('test') };
  });
}
