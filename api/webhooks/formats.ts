import type { Selectable } from 'kysely';
import { sizeCategory } from '../../schemas/size.ts';
import { instant, timestamp, wholeSeconds } from '../../schemas/time.ts';
import {
  type AlertCreatedData,
  type AlertResolvedData,
  type AnyEventType,
  EARLIER_EVENT_TYPES,
  type EarlierEventBody,
  type EarlierEventType,
  type EarlierHailData,
  EVENT_SCHEMA_VERSION,
  EVENT_TYPES,
  type EventBody,
  type EventType,
  threatLevel,
} from '../../schemas/webhook-events.ts';
import type { Database, ReceiverFormat } from '../records/schema.ts';
import { isAnyHail, ownerOf } from '../rules/episodes.ts';
import { type FailedAttempt, retryWait } from '../rules/webhook-retry.ts';
import { SAMPLES } from './event-samples.ts';

export type Alert = Selectable<Database['alerts']>;

/** The two instants of an alert that have an event. */
export type AlertStep = 'begins' | 'ends';

/** An event before it is encoded. */
export interface PlainEvent {
  /** `evt_…`, another for every receiver. */
  readonly id: string;
  readonly event: AnyEventType;
  /** Epoch milliseconds of the data clock. */
  readonly at_ms: number;
  readonly data: Readonly<Record<string, unknown>>;
}

/** The event of an alert's begin or end. `happened_ms`: epoch milliseconds of the data. */
type AlertEvent = Pick<PlainEvent, 'event' | 'data'> & { readonly happened_ms: number };

/** The events that receivers of one format are sent: their types and bytes, and the rules for retries and alerts. */
export interface EventFormat {
  readonly name: ReceiverFormat;
  /** Types that its receivers may subscribe to. */
  readonly types: readonly AnyEventType[];
  /** An example of `data` for each of its types. */
  readonly samples: Readonly<Partial<Record<AnyEventType, object>>>;
  readonly encode: (event: PlainEvent) => string;
  /** The bytes of an encoded event under another id. */
  readonly withId: (body: string, id: string) => string;
  /** Milliseconds until a failed attempt is repeated; null: it is not. */
  readonly retryWait: (failed: FailedAttempt, time_scale?: number) => number | null;
  /** Null before that step, and for an alert that the format does not report. */
  readonly alertEvent: (alert: Alert, step: AlertStep) => AlertEvent | null;
  /** Alerts with the same value share one order of their events. */
  readonly ordered_by: 'id' | 'location_id';
}

/** Events of the current variant of the interface: each names its alert. */
const CURRENT: EventFormat = {
  name: 'current',
  types: EVENT_TYPES,
  samples: SAMPLES.current,
  encode: ({ id, event, at_ms, data }) =>
    JSON.stringify({
      ...{ id, schema_version: EVENT_SCHEMA_VERSION, event: event as EventType },
      ...{ created_at: instant(at_ms), data },
    } satisfies EventBody),
  withId: (body, id) => JSON.stringify({ ...JSON.parse(body), id }),
  retryWait,
  alertEvent: (alert, step) => {
    const { location_id, triggered_at, resolved_at } = alert;
    if (isAnyHail(location_id)) return null;
    if (step === 'begins')
      return { event: 'alert.created', data: createdData(alert), happened_ms: Date.parse(triggered_at) };
    if (resolved_at === null) return null;
    const data = resolvedData(alert, resolved_at);
    return { event: 'alert.resolved', data, happened_ms: Date.parse(data.threat_cleared_at) };
  },
  ordered_by: 'id',
};

function createdData(alert: Alert): AlertCreatedData {
  const ofSubscription = alert.location_kind === 'subscription';
  return {
    alert_id: alert.id,
    subscription_id: ofSubscription ? alert.location_id : null,
    area_id: ofSubscription ? null : alert.location_id,
    location_id: alert.location_id,
    location_name: alert.location_name,
    threat_level: threatLevel(alert.estimated_size_mm),
    estimated_size_mm: alert.estimated_size_mm,
    size_category: sizeCategory(alert.estimated_size_mm),
    confidence: alert.confidence,
    location: { lat: alert.lat, lon: alert.lon },
    distance_km: alert.distance_km,
    detected_at: wholeSeconds(alert.triggered_at),
    track_id: alert.track_id,
  };
}

function resolvedData(alert: Alert, resolved_at: string): AlertResolvedData {
  return {
    alert_id: alert.id,
    subscription_id: alert.location_kind === 'subscription' ? alert.location_id : null,
    location_id: alert.location_id,
    location_name: alert.location_name,
    threat_level: 'CLEAR',
    threat_cleared_at: wholeSeconds(resolved_at),
    max_size_during_event: alert.max_size_mm,
    duration_seconds: Math.round((Date.parse(resolved_at) - Date.parse(alert.triggered_at)) / 1000),
  };
}

/** Milliseconds before each retry of the earlier format; there is no other one, and Retry-After has no effect. */
export const EARLIER_WAITS_MS: readonly number[] = [1_000, 30_000, 300_000];

/** Events of the earlier variant. They name no alert, so a receiver gets those of one location one after the other. */
const EARLIER: EventFormat = {
  name: 'legacy',
  types: EARLIER_EVENT_TYPES,
  samples: SAMPLES.legacy,
  encode: ({ event, at_ms, data }) =>
    JSON.stringify({ event: event as EarlierEventType, timestamp: timestamp(at_ms), data } satisfies EarlierEventBody),
  withId: (body) => body,
  retryWait: ({ attempt }, time_scale = 1) => {
    const wait_ms = EARLIER_WAITS_MS[attempt - 1];
    return wait_ms === undefined ? null : wait_ms * time_scale;
  },
  alertEvent: (alert, step) => {
    const { location_id, location_kind, status, triggered_at, resolved_at, last_seen_at } = alert;
    if (location_kind !== 'subscription' || (step === 'ends' && status === 'open')) return null;
    const data: EarlierHailData = {
      subscription_id: ownerOf(location_id),
      storm_id: alert.track_id,
      mesh_size_mm: step === 'begins' ? alert.estimated_size_mm : alert.max_size_mm,
      probability: alert.confidence,
      coordinates: { lat: alert.lat, lng: alert.lon },
    };
    const [begin, end] = isAnyHail(location_id)
      ? (['hail.detected', 'hail.cleared'] as const)
      : (['alert.created', 'alert.resolved'] as const);
    if (step === 'begins') return { event: begin, data, happened_ms: Date.parse(triggered_at) };
    // An alert that was closed ended at no time of its own: just after its last hail.
    const happened_ms = resolved_at === null ? Date.parse(last_seen_at) + 1 : Date.parse(resolved_at);
    return { event: end, data, happened_ms };
  },
  ordered_by: 'location_id',
};

/** The event formats: a receiver has that of the variant in which it was made. */
export const FORMATS: Readonly<Record<ReceiverFormat, EventFormat>> = { current: CURRENT, legacy: EARLIER };
