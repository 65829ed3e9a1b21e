import { z } from 'zod';
import * as wire from '../../../schemas/resources/fields.ts';
import { SUBSCRIPTION_LIMITS } from '../../../schemas/resources/subscription.ts';
import { WebhookCreated, WebhookCreation, WebhookUpdate, WebhookUpdated } from '../../../schemas/resources/webhook.ts';
import { instant, timestamp } from '../../../schemas/time.ts';
import { type AnyEventType, EARLIER_EVENT_TYPES, type EventType } from '../../../schemas/webhook-events.ts';
import { ApiError } from '../../http/errors.ts';
import { createAlert, deleteAlert, getAlert } from '../../routes/alerts.ts';
import {
  createWebhook,
  deleteWebhook,
  getWebhook,
  listAttempts,
  listWebhooks,
  redeliver,
  sentFields,
  testWebhook,
  updateWebhook,
} from '../../routes/webhooks.ts';
import type { Endpoint } from '../../server/endpoint.ts';
import { parseReceiverUrl } from '../../webhooks/public-address.ts';
import { setReceiverFormat } from '../../webhooks/receivers.ts';
import { earlier, earlierOf, exampleFor } from '../endpoint.ts';
import { EarlierPosition } from '../resources.ts';

const EXAMPLE_URL = 'https://hooks.example.com/hail';

const eventTypes = z.array(z.enum(EARLIER_EVENT_TYPES));

/** A subset of the event types of the earlier variant, each once. */
const wantedEvents = eventTypes
  .min(1)
  .transform((types) => EARLIER_EVENT_TYPES.filter((type) => types.includes(type)))
  .meta({ description: 'Event types to send; every type when left out.' });

const EarlierWebhookCreation = WebhookCreation.extend({ events: wantedEvents.nullish() });
const EarlierWebhookUpdate = WebhookUpdate.extend({ events: wantedEvents.optional() });
const EarlierWebhookCreated = WebhookCreated.extend({
  events: eventTypes.meta({ description: 'Event types that are sent.' }),
});

const EarlierWebhookTest = z.object({
  event: z.enum(EARLIER_EVENT_TYPES).nullish().meta({ description: 'Type to send; `alert.created` when left out.' }),
});

/** Types of the earlier format as the current endpoints take them: these check types against the format of the webhook. */
function asCurrent(types: readonly AnyEventType[]): EventType[] {
  return types as EventType[];
}

/** POST /legacy/v1/webhooks */
const createEarlierWebhook = earlierOf(createWebhook, {
  path: '/v1/webhooks',
  body: EarlierWebhookCreation,
  reply: EarlierWebhookCreated,
  asked: { body: { url: EXAMPLE_URL, events: ['hail.detected', 'hail.cleared'] } },
  toCurrent: ({ body: { url, events } }) => ({ body: { url, events: asCurrent(events ?? EARLIER_EVENT_TYPES) } }),
  also: (rows, { webhook_id }) => setReceiverFormat(rows, webhook_id, 'legacy'),
  fromCurrent: (made, { body }) => ({ ...made, events: [...(body.events ?? EARLIER_EVENT_TYPES)] }),
  check: ({ url }) => checkAddress('/url', url),
});

/** PUT /legacy/v1/webhooks/{id} */
const updateEarlierWebhook = earlierOf(updateWebhook, {
  path: '/v1/webhooks/{id}',
  params: z.object({ id: z.string().meta({ description: 'Id of a webhook.' }) }),
  body: EarlierWebhookUpdate,
  reply: WebhookUpdated,
  asked: { body: { status: 'paused' } },
  toCurrent: ({ params, body: { events, ...rest } }) => ({
    params,
    body: { ...rest, ...(events === undefined ? {} : { events: asCurrent(events) }) },
  }),
  fromCurrent: (_, { body }) => ({ success: true as const, updated: sentFields(body) }),
  check: ({ url }) => url === undefined || checkAddress('/url', url),
});

/** The same answers in an envelope; simulated ones are the example. */
const same = (endpoint: Endpoint) => earlier({ ...endpoint, simulate: (input) => exampleFor(endpoint, input) });

/** Webhooks of the earlier variant, in the order of its documentation. */
export const EARLIER_WEBHOOKS: readonly Endpoint[] = [
  createEarlierWebhook,
  same(listWebhooks),
  same(getWebhook),
  updateEarlierWebhook,
  same(deleteWebhook),
  same({ ...testWebhook, body: EarlierWebhookTest.optional() }),
  same(listAttempts),
  same(redeliver),
];

/** Throws `bad_request` for a receiver's address that is refused on any machine; does not resolve its name. */
function checkAddress(pointer: string, url: string): void {
  const receiver = parseReceiverUrl(url);
  if (typeof receiver === 'string') throw new ApiError('bad_request', `${pointer}: ${receiver}`);
}

