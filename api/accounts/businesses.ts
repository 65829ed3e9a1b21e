import { isDeepStrictEqual } from 'node:util';
import { type Kysely, type Selectable, sql, type Transaction } from 'kysely';
import { newId } from '../../schemas/ids.ts';
import { recordAct } from '../records/audit.ts';
import type { Store } from '../records/database.ts';
import { ALL_TABLES, type Database, isOwned } from '../records/schema.ts';
import { planRow, type Tariff, tariffOf } from './plans.ts';

export type Business = Omit<Selectable<Database['businesses']>, 'writes'>;
const COLUMNS = ['id', 'name', 'status', 'created_at'] as const;

/** What a business or a key may be called: up to 100 printable characters. */
export const LABEL_PATTERN = /^[^\p{C}]{1,100}$/u;

/** Makes a business with its plan. Null when the name is taken. */
export async function createBusiness(
  rows: Transaction<Database>,
  name: string,
  plan: Tariff,
  now_ms: number,
): Promise<Business | null> {
  const business = {
    id: newId('business', now_ms),
    name,
    status: 'active' as const,
    created_at: new Date(now_ms).toISOString(),
  };
  const { numInsertedOrUpdatedRows } = await rows
    .insertInto('businesses')
    .values({ ...business, writes: 0 })
    .onConflict((conflict) => conflict.column('name').doNothing())
    .executeTakeFirst();
  if (numInsertedOrUpdatedRows !== 1n) return null;
  const tariff = { business_id: business.id, ...planRow(plan) };
  await rows.insertInto('plans').values(tariff).execute();
  await recordAct(rows, now_ms, { act: 'business.create', business_id: business.id, subject: name, detail: { plan } });
  return business;
}

export async function listBusinesses(rows: Kysely<Database>): Promise<readonly Business[]> {
  return await rows.selectFrom('businesses').select(COLUMNS).orderBy('name').execute();
}

/** The business of that name or id; null when there is none. */
export async function findBusiness(rows: Kysely<Database>, nameOrId: string): Promise<Business | null> {
  const found = rows
    .selectFrom('businesses')
    .select(COLUMNS)
    .where(({ or }) => or({ name: nameOrId, id: nameOrId }))
    .orderBy((eb) => eb('id', '=', nameOrId), 'desc');
  return (await found.executeTakeFirst()) ?? null;
}

/** Suspends or resumes; false when it already was so. */
export async function setStatus(
  rows: Transaction<Database>,
  { id, name }: Pick<Business, 'id' | 'name'>,
  status: Business['status'],
  now_ms: number,
): Promise<boolean> {
  const { numUpdatedRows } = await rows
    .updateTable('businesses')
    .set({ status })
    .where('id', '=', id)
    .where('status', '!=', status)
    .executeTakeFirst();
  if (numUpdatedRows === 0n) return false;
  const act = status === 'suspended' ? 'business.suspend' : 'business.resume';
  await recordAct(rows, now_ms, { act, business_id: id, subject: name });
  return true;
}

/**
 * Holds the row of a business until the transaction ends, so that its writes take turns and a quota is counted by one of
 * them at a time. False when there is no such business.
 */
export async function lockBusiness(rows: Transaction<Database>, business_id: string): Promise<boolean> {
  const locked = await sql`update businesses set writes = writes + 1 where id = ${business_id}`.execute(rows);
  return locked.numAffectedRows === 1n;
}

/**
 * Removes a business and every row of it; its lines in the audit log stay. Holds its row, so that nothing new is begun, and then its
 * keys in the order in which counts of requests take them.
 */
export async function purgeBusiness(
  rows: Transaction<Database>,
  { forUpdate }: Pick<Store, 'forUpdate'>,
  { id, name }: Pick<Business, 'id' | 'name'>,
  now_ms: number,
): Promise<void> {
  await rows.selectFrom('businesses').select('id').where('id', '=', id).modifyEnd(forUpdate).execute();
  const keys = rows.selectFrom('keys').select('id').where('business_id', '=', id);
  for (const { name: table } of ALL_TABLES.filter(isOwned)) {
    if (table === 'keys') {
      await keys.orderBy('id').modifyEnd(forUpdate).execute();
      await rows.deleteFrom('request_counts').where('key_id', 'in', keys).execute();
    }
    await sql`delete from ${sql.table(table)} where business_id = ${id}`.execute(rows);
  }
  await rows.deleteFrom('businesses').where('id', '=', id).execute();
  await recordAct(rows, now_ms, { act: 'business.purge', business_id: id, subject: name });
}

export async function readPlan(rows: Kysely<Database>, business_id: string): Promise<Tariff> {
  const plan = rows.selectFrom('plans').selectAll().where('business_id', '=', business_id);
  return tariffOf(await plan.executeTakeFirstOrThrow());
}

/** Changes the plan of a business, in force at once; false when nothing changed. */
export async function setPlan(
  rows: Transaction<Database>,
  { id, name }: Pick<Business, 'id' | 'name'>,
  plan: Tariff,
  now_ms: number,
): Promise<boolean> {
  const before = await readPlan(rows, id);
  if (isDeepStrictEqual(plan, before)) return false;
  await rows.updateTable('plans').set(planRow(plan)).where('business_id', '=', id).execute();
  await recordAct(rows, now_ms, { act: 'plan.set', business_id: id, subject: name, detail: { before, after: plan } });
  return true;
}

export const ROLES = ['admin', 'manager', 'member'] as const;
export type Role = (typeof ROLES)[number];
type Member = Omit<Selectable<Database['members']>, 'business_id'>;

type Named = Pick<Business, 'id' | 'name'>;

/** Adds a member or changes the role; false when nothing changed. Addresses are compared without regard to case. */
export async function setMember(
  rows: Transaction<Database>,
  { id, name }: Named,
  email: string,
  role: Role,
  now_ms: number,
): Promise<boolean> {
  const member = { business_id: id, email: email.toLowerCase() };
  const known = rows.selectFrom('members').select('role');
  const before = await known.where(({ and }) => and(member)).executeTakeFirst();
  if (before?.role === role) return false;
  await rows
    .insertInto('members')
    .values({ ...member, role, created_at: new Date(now_ms).toISOString() })
    .onConflict((conflict) => conflict.columns(['business_id', 'email']).doUpdateSet({ role }))
    .execute();
  const detail = { email: member.email, role, before: before?.role ?? null };
  await recordAct(rows, now_ms, { act: 'member.set', business_id: id, subject: name, detail });
  return true;
}

/** Removes a member; false when there was none. */
export async function removeMember(
  rows: Transaction<Database>,
  { id, name }: Named,
  email: string,
  now_ms: number,
): Promise<boolean> {
  const member = { business_id: id, email: email.toLowerCase() };
  const deleted = rows.deleteFrom('members').where(({ and }) => and(member));
  if ((await deleted.executeTakeFirst()).numDeletedRows === 0n) return false;
  const detail = { email: member.email };
  await recordAct(rows, now_ms, { act: 'member.remove', business_id: id, subject: name, detail });
  return true;
}

export async function listMembers(rows: Kysely<Database>, business_id: string): Promise<readonly Member[]> {
  return await rows
    .selectFrom('members')
    .select(['email', 'role', 'created_at'])
    .where('business_id', '=', business_id)
    .orderBy('email')
    .execute();
}
