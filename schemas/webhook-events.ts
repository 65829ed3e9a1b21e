import { z } from 'zod';
import { ASSUMPTIONS } from './assumptions.ts';
import { SIZE_CATEGORIES } from './size.ts';

/** Threat levels of an alert by hail size: inclusive lower bounds in mm, smallest first. */
const THREAT_BANDS = [
  { level: 'LOW', from_mm: 0 },
  { level: 'MODERATE', from_mm: 25 },
  { level: 'HIGH', from_mm: 38 },
  { level: 'EXTREME', from_mm: 63 },
] as const;

/** `CLEAR`: the alert is over. */
export const THREAT_LEVELS = ['CLEAR', 'LOW', 'MODERATE', 'HIGH', 'EXTREME'] as const;
type ThreatLevel = (typeof THREAT_LEVELS)[number];

/** Level of hail of a size; thresholds of subscriptions may lie below the 19 mm at which the interface begins `LOW`. */
export function threatLevel(size_mm: number): Exclude<ThreatLevel, 'CLEAR'> {
  return THREAT_BANDS.findLast(({ from_mm }) => size_mm >= from_mm)?.level ?? 'LOW';
}

/** Every type that a webhook may subscribe to, and when it is sent. */
export const EVENTS = {
  'alert.created': 'hail that a subscription or an area asks for has been detected',
  'alert.updated': 'reserved: accepted, never sent',
  'alert.resolved': 'the threat has cleared',
  'portfolio.impact_summary': 'reserved: accepted, never sent',
  'webhook.disabled': 'another webhook of the business was disabled after failures in a row',
} as const;
export type EventType = keyof typeof EVENTS;
export const EVENT_TYPES = Object.keys(EVENTS) as [EventType, ...EventType[]];

/** A breaking change of a payload raises it; new fields do not. */
export const EVENT_SCHEMA_VERSION = 1;

const text = (description: string) => z.string().meta({ description });
const number = (description: string, unit: string) => z.number().meta({ description, unit });
const time = (description: string) =>
  z.string().meta({ description: `${description} ISO 8601 UTC.`, format: 'date-time' });

export const AlertCreatedData = z.object({
  alert_id: text('Names the alert: `alert.resolved` carries the same.'),
  subscription_id: text('Subscription that asks; null for an area.').nullable(),
  area_id: text('Area that asks; null for a subscription.').nullable(),
  location_id: text('Subscription or area.'),
  location_name: text('Its name; empty when it has none.'),
  threat_level: z.enum(THREAT_LEVELS).meta({ description: 'By the size.' }),
  estimated_size_mm: number('Size of the detection that raised the alert.', 'mm'),
  size_category: z.enum(SIZE_CATEGORIES).nullable().meta({ description: 'Name of that size; null below 19 mm.' }),
  confidence: number(`How sure the detection is. ${ASSUMPTIONS.confidence}`, '1'),
  location: z
    .object({ lat: number('Latitude.', 'deg'), lon: number('Longitude.', 'deg') })
    .meta({ description: 'Where the detection lies.' }),
  distance_km: number('From the centre of the subscription or area.', 'km'),
  detected_at: time('Observation time of the scan.'),
  track_id: text('Storm cell that it belongs to; null when there is none.').nullable(),
});
export type AlertCreatedData = z.infer<typeof AlertCreatedData>;

const AlertUpdatedData = AlertCreatedData.extend({
  previous_size_mm: number('Size that was told before.', 'mm'),
});

export const AlertResolvedData = z.object({
  alert_id: text('The alert that is over.'),
  subscription_id: text('Subscription that asked; null for an area.').nullable(),
  location_id: text('Subscription or area.'),
  location_name: text('Its name; empty when it has none.'),
  threat_level: z.literal('CLEAR'),
  threat_cleared_at: time('Half an hour after the last detection.'),
  max_size_during_event: number('Largest size while the alert was open.', 'mm'),
  duration_seconds: z.int().meta({ description: 'From the first detection until it cleared.', unit: 's' }),
});
export type AlertResolvedData = z.infer<typeof AlertResolvedData>;

const ImpactSummaryData = z.object({
  date: z.string().meta({ description: 'Storm date.', format: 'date' }),
  radius_mi: number('How near counts as hit.', 'mi'),
  assets_checked: z.int(),
  impacted_count: z.int(),
  top_impacts: z.array(z.record(z.string(), z.unknown())),
});

