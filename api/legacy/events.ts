import type { Kysely } from 'kysely';
import type { z } from 'zod';
import { timestamp } from '../../schemas/time.ts';
import {
  type EARLIER_EVENT_DATA,
  EARLIER_EVENT_TYPES,
  type EarlierEventBody,
  type EarlierEventType,
  type EarlierHailData,
} from '../../schemas/webhook-events.ts';
import type { Alert } from '../alerts/alerts.ts';
import type { Database } from '../records/schema.ts';
import { isAnyHail, ownerOf } from '../rules/any-hail.ts';
import type { FailedAttempt } from '../rules/webhook-retry.ts';
import { enqueueEvent } from '../webhooks/events.ts';
import type { EventFormat } from '../webhooks/formats.ts';

const HAIL = {
  subscription_id: 'sub_01KAJ3W9QZ6R8V2T4X5Y7A9B0C',
  storm_id: null,
  mesh_size_mm: 32.5,
  probability: 0.82,
  coordinates: { lat: 35.465, lng: -97.515 },
} as const;

/** An example of `data` for each event type, for tests of receivers. */
export const EARLIER_SAMPLES: { readonly [Type in EarlierEventType]: z.input<(typeof EARLIER_EVENT_DATA)[Type]> } = {
  'hail.detected': HAIL,
  'hail.cleared': { ...HAIL, mesh_size_mm: 44 },
  'alert.created': HAIL,
  'alert.resolved': { ...HAIL, mesh_size_mm: 44 },
  'risk.changed': {
    location_id: 'loc_01KAJ3W9QZ6R8V2T4X5Y7A9B0C',
    previous_score: 41,
    risk_score: 55,
    coordinates: HAIL.coordinates,
  },
};

/** Milliseconds before each retry; there is no other one, and Retry-After has no effect. */
export const EARLIER_WAITS_MS: readonly number[] = [1_000, 30_000, 300_000];

/** Milliseconds until a failed attempt is repeated; null: it is not. `attempt`: 1 for the first. */
export function earlierRetryWait({ attempt }: Pick<FailedAttempt, 'attempt'>, time_scale = 1): number | null {
  const wait_ms = EARLIER_WAITS_MS[attempt - 1];
  return wait_ms === undefined ? null : wait_ms * time_scale;
}

/** Events of the earlier variant. They name no alert, so a receiver gets those of one location one after the other. */
export const EARLIER_FORMAT: EventFormat = {
  name: 'legacy',
  types: EARLIER_EVENT_TYPES,
  samples: EARLIER_SAMPLES,
  encode: (event) => earlierBodyOf({ ...event, event: event.event as EarlierEventType }),
  withId: (body) => body,
  retryWait: earlierRetryWait,
  any_hail: true,
  ordered_by: 'location_id',
  stepsOf: (alert) => {
    if (alert.location_kind !== 'subscription') return [];
    return alert.status === 'open' ? [stepOf(alert, 'begins')] : [stepOf(alert, 'begins'), stepOf(alert, 'ends')];
  },
  enqueueAlert: async (rows, outbox, { alert, step, now_ms, receiversOf }) => {
    if (alert.location_kind !== 'subscription') return;
    const { begins, ends } = eventsOf(alert);
    const begin = (receiver: string, last: LastSent | undefined) => {
      const after = last === undefined ? null : { alert_id: last.alert.id, event: ends };
      return send(alert, 'begins', after, [receiver]);
    };
    const end = (of: Alert, receivers: readonly string[]) =>
      send(of, 'ends', { alert_id: of.id, event: begins }, receivers);
    const send = async (of: Alert, step: Step, after: AfterEvent, receivers: readonly string[]) => {
      const about = { business_id: of.business_id, alert_id: of.id, at_ms: now_ms, receivers, after };
      await enqueueEvent(rows, outbox, { ...about, ...stepOf(of, step) }, earlierBodyOf);
    };
    if (step === 'ends') return await end(alert, receiversOf(ends));
    const receivers = receiversOf(begins);
    if (receivers.length === 0) return;
    const former = await lastSent(rows, alert.location_id, receivers);
    for (const receiver of receivers) {
      const last = former.get(receiver);
      if (last?.step === 'begins' && receiversOf(ends).includes(receiver)) await end(last.alert, [receiver]);
      await begin(receiver, last);
    }
  },
};

type Step = 'begins' | 'ends';
type AfterEvent = { readonly alert_id: string; readonly event: EarlierEventType } | null;

/** Event types for the begin and the end of an alert. */
function eventsOf({ location_id }: Pick<Alert, 'location_id'>): Readonly<Record<Step, EarlierEventType>> {
  return isAnyHail(location_id)
    ? { begins: 'hail.detected', ends: 'hail.cleared' }
    : { begins: 'alert.created', ends: 'alert.resolved' };
}

/**
 * The event of an alert's begin, with the size of the first detection, or of its end, with the largest one. An alert that was
 * closed ended at no time of its own: just after its last hail.
 */
function stepOf(alert: Alert, step: Step) {
  const { location_id, triggered_at, resolved_at, last_seen_at } = alert;
  const ended_ms = resolved_at === null ? Date.parse(last_seen_at) + 1 : Date.parse(resolved_at);
  const data: EarlierHailData = {
    subscription_id: ownerOf(location_id),
    storm_id: alert.track_id,
    mesh_size_mm: step === 'begins' ? alert.estimated_size_mm : alert.max_size_mm,
    probability: alert.confidence,
    coordinates: { lat: alert.lat, lng: alert.lon },
  };
  return { event: eventsOf(alert)[step], data, happened_ms: step === 'begins' ? Date.parse(triggered_at) : ended_ms };
}

/** The bytes of an event; they carry no event id. */
export function earlierBodyOf(happened: {
  readonly event: EarlierEventType;
  readonly at_ms: number;
  readonly data: Readonly<Record<string, unknown>>;
}): string {
  const { event, at_ms, data } = happened;
  return JSON.stringify({ event, timestamp: timestamp(at_ms), data } satisfies EarlierEventBody);
}

/** The last step of an alert that a receiver was sent. */
interface LastSent {
  readonly alert: Alert;
  readonly step: Step;
}

/** The newest step at a location that each of some receivers was sent, dropped events left out; by receiver. */
async function lastSent(
  rows: Kysely<Database>,
  location_id: string,
  receivers: readonly string[],
): Promise<ReadonlyMap<string, LastSent>> {
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
  const last = new Map<string, LastSent>();
  for (const { receiver_id, event, ...alert } of found) {
    const step = event === eventsOf(alert).ends ? 'ends' : 'begins';
    if (step === 'ends' || last.get(receiver_id)?.alert.id !== alert.id) last.set(receiver_id, { alert, step });
  }
  return last;
}
