import { z } from 'zod';
import {
  CAP_SEVERITIES,
  endsWarning,
  MESSAGE_TYPES,
  TORNADO_DETECTIONS,
  WARNING_EVENTS,
  type Warning,
} from '../../schemas/tables/feeds.ts';
import { MS_PER_DAY, timestamp } from '../../schemas/time.ts';
import { METRES_PER_MILE, MS_PER_KNOT } from '../../schemas/units.ts';
import { type CheckedPolygon, checkPolygon, shapeOf } from './polygon.ts';
import {
  firstFault,
  inchesToMm,
  MAX_FUTURE_MS,
  MAX_SIZE_INCH,
  quoted,
  type ReadItems,
  readFeatures,
  readItems,
  thousandths,
} from './rejected-item.ts';

/** A warning lasts an hour, seldom three. */
const LONGEST_MS = MS_PER_DAY;
/** Gusts above 400 mph have never been warned of: they are typing errors. */
const MAX_GUST_MPH = 400;
/** Upper bound on the motion of a storm, knots. */
const MAX_SPEED_KT = 120;

/** Sender of the alerts of the simulator. */
const SIMULATED_SENDER = 'simulated';

const Text = z.string().max(20_000).nullish();
/** An instant in ISO 8601 with its offset from UTC. */
const Instant = z.iso.datetime({ offset: true }).transform((text) => Date.parse(text));
const Alert = z.object({
  geometry: z.unknown(),
  properties: z.object({
    id: z.string().regex(/^\S{1,200}$/),
    event: z.enum(WARNING_EVENTS),
    status: z.string(),
    messageType: z.enum(MESSAGE_TYPES),
    severity: z.enum(CAP_SEVERITIES),
    sender: z.string(),
    senderName: z.string().max(200),
    headline: Text,
    areaDesc: Text,
    sent: Instant,
    expires: Instant,
    ends: Instant.nullish(),
    references: z
      .array(z.object({ identifier: z.string().regex(/^\S{1,200}$/) }))
      .max(200)
      .default([]),
    parameters: z.record(z.string(), z.array(z.unknown())).default({}),
  }),
});
type Alert = z.infer<typeof Alert>;
const Kind = z.object({ properties: z.object({ event: z.string().max(100), status: z.string().max(100) }) });

/**
 * Severe Thunderstorm and Tornado Warnings of an api.weather.gov alert collection, one row per message, in file order.
 *
 * Parameters are lists of text, of which the first counts. Hail comes in inches, gusts in mph, motion in knots and as the
 * direction from which the storm comes; the row has mm, km/h, and the direction towards which it moves. Other events, and
 * messages that are tests or exercises, are counted. A message that ends a warning counts whatever end it states for itself. An alert
 * that cannot be used is rejected; one whose polygon alone is broken
 * is kept without it, and the polygon is rejected, because an update still replaces its predecessor. Throws BadInput for a file that is no feature collection: that is never "no warnings".
 */
export function readAlerts(bytes: Uint8Array, subject: string, received_ms: number): ReadItems<Warning> {
  const features = readFeatures(bytes, subject, 'the geojson of alerts');
  return readItems(features, (feature) => readWarning(feature, received_ms));
}

function readWarning(feature: unknown, received_ms: number) {
  const kind = Kind.safeParse(feature).data?.properties;
  if (kind !== undefined && !(WARNING_EVENTS as readonly string[]).includes(kind.event)) return { other: kind.event };
  if (kind !== undefined && kind.status !== 'Actual') return { other: `${kind.event} (${kind.status})` };
  const parsed = Alert.safeParse(feature);
  if (!parsed.success) return firstFault(parsed.error, 'alert');
  const { geometry, properties } = parsed.data;
  const { sent, parameters } = properties;
  if (sent > received_ms + MAX_FUTURE_MS) return `sent ${timestamp(sent)} lies in the future`;
  const [, mode, vtec_action = null, vtec_event = null] = VTEC.exec(firstText(parameters, 'VTEC')?.trim() ?? '') ?? [];
  if (mode === 'T') return { other: `${properties.event} (Test)` };
  const stated_end = properties.ends ?? eventEnd(parameters, sent) ?? properties.expires;
  const is_timely = Math.abs(stated_end - sent) <= LONGEST_MS;
  if (!is_timely && !endsWarning({ message_type: properties.messageType, vtec_action }))
    return `ends ${timestamp(stated_end)}, expected within a day of ${timestamp(sent)}`;
  const polygon = geometry == null ? null : polygonOf(geometry);
  const checked = typeof polygon === 'string' ? null : polygon;
  const row: Warning = {
    warning_id: properties.id,
    event: properties.event,
    message_type: properties.messageType,
    severity: properties.severity,
    office: properties.senderName,
    headline: properties.headline ?? null,
    areas: properties.areaDesc ?? null,
    issued_at: sent,
    received_at: received_ms,
    expires_at: is_timely ? stated_end : sent,
    tornado_detection: tornadoDetection(parameters),
    hail_size_mm: hailSize(parameters),
    gust_kmh: gustSpeed(parameters),
    ...motionOf(parameters),
    vtec_action,
    vtec_event,
    replaces: properties.references.map(({ identifier }) => identifier).join(' '),
    positions: checked?.positions ?? 0,
    ...shapeOf(checked),
    is_refused_polygon: typeof polygon === 'string',
    data_source: properties.sender === SIMULATED_SENDER ? 'simulated' : 'observed',
  };
  return { row, polygon_faults: typeof polygon === 'string' ? [polygon] : [] };
}

