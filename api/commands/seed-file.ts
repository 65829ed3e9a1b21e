import type { Transaction } from 'kysely';
import { z } from 'zod';
import {
  type Business,
  createBusiness,
  findBusiness,
  LABEL_PATTERN,
  setPlan,
  setStatus,
} from '../accounts/businesses.ts';
import { keyVariantOf, VARIANT_WORDS, variantWordOf } from '../accounts/key-text.ts';
import { changeKey, createKey, findKey, listKeys, setKeyCap } from '../accounts/keys.ts';
import { ROLES, setMember } from '../accounts/members.ts';
import { FEATURES, NAMED_PLANS, namedPlan, PLAN_NAMES, SELF_HOSTED, type Tariff } from '../accounts/plans.ts';
import { isScope } from '../accounts/scopes.ts';
import type { Store } from '../records/database.ts';
import type { Database } from '../records/schema.ts';

const credits = z.int().nonnegative().nullable();
const count = z.int().nonnegative();
const label = z.string().regex(LABEL_PATTERN, 'expected 1 to 100 printable characters');

const SeedPlan = z.strictObject({
  monthly_limit: credits.default(SELF_HOSTED.monthly_limit).meta({ description: 'Credits a month; null: none.' }),
  spend_cap: credits.default(SELF_HOSTED.spend_cap).meta({ description: 'Credits a month; null: none.' }),
  overage_policy: z.enum(['allow', 'block']).default(SELF_HOSTED.overage_policy),
  overage_rate: z.number().nonnegative().default(SELF_HOSTED.overage_rate).meta({ description: 'Price of a credit.' }),
  rate_per_minute: z.int().positive().default(SELF_HOSTED.rate_per_minute),
  features: z.array(z.enum(FEATURES)).default([]),
  quotas: z
    .strictObject({
      locations: count,
      polygons: count,
      point_areas: count,
      real_time_polygons: count,
      area_sq_mi: count,
      subscriptions: count,
      webhooks: count,
      requests_per_day: count.nullable(),
    })
    .partial()
    .default({}),
});

const SeedKey = z.strictObject({
  name: label,
  kind: z.enum(['live', 'test']),
  variant: z.enum(VARIANT_WORDS).default('current').meta({ description: 'What the key gets under /v1.' }),
  scopes: z.array(z.string().refine(isScope, 'expected a scope such as hail:read')).min(1).default(['*']),
  expires_at: z.iso.datetime().nullable().default(null),
  monthly_cap: credits.optional().meta({ description: 'Most credits a month; null: none. Left out: as it is.' }),
});
type SeedKey = z.infer<typeof SeedKey>;

const SeedBusiness = z.strictObject({
  name: label,
  plan: z
    .string()
    .default(SELF_HOSTED.name)
    .meta({ description: 'Name of a plan of this file, self-hosted, free, pro or business.' }),
  suspended: z.boolean().default(false),
  members: z.array(z.strictObject({ email: z.email(), role: z.enum(ROLES).default('member') })).default([]),
  keys: z.array(SeedKey).default([]).meta({ description: 'A key is known by its name and kind.' }),
});
type SeedBusiness = z.infer<typeof SeedBusiness>;

/** The desired state of plans, businesses, members and keys. Applying it leaves unnamed ones unchanged. */
export const Seed = z
  .strictObject({
    plans: z.record(label, SeedPlan).default({}),
    businesses: z.array(SeedBusiness).default([]),
  })
  .superRefine(({ plans, businesses }, context) => {
    const names = businesses.map(({ name }) => name);
    businesses.forEach(({ name, plan, keys }, k) => {
      const fault = (path: string, message: string) =>
        context.addIssue({ code: 'custom', path: ['businesses', k, path], message });
      if (names.indexOf(name) !== k) fault('name', `'${name}' is there twice`);
      if (plan !== SELF_HOSTED.name && !Object.hasOwn(plans, plan) && !Object.hasOwn(NAMED_PLANS, plan))
        fault('plan', `'${plan}' is no plan of this file`);
      if (new Set(keys.map(labelOf)).size < keys.length) fault('keys', 'two have the same name and kind');
    });
  });
export type Seed = z.infer<typeof Seed>;

/** A key that was made, with its text. */
export interface SeededKey {
  readonly business: string;
  readonly name: string;
  readonly kind: 'live' | 'test';
  readonly key: string;
}

