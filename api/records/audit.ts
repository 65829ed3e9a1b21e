import { hostname, userInfo } from 'node:os';
import type { Kysely, Transaction } from 'kysely';
import { instant } from '../../schemas/time.ts';
import type { Database } from './schema.ts';

/** An act of an operator. */
interface Act {
  /** Noun and verb, such as `key.rotate`. */
  readonly act: string;
  readonly business_id: string | null;
  /** The object of the action: an id or a name. */
  readonly subject: string;
  readonly detail?: Readonly<Record<string, unknown>>;
}

/** Writes a line of the audit log, in the transaction of the act. `detail` must hold no secret. */
export async function recordAct(
  rows: Transaction<Database>,
  now_ms: number,
  { act, business_id, subject, detail = {} }: Act,
): Promise<void> {
  const line = { at: instant(now_ms), actor: actor(), act, business_id, subject, detail: JSON.stringify(detail) };
  await rows.insertInto('audit').values(line).execute();
}

/** The audit log, oldest first; of one business, or of all with null. Outlives the business. */
export async function auditLines(rows: Kysely<Database>, business_id: string | null) {
  const found = await rows
    .selectFrom('audit')
    .select(['at', 'actor', 'act', 'business_id', 'subject', 'detail'])
    .$if(business_id !== null, (query) => query.where('business_id', '=', business_id))
    .orderBy('id')
    .execute();
  return found.map((line) => ({ ...line, detail: JSON.parse(line.detail) as Record<string, unknown> }));
}

/** User and machine. Containers often run under a number that has no name. */
function actor(): string {
  try {
    return `${userInfo().username}@${hostname()}`;
  } catch {
    return `${process.getuid?.() ?? 'unknown'}@${hostname()}`;
  }
}
