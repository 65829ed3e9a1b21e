import { createBusiness, setPlan } from '../../../api/accounts/businesses.ts';
import { createKey } from '../../../api/accounts/keys.ts';
import { SELF_HOSTED, type Tariff } from '../../../api/accounts/plans.ts';
import type { PortfolioLocations } from '../../../schemas/resources/portfolio-location.ts';
import type { PortfolioUploaded } from '../../../schemas/resources/portfolio-upload.ts';
import { type RunningService, SERVICE_NOW_MS } from './service.ts';

export const LOCATIONS = '/v1/portfolio/locations';
export const IMPACTS = '/v1/portfolio/impacts';

/** Body of a call as JSON. */
export function sending(method: 'POST' | 'DELETE', body: unknown, headers: Record<string, string> = {}) {
  return { method, body: JSON.stringify(body), headers: { 'Content-Type': 'application/json', ...headers } };
}

/** Uploads rows that are expected to be taken for an upload. */
export async function upload(
  service: RunningService,
  data: readonly unknown[] | string,
  key = service.live_key,
): Promise<PortfolioUploaded> {
  const format = typeof data === 'string' ? 'csv' : 'json';
  const response = await service.call(LOCATIONS, { ...sending('POST', { format, data }), key });
  if (response.status !== 200) throw new Error(`upload answers ${response.status} ${await response.text()}`);
  return (await response.json()) as PortfolioUploaded;
}

/** So many good rows, named in order. */
export function rows(count: number, name = 'place'): { name: string; lat: number; lon: number }[] {
  return Array.from({ length: count }, (_, k) => ({
    name: `${name} ${String(k).padStart(5, '0')}`,
    lat: 30 + (k % 100) / 10,
    lon: -100 - (k % 70) / 10,
  }));
}

/** Every page of the list. */
export async function walk(
  service: RunningService,
  limit: number,
  key = service.live_key,
): Promise<PortfolioLocations[]> {
  const pages: PortfolioLocations[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const query: string = cursor === '' ? '' : `&cursor=${cursor}`;
    const page = (await service.json(`${LOCATIONS}?limit=${limit}${query}`, { key })) as PortfolioLocations;
    pages.push(page);
    cursor = page.next_cursor;
  }
  return pages;
}

/** The first business. */
async function firstBusiness({ records }: RunningService) {
  const found = records.reader.selectFrom('businesses').select(['id', 'name']).where('name', '=', 'default');
  return await found.executeTakeFirstOrThrow();
}

/** Credits that the first business has used this month. */
export async function creditsUsed(service: RunningService): Promise<number> {
  const { id } = await firstBusiness(service);
  const found = service.records.reader.selectFrom('periods').select('used').where('business_id', '=', id);
  return (await found.executeTakeFirst())?.used ?? 0;
}

/** Changes the plan of the first business; to be done before its first call, since keys are remembered for a second. */
export async function changePlan(service: RunningService, change: Partial<Tariff>): Promise<void> {
  const business = await firstBusiness(service);
  const plan = { ...SELF_HOSTED, rate_per_minute: 1_000_000, ...change };
  await service.records.transaction((rows) => setPlan(rows, business, plan, SERVICE_NOW_MS));
}

/** Key of another business. */
export async function strangersKey(service: RunningService): Promise<string> {
  return await service.records.transaction(async (rows) => {
    const business = await createBusiness(rows, 'stranger', SELF_HOSTED, SERVICE_NOW_MS);
    if (business === null) throw new Error('the stranger is there already');
    const key = { business_id: business.id, kind: 'live' as const, name: 'key', scopes: ['*'], expires_at: null };
    return (await createKey(rows, key, SERVICE_NOW_MS)).text;
  });
}
