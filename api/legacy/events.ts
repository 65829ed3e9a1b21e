import type { Selectable } from 'kysely';
import { timestamp } from '../../schemas/time.ts';
import type { EarlierEventBody, EarlierEventType, EarlierHailData } from '../../schemas/webhook-events.ts';
import type { Database } from '../records/schema.ts';
import { isAnyHail, ownerOf } from '../rules/any-hail.ts';

type Alert = Selectable<Database['alerts']>;

/** Event types for the begin and the end of an alert. */
export function earlierEventsOf({ location_id }: Pick<Alert, 'location_id'>): {
  readonly begins: EarlierEventType;
  readonly ends: EarlierEventType;
} {
  return isAnyHail(location_id)
    ? { begins: 'hail.detected', ends: 'hail.cleared' }
    : { begins: 'alert.created', ends: 'alert.resolved' };
}

/**
 * Time of an alert's begin or end, from which the ids of its events follow: epoch milliseconds of the data. An alert that was
 * closed ended at no time of its own: just after its last hail.
 */
export function earlierHappenedMs(alert: Alert, step: 'begins' | 'ends'): number {
  if (step === 'begins') return Date.parse(alert.triggered_at);
  return alert.resolved_at === null ? Date.parse(alert.last_seen_at) + 1 : Date.parse(alert.resolved_at);
}

/** `data` of an alert's event: the size is that of the first detection at its begin, the largest one at its end. */
export function earlierHailData(alert: Alert, step: 'begins' | 'ends'): EarlierHailData {
  return {
    subscription_id: ownerOf(alert.location_id),
    storm_id: alert.track_id,
    mesh_size_mm: step === 'begins' ? alert.estimated_size_mm : alert.max_size_mm,
    probability: alert.confidence,
    coordinates: { lat: alert.lat, lng: alert.lon },
  };
}

/** The bytes of an event; they carry no event id. */
export function earlierBodyOf({
  event,
  at_ms,
  data,
}: {
  readonly event: EarlierEventType;
  readonly at_ms: number;
  readonly data: Readonly<Record<string, unknown>>;
}): string {
  const body: EarlierEventBody = { event, timestamp: timestamp(at_ms), data };
  return JSON.stringify(body);
}
