import type { Transaction } from 'kysely';
import { timestamp } from '../../schemas/time.ts';
import type { WebhookDisabledData } from '../../schemas/webhook-events.ts';
import { GIVE_UP_AFTER } from '../rules/webhook-retry.ts';
import { instant } from '../store/instant.ts';
import type { Database } from '../store/schema.ts';
import { closeAllAlerts } from './close-alerts.ts';
import { activeWebhooks, enqueueEvent, type Outbox, takersAmong } from './events.ts';
import { mailTeam } from './mail.ts';
import { dropMessages } from './messages.ts';
import type { Receiver } from './receivers.ts';

/** The team is mailed of one receiver, and of one of the two things, at most so often: who enables what is broken in a loop mails nobody. */
const MAILS_EVERY_MS = 3_600_000;

/** Whether the team may be mailed once more, by when it last was. A mail of the future was sent by a clock that was put back since. */
export function mayMailAgain(mailed_at: string | null, at_ms: number): boolean {
  if (mailed_at === null) return true;
  const since_ms = at_ms - Date.parse(mailed_at);
  return since_ms < 0 || since_ms >= MAILS_EVERY_MS;
}

/** The failure that was too many. */
export interface LastFailure {
  readonly status_code: number | null;
  /** Class as clients read it. */
  readonly error: string | null;
  /** When it was given up: epoch milliseconds of the machine's clock, and of the data clock. */
  readonly at_ms: number;
  readonly now_ms: number;
}

/**
 * Ends the deliveries to a receiver whose row the transaction holds, after failures in a row: what was still to be sent is
 * dropped, the team is mailed. A webhook is disabled, and the other webhooks of its business hear of it; a subscription is paused,
 * and its open alerts are closed.
 */
export async function disableReceiver(
  rows: Transaction<Database>,
  outbox: Outbox,
  receiver: Receiver,
  failure: LastFailure,
): Promise<void> {
  const at = instant(failure.at_ms);
  if (receiver.kind === 'webhook') {
    await rows
      .updateTable('webhooks')
      .set({ status: 'disabled', inactive_since: at, updated_at: instant(failure.now_ms) })
      .where('id', '=', receiver.id)
      .execute();
    await dropMessages(rows, receiver.id);
    await notifyOtherWebhooks(rows, outbox, receiver, failure);
  } else {
    await rows
      .updateTable('subscriptions')
      .set({ status: 'paused', updated_at: instant(failure.now_ms) })
      .where('id', '=', receiver.id)
      .execute();
    await closeAllAlerts(rows, receiver.id);
    await dropMessages(rows, receiver.id);
  }
  if (!mayMailAgain(receiver.give_up_mailed_at, failure.at_ms)) return;
  await rows.updateTable(tableOf(receiver)).set({ give_up_mailed_at: at }).where('id', '=', receiver.id).execute();
  await mailTeam(rows, outbox.queue, receiver.business_id, {
    subject: `hail: ${receiver.kind} ${receiver.id} was ${receiver.kind === 'webhook' ? 'disabled' : 'paused'}`,
    text: [
      `${GIVE_UP_AFTER} events in a row could not be delivered.`,
      '',
      ...facts(receiver, failure),
      '',
      'Nothing is sent to it until its status is set to active again.',
    ].join('\n'),
  });
}

/** Mails the team that deliveries to a receiver fail, before they are given up. */
export async function warnTeam(
  rows: Transaction<Database>,
  { queue }: Pick<Outbox, 'queue'>,
  receiver: Receiver,
  failure: LastFailure,
  failures: number,
): Promise<void> {
  await rows
    .updateTable(tableOf(receiver))
    .set({ warned_at: instant(failure.at_ms) })
    .where('id', '=', receiver.id)
    .execute();
  await mailTeam(rows, queue, receiver.business_id, {
    subject: `hail: deliveries to ${receiver.kind} ${receiver.id} fail`,
    text: [
      `${failures} events in a row could not be delivered. After ${GIVE_UP_AFTER} nothing more is sent to it.`,
      '',
      ...facts(receiver, failure),
    ].join('\n'),
  });
}

function tableOf({ kind }: Receiver): 'webhooks' | 'subscriptions' {
  return kind === 'webhook' ? 'webhooks' : 'subscriptions';
}

/** Sends `webhook.disabled` to the other webhooks of the business; it is an event of the current format alone. */
async function notifyOtherWebhooks(
  rows: Transaction<Database>,
  outbox: Outbox,
  { id, business_id, url }: Receiver,
  { status_code, error, at_ms, now_ms }: LastFailure,
): Promise<void> {
  const event = 'webhook.disabled';
  const data: WebhookDisabledData = {
    webhook_id: id,
    url: withoutQuery(url),
    reason: 'consecutive_failures',
    consecutive_failures: GIVE_UP_AFTER,
    disabled_at: timestamp(at_ms),
    last_status_code: status_code,
    last_error: error,
  };
  const receivers = takersAmong(await activeWebhooks(rows, business_id), 'current', event);
  await enqueueEvent(rows, outbox, { business_id, receivers, event, data, alert_id: null, after: null, at_ms: now_ms });
}

function facts({ kind, id, url }: Receiver, { status_code, error, at_ms }: LastFailure): readonly string[] {
  return [
    `${kind}: ${id}`,
    `address: ${withoutQuery(url)}`,
    `last answer: ${status_code ?? 'none'}`,
    `last error: ${error ?? 'none'}`,
    `time: ${instant(at_ms)}`,
  ];
}

/** An address without its query: receivers put passwords there, which are nobody else's. */
export function withoutQuery(url: string): string {
  const { origin, pathname } = new URL(url);
  return `${origin}${pathname}`;
}