function polygonOf(geometry: unknown): CheckedPolygon | string {
  const shape = z.object({ type: z.literal('Polygon'), coordinates: z.unknown() }).safeParse(geometry);
  return shape.success ? checkPolygon(shape.data.coordinates) : `geometry is ${quoted(geometry)}, expected a polygon`;
}

/** Mode (`T` is a test), action and event of a VTEC line, such as `/O.NEW.KEPZ.SV.W.0044.230913T0212Z-230913T0245Z/`. */
const VTEC = /^\/([OTEX])\.([A-Z]{3})\.([A-Z]{4}\.[A-Z]{2}\.[A-Z]\.\d{4})\./;

type Parameters = Alert['properties']['parameters'];

/** First text of a parameter; null where there is none. */
function firstText(parameters: Parameters, name: string): string | null {
  const [first] = parameters[name] ?? [];
  return typeof first === 'string' ? first.slice(0, 500) : null;
}

/** End of the event where the alert itself has no `ends`; null without the parameter, or when it is not of the time of the alert. */
function eventEnd(parameters: Parameters, sent: number): number | null {
  const end = Instant.safeParse(firstText(parameters, 'eventEndingTime'));
  return end.success && Math.abs(end.data - sent) <= LONGEST_MS ? end.data : null;
}

/** Hail of the tag, such as `1.50` or `Up to .75`, mm; null without a tag or where it makes no sense. */
function hailSize(parameters: Parameters): number | null {
  const pattern = /^(?:up to )?(\d{0,2}(?:\.\d{1,2})?)(?: ?in(?:ch(?:es)?)?)?$/i;
  const inches = amountIn(firstText(parameters, 'maxHailSize'), pattern);
  return inches === null || inches > MAX_SIZE_INCH ? null : inchesToMm(inches);
}

/** Gust of the tag, such as `60 MPH`, km/h. */
function gustSpeed(parameters: Parameters): number | null {
  const mph = amountIn(firstText(parameters, 'maxWindGust'), /^(?:up to )?(\d{1,3}) ?mph$/i);
  return mph === null || mph > MAX_GUST_MPH ? null : thousandths(mph * (METRES_PER_MILE / 1000));
}

function amountIn(text: string | null, pattern: RegExp): number | null {
  const digits = pattern.exec(text?.trim() ?? '')?.[1];
  return digits === undefined || digits === '' ? null : Number(digits);
}

function tornadoDetection(parameters: Parameters): Warning['tornado_detection'] {
  const tag = firstText(parameters, 'tornadoDetection')?.trim().toUpperCase().replaceAll(/\s+/g, '_');
  return TORNADO_DETECTIONS.find((word) => word === tag) ?? null;
}

/** Motion of `…storm...292DEG...28KT...33.23,-107.12`: the tag has the direction from which the storm comes. */
function motionOf(parameters: Parameters): Pick<Warning, 'speed_kmh' | 'direction_deg'> {
  const [, from, knots] =
    /\.\.\.(\d{1,3})DEG\.\.\.(\d{1,3})KT/.exec(firstText(parameters, 'eventMotionDescription') ?? '') ?? [];
  if (from === undefined || Number(from) > 360 || Number(knots) > MAX_SPEED_KT)
    return { speed_kmh: null, direction_deg: null };
  const speed_kmh = thousandths(Number(knots) * MS_PER_KNOT * 3.6);
  return { speed_kmh, direction_deg: speed_kmh === 0 ? null : (Number(from) + 180) % 360 };
}
