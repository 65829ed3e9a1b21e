import type { Kysely } from 'kysely';
import { EARLIER_EVENT_TYPES, type EarlierEventType } from '../../schemas/webhook-events.ts';
import type { Alert } from '../alerts/alerts.ts';
import type { Database } from '../records/schema.ts';
import type { FailedAttempt } from '../rules/webhook-retry.ts';
import { enqueueEvent } from '../webhooks/events.ts';
import type { EventFormat } from '../webhooks/formats.ts';
import { earlierBodyOf, earlierEventsOf, earlierHailData, earlierHappenedMs } from './events.ts';
import { recoverEarlierAlerts } from './recover.ts';
import { EARLIER_SAMPLES } from './samples.ts';

/** Milliseconds before each retry; there is no other one, and Retry-After has no effect. */
export const EARLIER_WAITS_MS: readonly number[] = [1_000, 30_000, 300_000];

/** Milliseconds until a failed attempt is repeated; null: it is not. `attempt`: 1 for the first. */
export function earlierRetryWait({ attempt }: Pick<FailedAttempt, 'attempt'>, time_scale = 1): number | null {
  const wait_ms = EARLIER_WAITS_MS[attempt - 1];
  return wait_ms === undefined ? null : wait_ms * time_scale;
}

/** Events of the earlier variant. They name no alert, so a receiver gets those of one location one after the other. */
export const EARLIER_FORMAT: EventFormat = {
  name: 'earlier',
  types: EARLIER_EVENT_TYPES,
  samples: EARLIER_SAMPLES,
  encode: (event) => earlierBodyOf({ ...event, event: event.event as EarlierEventType }),
  withId: (body) => body,
  retryWait: earlierRetryWait,
  any_hail: true,
  enqueueAlert: async (rows, outbox, { alert, step, now_ms, receiversOf }) => {
    if (alert.location_kind === 'area') return;
    const { business_id, location_id } = alert;
    const { begins, ends } = earlierEventsOf(alert);
    const about = { business_id, at_ms: now_ms };
    const enqueueEnd = async (over: typeof alert, receivers: readonly string[]) => {
      const data = earlierHailData(over, 'ends');
      const after = { alert_id: over.id, event: begins };
      const happened_ms = earlierHappenedMs(over, 'ends');
      const event = { ...about, alert_id: over.id, event: ends, after, data, receivers, happened_ms };
      await enqueueEvent(rows, outbox, event, earlierBodyOf);
    };
    if (step === 'ends') return await enqueueEnd(alert, receiversOf(ends));
    const receivers = receiversOf(begins);
    if (receivers.length === 0) return;
    const former = await lastNotified(rows, location_id, receivers);
    const data = earlierHailData(alert, 'begins');
    const begun = {
      ...about,
      alert_id: alert.id,
      event: begins,
      data,
      happened_ms: earlierHappenedMs(alert, 'begins'),
    };
    for (const receiver of receivers) {
      const last = former.get(receiver);
      if (last?.step === 'begins' && receiversOf(ends).includes(receiver)) await enqueueEnd(last.alert, [receiver]);
      const after = last === undefined ? null : { alert_id: last.alert.id, event: ends };
      await enqueueEvent(rows, outbox, { ...begun, after, receivers: [receiver] }, earlierBodyOf);
    }
  },
  recoverAlerts: recoverEarlierAlerts,
};

/** The last step of an alert that a receiver was sent. */
interface LastNotified {
  readonly alert: Alert;
  readonly step: 'begins' | 'ends';
}

/** The newest step at a location that each of some receivers was sent, dropped events left out; by receiver. */
async function lastNotified(
  rows: Kysely<Database>,
  location_id: string,
  receivers: readonly string[],
): Promise<ReadonlyMap<string, LastNotified>> {
  const found = await rows
    .selectFrom('alerts')
    .innerJoin('messages', 'messages.alert_id', 'alerts.id')
    .selectAll('alerts')
    .select(['messages.receiver_id', 'messages.event'])
    .where('alerts.location_id', '=', location_id)
    .where('messages.receiver_id', 'in', receivers)
    .where('messages.state', '!=', 'dropped')
    .where('messages.redelivered_from', 'is', null)
    .orderBy('alerts.triggered_at')
    .orderBy('alerts.id')
    .execute();
  const last = new Map<string, LastNotified>();
  for (const { receiver_id, event, ...alert } of found) {
    const isEnd = event === earlierEventsOf(alert).ends;
    if (isEnd || last.get(receiver_id)?.alert.id !== alert.id)
      last.set(receiver_id, { alert, step: isEnd ? 'ends' : 'begins' });
  }
  return last;
}
