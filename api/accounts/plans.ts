import type { Insertable, Selectable } from 'kysely';
import { z } from 'zod';
import type { Database } from '../records/schema.ts';

export const FEATURES = ['exports', 'real_time_delivery'] as const;

const credits = z.int().nonnegative().nullable().default(null);
const count = (most: number) => z.int().nonnegative().default(most);

/** A plan in a file: without features, and otherwise with the bounds of a machine of one's own, where it names no others. Null: no bound. */
export const PlanFile = z.strictObject({
  monthly_limit: credits,
  spend_cap: credits,
  overage_policy: z.enum(['allow', 'block']).default('allow'),
  /** Currency units per credit above the limit. */
  overage_rate: z.number().nonnegative().default(0),
  rate_per_minute: z.int().positive().default(60),
  features: z.array(z.enum(FEATURES)).default([]),
  quotas: z
    .strictObject({
      locations: count(10_000),
      polygons: count(100),
      point_areas: count(500),
      real_time_polygons: count(10),
      area_sq_mi: count(50_000),
      subscriptions: count(100),
      webhooks: count(10),
      /** Requests a UTC day with all keys together. */
      requests_per_day: credits,
    })
    .prefault({}),
});

/** What a plan allows a business. Null limits: none. */
export interface Tariff extends Readonly<Omit<z.infer<typeof PlanFile>, 'features' | 'quotas'>> {
  readonly name: string;
  readonly features: readonly string[];
  readonly quotas: Readonly<z.infer<typeof PlanFile>['quotas']>;
}

/** What the first business of a machine of one's own may do: everything. */
export const SELF_HOSTED: Tariff = { name: 'self-hosted', ...PlanFile.parse({ features: FEATURES }) };

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

export function planRow(plan: Tariff): Omit<Insertable<Database['plans']>, 'business_id'> {
  const { features, quotas } = plan;
  return { ...plan, features: JSON.stringify(features), quotas: JSON.stringify(quotas), cap: effectiveCap(plan) };
}

/** The plan in a row, which may have other columns. */
export function tariffOf(row: Omit<Selectable<Database['plans']>, 'business_id' | 'cap'>): Tariff {
  const { name, monthly_limit, spend_cap, overage_policy, overage_rate, rate_per_minute } = row;
  return Object.freeze({
    ...{ name, monthly_limit, spend_cap, overage_policy, overage_rate, rate_per_minute },
    features: Object.freeze(JSON.parse(row.features) as string[]),
    quotas: Object.freeze(JSON.parse(row.quotas) as Tariff['quotas']),
  });
}
