import type { Kysely, Transaction } from 'kysely';
import { z } from 'zod';
import { instant, utcDate } from '../../schemas/time.ts';
import { recordAct } from '../store/audit.ts';
import type { Database } from '../store/schema.ts';

/** Name of the row. */
const NAME = 'sunset of the earlier variant';

const Sunset = z.object({ sunset: z.iso.date(), deprecated: z.iso.date() });

/** UTC dates from which the earlier variant is deprecated and may be gone. */
export type Sunset = Readonly<z.infer<typeof Sunset>>;

/** Dates that an operator sets; `deprecated` defaults to the day on which a sunset was first set. */
export interface WantedSunset {
  readonly sunset: string;
  readonly deprecated?: string | undefined;
}

/** The end of the earlier variant that the operator has set; null: none. */
export async function readSunset(rows: Kysely<Database>): Promise<Sunset | null> {
  const found = await rows.selectFrom('settings').select('value').where('name', '=', NAME).executeTakeFirst();
  return found === undefined ? null : Sunset.parse(JSON.parse(found.value));
}

/** Sets the end of the earlier variant, null removes it; false when nothing changed. */
export async function setSunset(
  rows: Transaction<Database>,
  wanted: WantedSunset | null,
  now_ms: number,
): Promise<boolean> {
  const before = await readSunset(rows);
  if (wanted === null) {
    if (before === null) return false;
    await rows.deleteFrom('settings').where('name', '=', NAME).execute();
  } else {
    const deprecated = wanted.deprecated ?? before?.deprecated ?? utcDate(now_ms);
    if (before?.sunset === wanted.sunset && before.deprecated === deprecated) return false;
    const value = JSON.stringify({ sunset: wanted.sunset, deprecated } satisfies Sunset);
    const row = { name: NAME, value, noted_at: instant(now_ms) };
    await rows
      .insertInto('settings')
      .values(row)
      .onConflict((conflict) => conflict.column('name').doUpdateSet(row))
      .execute();
  }
  await recordAct(rows, now_ms, {
    act: 'sunset.set',
    business_id: null,
    subject: 'earlier variant',
    detail: { ...wanted, before },
  });
  return true;
}
