import type { OpenStore } from '../records/database.ts';
import { createBusiness } from './businesses.ts';
import { createKey } from './keys.ts';
import { SELF_HOSTED } from './plans.ts';

/** The keys of the first business, to be shown once. */
export interface FirstKeys {
  readonly live: string;
  readonly test: string;
}

/**
 * Makes the business `default` with a live and a test key when the records hold no business yet; null when they do.
 * Servers that start together make it once.
 */
export async function ensureFirstBusiness(
  records: Pick<OpenStore, 'transaction'>,
  now_ms: number,
): Promise<FirstKeys | null> {
  return await records.transaction(async (rows) => {
    if (await rows.selectFrom('businesses').select('id').limit(1).executeTakeFirst()) return null;
    const business = await createBusiness(rows, 'default', SELF_HOSTED, now_ms);
    if (business === null) return null;
    const make = (kind: 'live' | 'test') =>
      createKey(
        rows,
        { business_id: business.id, kind, name: `first ${kind} key`, scopes: ['*'], expires_at: null },
        now_ms,
      );
    const live = await make('live');
    const test = await make('test');
    return { live: live.text, test: test.text };
  });
}