const RADIUS_KM = 25;
const Id = z.object({ id: z.string().meta({ description: 'Id of a subscription.' }) });
const asked = { params: { id: 'sub_01KAJ3W9QZ6R8V2T4X5Y7A9B0C' } };

const subscriptionId = z.string().meta({ description: 'Identifier, `sub_` and a ULID.' });
const threshold = wire.mm('Size from which hail counts.');
const status = z.enum(['active', 'paused']);

const EarlierSubscriptionCreation = z.object({
  location: z.object({
    lat: wire.bodyLat('Latitude of the centre, WGS84.'),
    lng: wire.bodyLon('Longitude of the centre, WGS84.'),
  }),
  threshold_mm: z
    .number()
    .min(SUBSCRIPTION_LIMITS.min_size_mm.min)
    .max(SUBSCRIPTION_LIMITS.min_size_mm.max)
    .meta({ description: 'Size from which hail within 25 km counts, mm.', unit: 'mm' }),
  webhook_url: z.string().meta({ description: 'Where events are sent, https, of a public host.' }),
});

const EarlierSubscriptionCreated = wire.resource('EarlierSubscriptionCreated', {
  id: subscriptionId,
  status,
  location: EarlierPosition,
  threshold_mm: threshold,
  webhook_url: z.string().meta({ description: 'Where events are sent, https.' }),
  webhook_secret: z.string().meta({ description: '`whsec_` and base64 of 32 bytes. Shown this once.' }),
  created_at: wire.written('When it was made.'),
});

const EarlierSubscription = wire.resource('EarlierSubscription', {
  id: subscriptionId,
  status,
  threshold_mm: threshold,
  recent_alerts: z
    .array(
      z.object({
        alert_id: z.string().meta({ description: 'Identifier, `alt_` and a ULID.' }),
        triggered_at: wire.time('First detection.'),
        mesh_size_mm: wire.mm('Size of the detection that raised it.'),
        storm_id: z.string().nullable().meta({ description: 'Storm that raised it; null where none was tracked.' }),
      }),
    )
    .meta({ description: 'The last 20 alerts, newest first.' }),
});

const EarlierSubscriptionCancelled = wire.resource('EarlierSubscriptionCancelled', {
  id: subscriptionId,
  status: z.literal('cancelled'),
  cancelled_at: wire.time('When it was.'),
});

/** POST /legacy/v1/alerts/subscribe */
export const earlierSubscribe = earlierOf(createAlert, {
  path: '/v1/alerts/subscribe',
  summary: 'Subscribe to hail around a point',
  description:
    'Events are sent as signed POST requests when hail is detected within 25 km, and when none was for half an hour. The secret that they are signed with is shown this once.',
  body: EarlierSubscriptionCreation,
  reply: EarlierSubscriptionCreated,
  asked: {
    body: { location: { lat: 35.4676, lng: -97.5164 }, threshold_mm: 25, webhook_url: EXAMPLE_URL },
  },
  toCurrent: ({ body: { location, threshold_mm, webhook_url } }) => ({
    body: {
      lat: location.lat,
      lon: location.lng,
      radius_km: RADIUS_KM,
      min_size_mm: threshold_mm,
      webhook_url,
      name: '',
    },
  }),
  also: (rows, { id }) => setReceiverFormat(rows, id, 'legacy'),
  fromCurrent: ({ id, status, lat, lon, min_size_mm, webhook_url, webhook_secret }, { now_ms }) => ({
    id,
    status,
    location: { lat, lng: lon },
    threshold_mm: min_size_mm,
    webhook_url,
    webhook_secret,
    created_at: instant(now_ms),
  }),
  check: ({ webhook_url }) => checkAddress('/webhook_url', webhook_url),
});

/** GET /legacy/v1/alerts/{id} */
export const earlierGetAlert = earlierOf(getAlert, {
  path: '/v1/alerts/{id}',
  summary: 'One alert subscription',
  description: 'An alert subscription and its last alerts.',
  params: Id,
  reply: EarlierSubscription,
  asked,
  toCurrent: ({ params }) => ({ params }),
  fromCurrent: ({ id, status, min_size_mm, recent_alerts }) => ({
    id,
    status,
    threshold_mm: min_size_mm,
    recent_alerts: recent_alerts.map(({ alert_id, triggered_at, estimated_size_mm, track_id }) => ({
      alert_id,
      triggered_at,
      mesh_size_mm: estimated_size_mm,
      storm_id: track_id,
    })),
  }),
});

/** DELETE /legacy/v1/alerts/{id} */
export const earlierDeleteAlert = earlierOf(deleteAlert, {
  path: '/v1/alerts/{id}',
  summary: 'Cancel an alert subscription',
  description: 'Deletes a subscription. What was still to be sent to its address is not.',
  params: Id,
  reply: EarlierSubscriptionCancelled,
  asked,
  toCurrent: ({ params }) => ({ params }),
  fromCurrent: (_, { params: { id }, now_ms }) => ({
    id,
    status: 'cancelled' as const,
    cancelled_at: timestamp(now_ms),
  }),
});
