import { z } from 'zod';
import type { Alert } from '../../schemas/resources/alert.ts';
import {
  CREATE_ALERT_EXAMPLE,
  GET_ALERT_EXAMPLE,
  LIST_ALERTS_EXAMPLE,
  RECENT_ALERTS,
  SUBSCRIPTION_EXAMPLE,
  SUBSCRIPTION_LIMITS,
  type Subscription,
  SubscriptionCreated,
  SubscriptionCreation,
  SubscriptionDeleted,
  SubscriptionDetail,
  Subscription as SubscriptionResource,
  Subscriptions,
  SubscriptionUpdate,
  thresholdOf,
} from '../../schemas/resources/subscription.ts';
import { wholeSeconds } from '../../schemas/time.ts';
import { threatLevel } from '../../schemas/webhook-events.ts';
import {
  createSubscription,
  deleteSubscription,
  recentAlerts,
  SUBSCRIPTIONS,
  type Subscription as SubscriptionRecord,
  updateSubscription,
} from '../alerts/subscriptions.ts';
import { ApiError, found } from '../http/errors.ts';
import { ownRow } from '../records/own-rows.ts';
import { rounded, roundedPosition } from '../rules/rounded.ts';
import { flatPrice, readEndpoint, writeEndpoint } from '../server/endpoint.ts';
import { checkUrl } from '../webhooks/client.ts';
import type { Alert as AlertRecord } from '../webhooks/formats.ts';
import { newSecret } from '../webhooks/signing-secrets.ts';
import { pageQuery, quotaUsedUp, readPage } from './owned.ts';

const READ = { group: 'Alerts', scope: 'alerts:read' } as const;
const WRITE = { ...READ, scope: 'alerts:write' } as const;

const Id = z.object({ id: z.string().meta({ description: 'Id of a subscription.' }) });

const listAlerts = readEndpoint({
  route: 'GET /v1/alerts',
  ...READ,
  summary: 'List alert subscriptions',
  description: 'Alert subscriptions of the business, oldest first, in pages. Secrets are not among them.',
  query: z.object(pageQuery('Subscriptions', 25, 100)),
  reply: Subscriptions,
  example: LIST_ALERTS_EXAMPLE,
  price: flatPrice('alerts.list', 1),
  answer: async (call) => {
    const { page, ...rest } = await readPage(SUBSCRIPTIONS, { business_id: call.caller.business_id }, call);
    return { body: { subscriptions: page.map(resourceOf), ...rest } };
  },
});

export const createAlert = writeEndpoint({
  route: 'POST /v1/alerts/subscribe',
  ...WRITE,
  summary: 'Subscribe to hail in a circle',
  description:
    'Events are sent as signed POST requests when hail of the size or more is detected in the circle, and when none was for half an hour: to the address given here, and to the webhooks of the business. The secret that the former are signed with is shown this once.',
  feature: 'real_time_delivery',
  idempotent: true,
  answers_secret: true,
  body: SubscriptionCreation,
  reply: SubscriptionCreated,
  example: CREATE_ALERT_EXAMPLE,
  price: flatPrice('alerts.subscribe', 2),
  prepare: ({ body, services }) => checkUrl(services.webhookClient, 'webhook_url', body.webhook_url),
  write: async ({ body, caller, services }, writer) => {
    const { min_mesh_mm: _, ...circle } = body;
    const webhook_secret = newSecret();
    const min_size_mm = thresholdOf(body) ?? SUBSCRIPTION_LIMITS.min_size_mm.default;
    const secret = services.cipher.encrypt(webhook_secret);
    const limit = caller.plan.quotas.subscriptions;
    const made = await createSubscription(writer, { ...circle, min_size_mm, secret }, limit);
    if (made === null) throw quotaUsedUp(limit, 'subscriptions');
    return { body: { ...circleOf(made), webhook_secret, status: made.status } };
  },
});

