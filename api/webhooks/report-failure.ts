import type { Transaction } from 'kysely';
import { instant, timestamp } from '../../schemas/time.ts';
import type { WebhookDisabledData } from '../../schemas/webhook-events.ts';
import { mailTeam } from '../accounts/mail.ts';
import type { Database } from '../records/schema.ts';
import { GIVE_UP_AFTER, WARN_AFTER } from '../rules/webhook-retry.ts';
import { enqueueEvent, type Outbox, takersAmong, webhooksOf } from './events.ts';
import { type Receiver, setReceiverStatus } from './receivers.ts';

/** Shortest time between two mails of one kind about one receiver: enabling a broken receiver in a loop sends no flood of mail. */
const MAILS_EVERY_MS = 3_600_000;

/** The last failed attempt. */
export interface LastFailure {
  /** Distinct events in a row that failed. */
  readonly failures: number;
  readonly status_code: number | null;
  /** Class as clients read it. */
  readonly error: string | null;
  /** End of the attempt: epoch milliseconds of the machine's clock, and of the data clock. */
  readonly at_ms: number;
  readonly now_ms: number;
}

/**
 * Mails the team at WARN_AFTER failures in a row of a receiver whose row the transaction holds. At GIVE_UP_AFTER disables it, and
 * mails again: a webhook becomes disabled, and the other webhooks of its business get an event, which only the current format has;
 * a subscription becomes paused. Returns whether it is disabled now.
 */
export async function reportFailure(
  rows: Transaction<Database>,
  outbox: Outbox,
  receiver: Receiver,
  { failures, status_code, error, at_ms, now_ms }: LastFailure,
): Promise<boolean> {
  const is_disabled = failures >= GIVE_UP_AFTER;
  if (!is_disabled && failures !== WARN_AFTER) return false;
  const { kind, id, business_id } = receiver;
  const url = withoutQuery(receiver.url);
  if (is_disabled) await setReceiverStatus(rows, receiver, kind === 'webhook' ? 'disabled' : 'paused', now_ms);
  if (is_disabled && kind === 'webhook') {
    const data: WebhookDisabledData = {
      ...{ webhook_id: id, url, reason: 'consecutive_failures', consecutive_failures: failures },
      ...{ disabled_at: timestamp(at_ms), last_status_code: status_code, last_error: error },
    };
    const event = 'webhook.disabled';
    const receivers = takersAmong(await webhooksOf(rows, business_id), 'current', event).filter((each) => each !== id);
    await enqueueEvent(rows, outbox, {
      business_id,
      receivers,
      event,
      alert_id: null,
      after: null,
      at_ms: now_ms,
      data,
    });
  }
  const mailed = is_disabled ? 'give_up_mailed_at' : 'warned_at';
  if (at_ms - Date.parse(receiver[mailed] ?? '') < MAILS_EVERY_MS) return is_disabled;
  const at = instant(at_ms);
  const table = kind === 'webhook' ? 'webhooks' : 'subscriptions';
  await rows
    .updateTable(table)
    .set({ [mailed]: at })
    .where('id', '=', id)
    .execute();
  const facts = [
    `${kind}: ${id}`,
    `address: ${url}`,
    `last answer: ${status_code ?? 'none'}`,
    `last error: ${error ?? 'none'}`,
    `time: ${at}`,
  ];
  const failed = `${failures} events in a row could not be delivered.`;
  const mail = is_disabled
    ? {
        subject: `hail: ${kind} ${id} was ${kind === 'webhook' ? 'disabled' : 'paused'}`,
        text: [failed, '', ...facts, '', 'Nothing is sent to it until its status is set to active again.'],
      }
    : {
        subject: `hail: deliveries to ${kind} ${id} fail`,
        text: [`${failed} After ${GIVE_UP_AFTER} nothing more is sent to it.`, '', ...facts],
      };
  await mailTeam(rows, outbox.queue, business_id, { subject: mail.subject, text: mail.text.join('\n') });
  return is_disabled;
}

/** An address without its query, which may contain a password of its owner. */
export function withoutQuery(url: string): string {
  const { origin, pathname } = new URL(url);
  return `${origin}${pathname}`;
}
