import type { Insertable, Selectable } from 'kysely';

import type { Database } from '../records/schema.ts';

/** What a plan allows a business. Null limits: none. */
export interface Tariff {
  readonly name: string;
  readonly monthly_limit: number | null;
  readonly spend_cap: number | null;
  readonly overage_policy: 'allow' | 'block';
  readonly overage_rate: number;
  readonly rate_per_minute: number;
  readonly features: readonly string[];
  readonly quotas: {
    readonly locations: number;
    readonly polygons: number;
    readonly point_areas: number;
    readonly real_time_polygons: number;
    readonly area_sq_mi: number;
    readonly subscriptions: number;
    readonly webhooks: number;
    /** Requests a UTC day with all keys together; null: any number. */
    readonly requests_per_day: number | null;
  };
}

/** Features that a plan may name. */
export const FEATURES = ['exports', 'real_time_delivery'] as const;

/** What the first business of a machine of one's own may do: everything. */
export const SELF_HOSTED: Tariff = {
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
    requests_per_day: null,
  },
};

/** Plans that the earlier variant publishes: requests a minute of each key, requests a UTC day, webhooks. */
export const NAMED_PLANS = {
  free: { rate_per_minute: 10, requests_per_day: 1_000, webhooks: 1 },
  pro: { rate_per_minute: 60, requests_per_day: 10_000, webhooks: 10 },
  business: { rate_per_minute: 300, requests_per_day: 100_000, webhooks: 100 },
} as const;
export type PlanName = keyof typeof NAMED_PLANS;
export const PLAN_NAMES = Object.keys(NAMED_PLANS) as [PlanName, ...PlanName[]];

/** A plan with the name and bounds of one of these. Its credits stay; webhooks need real-time delivery. */
export function namedPlan(name: PlanName, { features, quotas, ...rest }: Tariff): Tariff {
  const { rate_per_minute, requests_per_day, webhooks } = NAMED_PLANS[name];
  return {
    ...rest,
    name,
    rate_per_minute,
    features: FEATURES.filter((feature) => feature === 'real_time_delivery' || features.includes(feature)),
    quotas: { ...quotas, webhooks, requests_per_day },
  };
}

/**
 * Most credits that a business may use in a month; null: no bound. `allow` lets it go past its limit, up to the spend cap;
 * `block` stops at the smaller of the two.
 */
export function effectiveCap({
  monthly_limit,
  spend_cap,
  overage_policy,
}: Pick<Tariff, 'monthly_limit' | 'spend_cap' | 'overage_policy'>): number | null {
  if (overage_policy === 'allow' || monthly_limit === null) return spend_cap;
  return spend_cap === null ? monthly_limit : Math.min(monthly_limit, spend_cap);
}

/** The row of a business's plan. */
export function planRow(business_id: string, plan: Tariff): Insertable<Database['plans']> {
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
export function tariffOf(row: Omit<Selectable<Database['plans']>, 'business_id' | 'cap'>): Tariff {
  return Object.freeze({
    name: row.name,
    monthly_limit: row.monthly_limit,
    spend_cap: row.spend_cap,
    overage_policy: row.overage_policy,
    overage_rate: row.overage_rate,
    rate_per_minute: row.rate_per_minute,
    features: Object.freeze(JSON.parse(row.features) as string[]),
    // Those that are newer than the row have their default.
    quotas: Object.freeze({ ...SELF_HOSTED.quotas, ...(JSON.parse(row.quotas) as Partial<Tariff['quotas']>) }),
  });
}
