import { z } from 'zod';
import { addDays, instant, timestamp, utcDate } from '../../../schemas/time.ts';
import { createAlert, deleteAlert, getAlert } from '../../routes/alerts.ts';
import { rounded } from '../../rules/rounded.ts';
import { setReceiverFormat } from '../../webhooks/formats.ts';
import { earlierRead, earlierWrite } from '../endpoint.ts';
import { EARLIER_ALERT_EXAMPLE, EARLIER_CANCEL_EXAMPLE, EARLIER_SUBSCRIBE_EXAMPLE } from '../examples.ts';
import {
  EarlierSubscription,
  EarlierSubscriptionCancelled,
  EarlierSubscriptionCreated,
  EarlierSubscriptionCreation,
} from '../resources.ts';
import { between, checkAddress, drawsFrom, simulatedId, simulatedSecret, whole } from '../simulated-data.ts';

const RADIUS_KM = 25;
const ONE = '/alerts/{id}';

const Id = z.object({ id: z.string().meta({ description: 'Id of a subscription.' }) });

/** POST /legacy/v1/alerts/subscribe */
export const earlierSubscribe = earlierWrite(createAlert, {
  path: '/alerts/subscribe',
  summary: 'Subscribe to hail around a point',
  description:
    'Events are sent as signed POST requests when hail is detected within 25 km, and when none was for half an hour. The secret that they are signed with is shown this once.',
  params: null,
  query: null,
  body: EarlierSubscriptionCreation,
  data: EarlierSubscriptionCreated,
  example: EARLIER_SUBSCRIBE_EXAMPLE,
  toCurrent: ({ body: { location, threshold_mm, webhook_url } }) => ({
    params: null,
    query: null,
    body: {
      lat: location.lat,
      lon: location.lng,
      radius_km: RADIUS_KM,
      min_size_mm: threshold_mm,
      webhook_url,
      name: '',
    },
  }),
  also: ({ rows }, { id }) => setReceiverFormat(rows, id, 'earlier'),
  fromCurrent: ({ id, status, lat, lon, min_size_mm, webhook_url, webhook_secret }, { now_ms }) => ({
    id,
    status,
    location: { lat, lng: lon },
    threshold_mm: min_size_mm,
    webhook_url,
    webhook_secret,
    created_at: instant(now_ms),
  }),
  simulate: ({ body: { location, threshold_mm, webhook_url }, now_ms }) => {
    checkAddress('/webhook_url', webhook_url);
    const day = utcDate(now_ms);
    const place = { lat: rounded(location.lat, 5), lng: rounded(location.lng, 5) };
    const words = [place.lat, place.lng, day, threshold_mm, webhook_url] as const;
    return {
      id: simulatedId('subscription', ...words),
      status: 'active' as const,
      location: place,
      threshold_mm: rounded(threshold_mm, 1),
      webhook_url,
      webhook_secret: simulatedSecret(...words),
      created_at: `${day}T00:00:00Z`,
    };
  },
});

/** GET /legacy/v1/alerts/{id} */
export const earlierGetAlert = earlierRead(getAlert, {
  path: ONE,
  summary: 'One alert subscription',
  description: 'An alert subscription and its last alerts.',
  params: Id,
  query: null,
  body: null,
  data: EarlierSubscription,
  example: EARLIER_ALERT_EXAMPLE,
  toCurrent: ({ params }) => ({ params, query: null, body: null }),
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
  simulate: ({ params: { id }, now_ms }) => {
    const day = utcDate(now_ms);
    const draw = drawsFrom('alerts', id, day);
    return {
      id,
      status: 'active' as const,
      threshold_mm: 25,
      recent_alerts: Array.from({ length: whole(draw, 0, 2) }, (_, k) => ({
        alert_id: simulatedId('alert', id, day, k),
        triggered_at: `${addDays(day, -1 - k)}T20:00:00Z`,
        mesh_size_mm: between(draw, 25, 60, 1),
        storm_id: null,
      })),
    };
  },
});

/** DELETE /legacy/v1/alerts/{id} */
export const earlierDeleteAlert = earlierWrite(deleteAlert, {
  path: ONE,
  summary: 'Cancel an alert subscription',
  description: 'Deletes a subscription. What was still to be sent to its address is not.',
  params: Id,
  query: null,
  body: null,
  data: EarlierSubscriptionCancelled,
  example: EARLIER_CANCEL_EXAMPLE,
  toCurrent: ({ params }) => ({ params, query: null, body: null }),
  fromCurrent: (_, { params: { id }, now_ms }) => ({
    id,
    status: 'cancelled' as const,
    cancelled_at: timestamp(now_ms),
  }),
  simulate: ({ params: { id }, now_ms }) => ({
    id,
    status: 'cancelled' as const,
    cancelled_at: `${utcDate(now_ms)}T00:00:00Z`,
  }),
});
