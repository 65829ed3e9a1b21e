import type { Kysely, Selectable, Transaction } from 'kysely';
import { recordAct } from '../records/audit.ts';
import type { Database } from '../records/schema.ts';
import type { Business } from './businesses.ts';

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
