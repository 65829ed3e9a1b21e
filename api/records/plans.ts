import type { Insertable, Selectable } from 'kysely';
import type { Plan } from './records.ts';
import type { Database } from './tables.ts';

/** Features that a plan may name. */
export const FEATURES = ['exports', 'real_time_delivery'] as const;

/** What the first business of a machine of one's own may do: everything. */
export const SELF_HOSTED: Plan = {
  name: 'self-hosted',
  monthly_limit: null,
  spend_cap: null,
  overage_policy: 'allow',
  overage_rate: 0,
  rate_per_minute: 60,
  features: FEATURES,
  quotas: {
    locations: 10_000,
    polygons: 100,
    point_areas: 500,
    real_time_polygons: 10,
    area_sq_mi: 50_000,
    subscriptions: 100,
    webhooks: 10,
  },
};

/**
 * Most credits that a business may use in a month; null: no bound. `allow` lets it go past its limit, up to the spend cap;
 * `block` stops at the smaller of the two.
 */
export function effectiveCap({
  monthly_limit,
  spend_cap,
  overage_policy,
}: Pick<Plan, 'monthly_limit' | 'spend_cap' | 'overage_policy'>): number | null {
  if (overage_policy === 'allow' || monthly_limit === null) return spend_cap;
  return spend_cap === null ? monthly_limit : Math.min(monthly_limit, spend_cap);
}

/** The row of a business's plan. */
export function planRow(business_id: string, plan: Plan): Insertable<Database['plans']> {
  const { features, quotas, ...rest } = plan;
  return {
    business_id,
    ...rest,
    features: JSON.stringify(features),
    quotas: JSON.stringify(quotas),
    cap: effectiveCap(plan),
  };
}

/** The plan in a row. */
export function planOf(row: Omit<Selectable<Database['plans']>, 'business_id' | 'cap'>): Plan {
  return Object.freeze({
    name: row.name,
    monthly_limit: row.monthly_limit,
    spend_cap: row.spend_cap,
    overage_policy: row.overage_policy,
    overage_rate: row.overage_rate,
    rate_per_minute: row.rate_per_minute,
    features: Object.freeze(JSON.parse(row.features) as string[]),
    quotas: Object.freeze(JSON.parse(row.quotas) as Plan['quotas']),
  });
}
