import { createBusiness } from '../../../api/accounts/businesses.ts';
import { createKey, findKey, setKeyCap } from '../../../api/accounts/keys.ts';
import { SELF_HOSTED, type Tariff } from '../../../api/accounts/plans.ts';
import type { RunningService } from './service.ts';

/** A business of its own with one key. */
export type Account = Awaited<ReturnType<typeof openAccount>>;

interface AccountOptions {
  readonly plan?: Partial<Tariff>;
  readonly kind?: 'live' | 'test';
  readonly variant?: 'current' | 'legacy';
  readonly scopes?: readonly string[];
  readonly expires_at?: string | null;
}

let businesses = 0;

/** Makes a business with a key; the rate is far away unless the plan says otherwise. */
export async function openAccount(
  { records, services }: Pick<RunningService, 'records' | 'services'>,
  { plan, kind = 'live', variant = 'current', scopes = ['*'], expires_at = null }: AccountOptions = {},
) {
  businesses += 1;
  const name = `business ${businesses}`;
  return await records.transaction(async (rows) => {
    const tariff = { ...SELF_HOSTED, rate_per_minute: 1_000_000, ...plan };
    const made = await createBusiness(rows, name, tariff, services.now());
    if (made === null) throw new Error(`business '${name}' exists already`);
    const wanted = { business_id: made.id, kind, variant, name: 'key', scopes, expires_at };
    const key = await createKey(rows, wanted, services.now());
    return { business_id: made.id, key_id: key.id, key: key.text };
  });
}

/** Gives the key of an account a monthly cap of its own. */
export async function limitKey(
  { records, services }: Pick<RunningService, 'records' | 'services'>,
  { key_id }: Account,
  monthly_cap: number,
): Promise<void> {
  await records.transaction(async (rows) => {
    const row = await findKey(rows, key_id);
    if (row === null) throw new Error(`key ${key_id} is gone`);
    await setKeyCap(rows, row, monthly_cap, services.now());
  });
}

/** Credits that a business used by every account of them: they must agree. Throws when they do not. */
export async function creditsOf({ records }: Pick<RunningService, 'records'>, business_id: string): Promise<number> {
  const sum = async (table: 'ledger' | 'usage') => {
    const found = records.reader.selectFrom(table).select('credits').where('business_id', '=', business_id);
    return (await found.execute()).reduce((total, { credits }) => total + credits, 0);
  };
  const periods = records.reader.selectFrom('periods').select('used').where('business_id', '=', business_id);
  const used = (await periods.execute()).reduce((total, row) => total + row.used, 0);
  const [ledger, usage] = [await sum('ledger'), await sum('usage')];
  if (ledger !== used || usage !== used) throw new Error(`ledger ${ledger}, usage ${usage}, used ${used}`);
  return used;
}
