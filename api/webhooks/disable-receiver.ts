import type { Transaction } from 'kysely';
import { instant, timestamp } from '../../schemas/time.ts';
import type { WebhookDisabledData } from '../../schemas/webhook-events.ts';
import { mailTeam } from '../accounts/mail.ts';
import type { Database } from '../records/schema.ts';
import { GIVE_UP_AFTER } from '../rules/webhook-retry.ts';
import { activeWebhooks, enqueueEvent, type Outbox, takersAmong } from './events.ts';
import { type Receiver, setReceiverStatus } from './receivers.ts';

/** Shortest time between two mails of one kind about one receiver: enabling a broken receiver in a loop sends no flood of mail. */
const MAILS_EVERY_MS = 3_600_000;

/** The last failed attempt before a mail. */
export interface LastFailure {
  readonly status_code: number | null;
  /** Class as clients read it. */
  readonly error: string | null;
  /** End of the attempt: epoch milliseconds of the machine's clock, and of the data clock. */
  readonly at_ms: number;
  readonly now_ms: number;
}

/**
 * Disables a receiver whose row the transaction holds after too many failures in a row, and mails the team. A webhook becomes
 * disabled, and the other webhooks of its business get an event, which only the current format has; a subscription becomes paused.
 */
export async function disableReceiver(
  rows: Transaction<Database>,
  outbox: Outbox,
  receiver: Receiver,
  failure: LastFailure,
): Promise<void> {
  const { kind, id, business_id, url } = receiver;
  const { status_code, error, at_ms, now_ms } = failure;
  await setReceiverStatus(rows, receiver, kind === 'webhook' ? 'disabled' : 'paused', now_ms);
  if (kind === 'webhook') {
    const data: WebhookDisabledData = {
      ...{ webhook_id: id, url: withoutQuery(url), reason: 'consecutive_failures' },
      ...{ consecutive_failures: GIVE_UP_AFTER, disabled_at: timestamp(at_ms) },
      ...{ last_status_code: status_code, last_error: error },
    };
    const event = 'webhook.disabled';
    const receivers = takersAmong(await activeWebhooks(rows, business_id), 'current', event);
    const about = { business_id, receivers, event, alert_id: null, after: null, at_ms: now_ms } as const;
    await enqueueEvent(rows, outbox, { ...about, data });
  }
  await mailTeamAbout(rows, outbox, receiver, failure, GIVE_UP_AFTER);
}

/**
 * Mails the team that a receiver fails, or from GIVE_UP_AFTER failures on that it is disabled; at most one mail of each kind in
 * MAILS_EVERY_MS.
 */
export async function mailTeamAbout(
  rows: Transaction<Database>,
  { queue }: Pick<Outbox, 'queue'>,
  { kind, id, business_id, url, ...receiver }: Receiver,
  { status_code, error, at_ms }: LastFailure,
  failures: number,
): Promise<void> {
  const isDisabled = failures >= GIVE_UP_AFTER;
  const column = isDisabled ? 'give_up_mailed_at' : 'warned_at';
  if (at_ms - Date.parse(receiver[column] ?? '') < MAILS_EVERY_MS) return;
  const at = instant(at_ms);
  await rows
    .updateTable(kind === 'webhook' ? 'webhooks' : 'subscriptions')
    .set({ [column]: at })
    .where('id', '=', id)
    .execute();
  const facts = [
    `${kind}: ${id}`,
    `address: ${withoutQuery(url)}`,
    `last answer: ${status_code ?? 'none'}`,
    `last error: ${error ?? 'none'}`,
    `time: ${at}`,
  ];
  const failed = `${failures} events in a row could not be delivered.`;
  const mail = isDisabled
    ? {
        subject: `hail: ${kind} ${id} was ${kind === 'webhook' ? 'disabled' : 'paused'}`,
        text: [failed, '', ...facts, '', 'Nothing is sent to it until its status is set to active again.'],
      }
    : {
        subject: `hail: deliveries to ${kind} ${id} fail`,
        text: [`${failed} After ${GIVE_UP_AFTER} nothing more is sent to it.`, '', ...facts],
      };
  await mailTeam(rows, queue, business_id, { subject: mail.subject, text: mail.text.join('\n') });
}

/** An address without its query, which may contain a password of its owner. */
export function withoutQuery(url: string): string {
  const { origin, pathname } = new URL(url);
  return `${origin}${pathname}`;
}