export const getAlert = readEndpoint({
  route: 'GET /v1/alerts/{id}',
  ...READ,
  summary: 'One alert subscription',
  description: 'An alert subscription and its last alerts.',
  params: Id,
  reply: SubscriptionDetail,
  example: GET_ALERT_EXAMPLE,
  price: flatPrice('alerts.get', 1),
  answer: async ({ params, caller: { business_id }, services: { records } }) => {
    const own = found(await ownRow(records.reader, 'subscriptions', { business_id, id: params.id }), 'subscription');
    const alerts = await recentAlerts(records.reader, business_id, own.id, RECENT_ALERTS);
    return { body: { ...resourceOf(own), recent_alerts: alerts.map(alertOf) } };
  },
});

const updateAlert = writeEndpoint({
  route: 'PATCH /v1/alerts/{id}',
  ...WRITE,
  summary: 'Change an alert subscription',
  description:
    'Changes the fields that are sent. An open alert that the subscription would not raise any more is closed, and nobody is told; nothing is raised or kept for a subscription that is paused.',
  params: Id,
  body: SubscriptionUpdate,
  resource: SubscriptionDetail,
  reply: SubscriptionResource,
  example: { body: { min_size_mm: 38, status: 'active' }, reply: { ...SUBSCRIPTION_EXAMPLE, min_size_mm: 38 } },
  price: flatPrice('alerts.update', 2),
  prepare: async ({ params, body, caller, services }) => {
    const own = { business_id: caller.business_id, id: params.id };
    found(await ownRow(services.records.reader, 'subscriptions', own), 'subscription');
    const { name, radius_km, webhook_url, status } = body;
    const change = { name, radius_km, min_size_mm: thresholdOf(body), webhook_url, status };
    if (Object.values(change).every((value) => value === undefined))
      throw new ApiError('bad_request', `body: is without ${Object.keys(change).join(', ')}`);
    if (webhook_url !== undefined) await checkUrl(services.webhookClient, 'webhook_url', webhook_url);
    return change;
  },
  write: async ({ params }, writer, change) => ({
    body: resourceOf(found(await updateSubscription(writer, params.id, change), 'subscription')),
  }),
});

export const deleteAlert = writeEndpoint({
  route: 'DELETE /v1/alerts/{id}',
  ...WRITE,
  summary: 'Delete an alert subscription',
  description: 'Deletes a subscription. What was still to be sent to its address is not.',
  params: Id,
  reply: SubscriptionDeleted,
  example: { reply: { success: true } },
  price: flatPrice('alerts.delete', 1),
  write: async ({ params }, writer) => {
    found(await deleteSubscription(writer, params.id), 'subscription');
    return { body: { success: true as const } };
  },
});

function circleOf({ id, name, lat, lon, radius_km, min_size_mm, webhook_url }: SubscriptionRecord) {
  const reach = { radius_km: rounded(radius_km, 2), min_size_mm: rounded(min_size_mm, 1) };
  return { id, name, ...roundedPosition({ lat, lon }), ...reach, webhook_url };
}

function resourceOf(record: SubscriptionRecord): Subscription {
  const { status, trigger_count, created_at, last_triggered_at } = record;
  return { ...circleOf(record), status, trigger_count, created_at, last_triggered_at: wholeSeconds(last_triggered_at) };
}

function alertOf(record: AlertRecord): Alert {
  const { status, triggered_at, resolved_at, estimated_size_mm, max_size_mm, confidence, lat, lon, track_id } = record;
  return {
    alert_id: record.id,
    status,
    threat_level: status === 'resolved' ? 'CLEAR' : threatLevel(max_size_mm),
    triggered_at: wholeSeconds(triggered_at),
    resolved_at: wholeSeconds(resolved_at),
    estimated_size_mm,
    max_size_mm,
    confidence,
    location: { lat, lon },
    track_id,
  };
}

export const ALERT_ENDPOINTS = [listAlerts, createAlert, getAlert, updateAlert, deleteAlert];