export const WebhookDisabledData = z.object({
  webhook_id: text('The webhook that was disabled.'),
  url: text('Its address, without its query.'),
  reason: z.literal('consecutive_failures'),
  consecutive_failures: z.int().meta({ description: 'Distinct events in a row that failed.', unit: '1' }),
  disabled_at: time('When it was.'),
  last_status_code: z.int().nullable().meta({ description: 'Status of its last answer; null when there was none.' }),
  last_error: text('Class of the last failure: dns, connect, tls, timeout, http_status.').nullable(),
});
export type WebhookDisabledData = z.infer<typeof WebhookDisabledData>;

/** Payload of each type, its `data`. */
export const EVENT_DATA = {
  'alert.created': AlertCreatedData,
  'alert.updated': AlertUpdatedData,
  'alert.resolved': AlertResolvedData,
  'portfolio.impact_summary': ImpactSummaryData,
  'webhook.disabled': WebhookDisabledData,
} as const satisfies Record<EventType, z.ZodType>;

/** The body of a webhook message. */
export const EventBody = z.object({
  id: text('`evt_` and a ULID: the same with every attempt, another for every receiver.'),
  schema_version: z.literal(EVENT_SCHEMA_VERSION),
  event: z.enum(EVENT_TYPES),
  created_at: time('When the event was made.'),
  data: z.record(z.string(), z.unknown()),
});
export type EventBody = z.infer<typeof EventBody>;

/** Every type that a webhook of the earlier variant may subscribe to, and when it is sent. */
export const EARLIER_EVENTS = {
  'hail.detected': 'hail of 19 mm or more in the circle of a subscription',
  'hail.cleared': 'that hail is over',
  'alert.created': 'hail of the threshold of a subscription or more in its circle',
  'alert.resolved': 'that hail is over',
  'risk.changed': 'the risk score of a saved location or a subscription changed by more than 10 points',
} as const;
export type EarlierEventType = keyof typeof EARLIER_EVENTS;
export const EARLIER_EVENT_TYPES = Object.keys(EARLIER_EVENTS) as [EarlierEventType, ...EarlierEventType[]];

/** A type of either variant. */
export type AnyEventType = EventType | EarlierEventType;
export const ANY_EVENT_TYPES = [...new Set<AnyEventType>([...EVENT_TYPES, ...EARLIER_EVENT_TYPES])] as [
  AnyEventType,
  ...AnyEventType[],
];

const coordinates = z
  .object({ lat: number('Latitude.', 'deg'), lng: number('Longitude.', 'deg') })
  .meta({ description: 'Where the hail was detected.' });

/** Payload of the hail and alert events of the earlier variant. */
export const EarlierHailData = z.object({
  subscription_id: text('Subscription in whose circle it is.'),
  storm_id: text('Storm cell that the hail belongs to; null when there is none.').nullable(),
  mesh_size_mm: number('Size of the detection; of what is over, the largest.', 'mm'),
  probability: number(`How sure the detection is. ${ASSUMPTIONS.confidence}`, '1'),
  coordinates,
});
export type EarlierHailData = z.infer<typeof EarlierHailData>;

/** Payload of `risk.changed`: it names the subscription or the saved location, and no hail. */
export const EarlierRiskData = z.object({
  subscription_id: text('The subscription; null for a saved location.').nullable(),
  location_id: text('The saved location; null for a subscription.').nullable(),
  previous_score: number('Score that was told before, 0..100.', '1'),
  risk_score: number('Score now, 0..100.', '1'),
  storm_id: z.null(),
  mesh_size_mm: z.null(),
  probability: z.null(),
  coordinates: coordinates.meta({ description: 'The place.' }),
});
export type EarlierRiskData = z.infer<typeof EarlierRiskData>;

/** Payload of each type of the earlier variant, its `data`. */
export const EARLIER_EVENT_DATA = {
  'hail.detected': EarlierHailData,
  'hail.cleared': EarlierHailData,
  'alert.created': EarlierHailData,
  'alert.resolved': EarlierHailData,
  'risk.changed': EarlierRiskData,
} as const satisfies Record<EarlierEventType, z.ZodType>;

/** The body of a webhook message in the earlier variant. */
export const EarlierEventBody = z.object({
  event: z.enum(EARLIER_EVENT_TYPES),
  timestamp: time('When the event was made.'),
  data: z.record(z.string(), z.unknown()),
});
export type EarlierEventBody = z.infer<typeof EarlierEventBody>;

/** A message in either format; the earlier one has its id in the header alone. */
export const AnyEventBody = z.union([EventBody, EarlierEventBody]);