export interface SeedResult {
  /** One line for each change; [] when there was nothing to change. */
  readonly changes: readonly string[];
  readonly keys: readonly SeededKey[];
}

/** Thrown when the records cannot be brought to the desired state. */
export class SeedConflict extends Error {}

/** Brings the records to the desired state, within a transaction: a second time changes nothing. */
export async function applySeed(
  rows: Transaction<Database>,
  store: Pick<Store, 'lockCharges'>,
  seed: Seed,
  now_ms: number,
): Promise<SeedResult> {
  // Before any row lock that a charge may wait for.
  if (seed.businesses.some(({ keys }) => keys.some(({ monthly_cap }) => monthly_cap !== undefined)))
    await store.lockCharges(rows);
  const changes: string[] = [];
  const keys: SeededKey[] = [];
  for (const wanted of seed.businesses) {
    const plan = planNamed(seed, wanted.plan);
    const business = await applyBusiness(rows, wanted, plan, now_ms, changes);
    for (const { email, role } of wanted.members)
      if (await setMember(rows, business, email, role, now_ms)) changes.push(`${wanted.name}: ${email} is ${role}`);
    keys.push(...(await applyKeys(rows, store, business, wanted.keys, now_ms, changes)));
  }
  return { changes, keys };
}

async function applyBusiness(
  rows: Transaction<Database>,
  { name, suspended }: SeedBusiness,
  plan: Tariff,
  now_ms: number,
  changes: string[],
): Promise<Business> {
  const status = suspended ? 'suspended' : 'active';
  const made = await createBusiness(rows, name, plan, now_ms);
  if (made) changes.push(`${name}: made, on plan ${plan.name}`);
  const business = made ?? (await findBusiness(rows, name));
  if (business === null) throw new Error(`business ${name} is neither new nor there`);
  if (await setPlan(rows, business, plan, now_ms)) changes.push(`${name}: plan is ${plan.name}`);
  if (await setStatus(rows, business, status, now_ms)) changes.push(`${name}: is ${status}`);
  return business;
}

async function applyKeys(
  rows: Transaction<Database>,
  store: Pick<Store, 'lockCharges'>,
  { id: business_id, name: business }: Business,
  wanted: readonly SeedKey[],
  now_ms: number,
  changes: string[],
): Promise<readonly SeededKey[]> {
  const there = (await listKeys(rows, business_id, now_ms)).filter(({ status }) => status === 'active');
  const made: SeededKey[] = [];
  for (const { name, kind, variant: word, scopes, expires_at, monthly_cap } of wanted) {
    const variant = keyVariantOf(word);
    const key = {
      business_id,
      kind,
      variant,
      name,
      scopes,
      expires_at: expires_at && new Date(expires_at).toISOString(),
    };
    const present = there.find((known) => labelOf(known) === labelOf(key));
    if (present !== undefined && present.variant !== variant)
      throw new SeedConflict(
        `business ${business}: ${kind} key ${name} is of the variant ${variantWordOf(present.variant)}, expected ${word}: revoke it first`,
      );
    const created = present === undefined ? await createKey(rows, key, now_ms) : null;
    const isChanged = present !== undefined && (await changeKey(rows, present, key, now_ms));
    const row = monthly_cap === undefined ? null : await findKey(rows, created?.id ?? present?.id ?? '');
    const isLimited = row !== null && (await setKeyCap(rows, store, row, monthly_cap ?? null, now_ms));
    if (created !== null) {
      made.push({ business, name, kind, key: created.text });
      changes.push(`${business}: made ${kind} key ${name}`);
    } else if (isChanged || isLimited) changes.push(`${business}: changed ${kind} key ${name}`);
  }
  return made;
}

function planNamed({ plans }: Seed, name: string): Tariff {
  const plan = Object.hasOwn(plans, name) ? plans[name] : undefined;
  const published = PLAN_NAMES.find((known) => known === name);
  if (plan === undefined) return published === undefined ? SELF_HOSTED : namedPlan(published, SELF_HOSTED);
  const quotas = Object.fromEntries(Object.entries(plan.quotas).filter(([, most]) => most !== undefined));
  return { name, ...plan, quotas: { ...SELF_HOSTED.quotas, ...quotas } };
}

function labelOf({ name, kind }: { readonly name: string; readonly kind: string }): string {
  return `${kind} ${name}`;
}
