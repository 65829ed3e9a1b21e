import type { Kysely, Transaction } from 'kysely';
import { z } from 'zod';
import { instant } from '../../schemas/time.ts';
import type { Database } from './schema.ts';
import { readSetting, writeSetting } from './settings.ts';

/** Name of the row. */
const NAME = 'deliveries paused';

/** Command that ends the pause of a copy. */
export const RESUME = 'hail-api webhook resume --original-is-gone';

const Pause = z.object({ since: z.iso.datetime(), reason: z.string() });

/** Why events and mails wait, and since when. */
export type DeliveryPause = Readonly<z.infer<typeof Pause>>;

/** The mark of a copy whose original may still run; null: events and mails are sent. */
export async function deliveryPause(rows: Kysely<Database>): Promise<DeliveryPause | null> {
  const pause = await readSetting(rows, NAME);
  return pause === undefined ? null : Pause.parse(pause);
}

/** Marks these records as a copy. */
export async function pauseDeliveries(rows: Transaction<Database>, reason: string, now_ms: number): Promise<void> {
  await writeSetting(rows, NAME, { since: instant(now_ms), reason } satisfies DeliveryPause, now_ms);
}

/** Removes the mark; null when there was none. */
export async function endDeliveryPause(rows: Transaction<Database>): Promise<DeliveryPause | null> {
  const pause = await deliveryPause(rows);
  if (pause !== null) await rows.deleteFrom('settings').where('name', '=', NAME).execute();
  return pause;
}
