import { type Kysely, type Selectable, sql } from 'kysely';
import { z } from 'zod';
import { ALL_TABLES, type Database } from '../store/schema.ts';
import { effectiveCap, FEATURES } from './plans.ts';
import { isScope } from './scopes.ts';

const ROWS_PER_READ = 1_000;

const Credits = z.int().nonnegative().nullable();
const Count = z.int().nonnegative();
const Features = z.array(z.enum(FEATURES));
const Quotas = z.strictObject({
  locations: Count,
  polygons: Count,
  point_areas: Count,
  real_time_polygons: Count,
  area_sq_mi: Count,
  subscriptions: Count,
  webhooks: Count,
  requests_per_day: Credits.optional(),
});
const PlanRow = z.object({
  monthly_limit: Credits,
  spend_cap: Credits,
  cap: Credits,
  overage_policy: z.enum(['allow', 'block']),
  overage_rate: z.number().nonnegative(),
  rate_per_minute: z.int().positive(),
});
const Scopes = z.array(z.string().refine(isScope, 'is no scope'));
const Tags = z.array(z.string());

/** Businesses without a plan, and plans that cannot be read or contradict themselves; a line each. */
export async function planFaults(rows: Kysely<Database>): Promise<readonly string[]> {
  const found = await rows
    .selectFrom('businesses')
    .leftJoin('plans', 'plans.business_id', 'businesses.id')
    .selectAll('plans')
    .select('businesses.id as id')
    .orderBy('businesses.id')
    .execute();
  return found.flatMap(({ id, ...plan }) => {
    const fault = plan.business_id === null ? 'has no plan' : planFault(plan);
    return fault === null ? [] : `${id} ${fault}`;
  });
}

function planFault(row: Record<string, unknown>): string | null {
  const parsed = PlanRow.safeParse(row);
  if (!parsed.success) return `has a plan whose ${issueOf(parsed.error)}`;
  const features = jsonFault(Features, row.features);
  if (features !== null) return `has a plan whose features ${features}`;
  const quotas = jsonFault(Quotas, row.quotas);
  if (quotas !== null) return `has a plan whose quotas ${quotas}`;
  const { cap } = parsed.data;
  const expected = effectiveCap(parsed.data);
  return cap === expected ? null : `has a plan with cap ${cap ?? 'none'}, expected ${expected ?? 'none'} by its limits`;
}

/** Rows without an owner. `passing`: they expire within a day. */
interface Orphans {
  readonly table: string;
  readonly rows: number;
  readonly missing: 'business' | 'key';
  readonly passing: boolean;
}

/** Rows of businesses that do not exist, and rows that name keys that do not. */
export async function orphans(rows: Kysely<Database>): Promise<readonly Orphans[]> {
  const found: Orphans[] = [];
  for (const { name: table, belongs_to, columns, expires: passing = false } of ALL_TABLES) {
    const owner = sql.ref(`${table}.business_id`);
    if (belongs_to === 'businesses') {
      const none = sql`not exists (select 1 from businesses where businesses.id = ${owner})`;
      found.push({ table, rows: await countWhere(rows, table, none), missing: 'business', passing });
    }
    if (columns.key_id !== undefined) {
      const key = sql.ref(`${table}.key_id`);
      // Adjustments of an operator name no key: null in the ledger, empty in the sums.
      const none = sql`${key} is not null and ${key} <> '' and not exists (select 1 from keys where keys.id = ${key})`;
      found.push({ table, rows: await countWhere(rows, table, none), missing: 'key', passing });
    }
  }
  const successors = await countWhere(
    rows,
    'keys',
    sql`keys.replaced_by is not null and not exists (select 1 from keys as other where other.id = keys.replaced_by)`,
  );
  found.push({ table: 'keys', rows: successors, missing: 'key', passing: false });
  return found.filter(({ rows }) => rows > 0);
}

async function countWhere(
  rows: Kysely<Database>,
  table: keyof Database,
  where: ReturnType<typeof sql>,
): Promise<number> {
  const query = sql<{ count: number }>`select count(*) as count from ${sql.table(table)} where ${where}`;
  return (await query.execute(rows)).rows[0]?.count ?? 0;
}

/** Keys whose scopes cannot be read or mean nothing; a line each. */
export async function scopeFaults(rows: Kysely<Database>): Promise<readonly string[]> {
  const keys = await rows.selectFrom('keys').select(['id', 'scopes']).orderBy('id').execute();
  return keys.flatMap(({ id, scopes }) => {
    const fault = jsonFault(Scopes, scopes);
    return fault === null ? [] : `${id} has scopes that ${fault}`;
  });
}

/** Locations and areas whose tags cannot be read; a line each. */
export async function tagFaults(rows: Kysely<Database>): Promise<readonly string[]> {
  return [...(await tagFaultsIn(rows, 'portfolio_locations')), ...(await tagFaultsIn(rows, 'areas'))];
}

async function tagFaultsIn(rows: Kysely<Database>, table: 'portfolio_locations' | 'areas'): Promise<readonly string[]> {
  const faults: string[] = [];
  let after = '';
  for (;;) {
    const page: readonly Pick<Selectable<Database['portfolio_locations']>, 'id' | 'tags'>[] = await rows
      .selectFrom(table)
      .select(['id', 'tags'])
      .where('id', '>', after)
      .orderBy('id')
      .limit(ROWS_PER_READ)
      .execute();
    for (const { id, tags } of page) {
      const fault = jsonFault(Tags, tags);
      if (fault !== null) faults.push(`${id} has tags that ${fault}`);
    }
    const last = page.at(-1);
    if (last === undefined || page.length < ROWS_PER_READ) return faults;
    after = last.id;
  }
}

/** Why a text is not JSON of that schema; null: it is. */
function jsonFault(schema: z.ZodType, text: unknown): string | null {
  try {
    const parsed = schema.safeParse(JSON.parse(String(text)));
    return parsed.success ? null : `do not fit: ${issueOf(parsed.error)}`;
  } catch {
    return 'are not JSON';
  }
}

function issueOf({ issues }: z.ZodError): string {
  const [issue] = issues;
  return [issue?.path.join('.'), issue?.message].filter(Boolean).join(' ');
}
