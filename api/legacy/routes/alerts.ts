import { z } from 'zod';
import type { SubscriptionDetail } from '../../../schemas/resources/subscription.ts';
import { instant, timestamp } from '../../../schemas/time.ts';
import { createAlert, deleteAlert, getAlert } from '../../routes/alerts.ts';
import { setReceiverFormat } from '../../webhooks/receivers.ts';
import { earlierRead, earlierWrite, exampleFor } from '../endpoint.ts';
import {
  EarlierSubscription,
  EarlierSubscriptionCancelled,
  EarlierSubscriptionCreated,
  EarlierSubscriptionCreation,
} from '../resources.ts';
import { checkAddress } from './webhooks.ts';

const RADIUS_KM = 25;
const Id = z.object({ id: z.string().meta({ description: 'Id of a subscription.' }) });
const asked = { params: { id: 'sub_01KAJ3W9QZ6R8V2T4X5Y7A9B0C' } };

/** POST /legacy/v1/alerts/subscribe */
export const earlierSubscribe = earlierWrite(createAlert, {
  path: '/v1/alerts/subscribe',
  summary: 'Subscribe to hail around a point',
  description:
    'Events are sent as signed POST requests when hail is detected within 25 km, and when none was for half an hour. The secret that they are signed with is shown this once.',
  body: EarlierSubscriptionCreation,
  reply: EarlierSubscriptionCreated,
  asked: {
    body: {
      location: { lat: 35.4676, lng: -97.5164 },
      threshold_mm: 25,
      webhook_url: 'https://hooks.example.com/hail',
    },
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
  also: ({ rows }, { id }) => setReceiverFormat(rows, id, 'legacy'),
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
export const earlierGetAlert = earlierRead(getAlert, {
  path: '/v1/alerts/{id}',
  summary: 'One alert subscription',
  description: 'An alert subscription and its last alerts.',
  params: Id,
  reply: EarlierSubscription,
  asked,
  toCurrent: ({ params }) => ({ params }),
  fromCurrent: shown,
  simulate: (input) => shown(exampleFor(getAlert, input)),
});

function shown({ id, status, min_size_mm, recent_alerts }: z.infer<typeof SubscriptionDetail>): EarlierSubscription {
  return {
    id,
    status,
    threshold_mm: min_size_mm,
    recent_alerts: recent_alerts.map(({ alert_id, triggered_at, estimated_size_mm, track_id }) => ({
      alert_id,
      triggered_at,
      mesh_size_mm: estimated_size_mm,
      storm_id: track_id,
    })),
  };
}

/** DELETE /legacy/v1/alerts/{id} */
export const earlierDeleteAlert = earlierWrite(deleteAlert, {
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
