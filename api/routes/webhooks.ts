import type { Kysely } from 'kysely';
import { z } from 'zod';
import { newId } from '../../schemas/ids.ts';
import {
  CREATE_WEBHOOK_EXAMPLE,
  DELIVERIES_EXAMPLE,
  Deliveries,
  type Delivery,
  REDELIVER_EXAMPLE,
  Redelivered,
  TEST_WEBHOOK_EXAMPLE,
  WEBHOOK_EXAMPLE,
  Webhook,
  WebhookCreated,
  WebhookCreation,
  WebhookDeleted,
  Webhooks,
  WebhookTest,
  WebhookTested,
  WebhookUpdate,
  WebhookUpdated,
} from '../../schemas/resources/webhook.ts';
import { instant, wholeSeconds } from '../../schemas/time.ts';
import { type AnyEventType, EVENT_TYPES } from '../../schemas/webhook-events.ts';
import { MAIL_TASK } from '../accounts/mail.ts';
import { ApiError, found } from '../http/errors.ts';
import type { Cipher } from '../records/cipher.ts';
import { ownRow } from '../records/own-rows.ts';
import type { Database } from '../records/schema.ts';
import { isDelivered } from '../rules/webhook-retry.ts';
import { flatPrice, type HandlerInput, readEndpoint, writeEndpoint } from '../server/endpoint.ts';
import type { Services } from '../services.ts';
import {
  ATTEMPTS_KEPT,
  type Attempt,
  attemptId,
  attemptsOf,
  findAttempt,
  publicError,
  recordAttempt,
} from '../webhooks/attempts.ts';
import { checkUrl, postSigned } from '../webhooks/client.ts';
import { type EventFormat, FORMATS } from '../webhooks/formats.ts';
import { findMessage, insertRedelivery, MESSAGE_TASK } from '../webhooks/messages.ts';
import {
  changeWebhook,
  insertWebhook,
  removeWebhook,
  selectWebhooks,
  type Webhook as WebhookRecord,
} from '../webhooks/receivers.ts';
import { maskedSecret, secretsInForce } from '../webhooks/signing-secrets.ts';
import { pageQuery, quotaUsedUp, readPage } from './owned.ts';

const READ = { group: 'Webhooks', scope: 'webhooks:read' } as const;
const WRITE = { ...READ, scope: 'webhooks:write' } as const;

const Id = z.object({ id: z.string().meta({ description: 'Id of a webhook.' }) });

export const createWebhook = writeEndpoint({
  route: 'POST /v1/webhooks',
  ...WRITE,
  summary: 'Make a webhook',
  description:
    'An address that events are sent to as signed POST requests. The secret that they are signed with is shown this once.',
  feature: 'real_time_delivery',
  idempotent: true,
  answers_secret: true,
  body: WebhookCreation,
  reply: WebhookCreated,
  example: CREATE_WEBHOOK_EXAMPLE,
  price: flatPrice('webhooks.create', 2),
  prepare: ({ body, services }) => checkUrl(services.webhookClient, 'url', body.url),
  write: async ({ body, caller, services }, writer) => {
    const limit = caller.plan.quotas.webhooks;
    const wanted = { url: body.url, events: body.events ?? EVENT_TYPES };
    const made = await insertWebhook(writer, services.cipher, wanted, limit);
    if (made === null) throw quotaUsedUp(limit, 'webhooks');
    const { id, url, status } = made.webhook;
    return { body: { webhook_id: id, secret: made.secret, url, events: wanted.events, status } };
  },
});

export const listWebhooks = readEndpoint({
  route: 'GET /v1/webhooks',
  ...READ,
  summary: 'List webhooks',
  description: 'Every webhook of the business, oldest first.',
  reply: Webhooks,
  example: { reply: { webhooks: [WEBHOOK_EXAMPLE], count: 1 } },
  price: flatPrice('webhooks.list', 1),
  answer: async ({ caller, services: { records, cipher } }) => {
    const webhooks = await selectWebhooks(records.reader, caller.business_id);
    return { body: { webhooks: webhooks.map((each) => webhookResource(each, cipher)), count: webhooks.length } };
  },
});

export const getWebhook = readEndpoint({
  route: 'GET /v1/webhooks/{id}',
  ...READ,
  summary: 'One webhook',
  description: 'A webhook as the list shows it.',
  params: Id,
  reply: Webhook,
  example: { reply: WEBHOOK_EXAMPLE },
  price: flatPrice('webhooks.get', 1),
  answer: async (call) => ({ body: webhookResource(await ownWebhook(call), call.services.cipher) }),
});

export const updateWebhook = writeEndpoint({
  route: 'PUT /v1/webhooks/{id}',
  ...WRITE,
  summary: 'Change a webhook',
  description:
    'Changes what is sent. Setting the status to active resets the count of failures in a row; pausing drops what is being retried, and nothing is sent to a webhook that is not active.',
  params: Id,
  body: WebhookUpdate,
  resource: Webhook,
  reply: WebhookUpdated,
  example: { body: { status: 'paused' }, reply: { success: true, updated: ['status'] } },
  price: flatPrice('webhooks.update', 2),
  prepare: async (call) => {
    const { url, events } = call.body;
    const webhook = await ownWebhook(call);
    if (events !== undefined) checkEventTypes(webhook, events);
    const updated = sentFields(call.body);
    if (url !== undefined) await checkUrl(call.services.webhookClient, 'url', url);
    return updated;
  },
  write: async ({ params, body }, writer, updated) => {
    found(await changeWebhook(writer, params.id, body), 'webhook');
    return { body: { success: true as const, updated } };
  },
});

export const deleteWebhook = writeEndpoint({
  route: 'DELETE /v1/webhooks/{id}',
  ...WRITE,
  summary: 'Delete a webhook',
  description: 'Deletes a webhook and its delivery history. What was still to be sent to it is not.',
  params: Id,
  reply: WebhookDeleted,
  example: { reply: { success: true } },
  price: flatPrice('webhooks.delete', 1),
  write: async ({ params }, writer) => {
    found(await removeWebhook(writer, params.id), 'webhook');
    return { body: { success: true as const } };
  },
});

export const testWebhook = readEndpoint({
  route: 'POST /v1/webhooks/{id}/test',
  ...WRITE,
  summary: 'Send a test event',
  description:
    'Sends a made-up event, signed like any other, with `"test": true` in its data, and answers what became of it. It is not retried, not part of the history, and counts nowhere. Paused and disabled webhooks take it too.',
  params: Id,
  body: WebhookTest.optional(),
  reply: WebhookTested,
  example: TEST_WEBHOOK_EXAMPLE,
  price: flatPrice('webhooks.test', 3),
  answer: async (call) => {
    const { now_ms, services } = call;
    const webhook = await ownWebhook(call);
    const event = call.body?.event ?? 'alert.created';
    const id = newId('event', now_ms);
    const message = { id, event, body: sampleOf(FORMATS[webhook.format], event, id, now_ms) };
    const { status_code, error_class } = await post(webhook, services, message);
    const delivery_id = attemptId(id, 1, now_ms);
    if (status_code !== null) return { body: { success: isDelivered(status_code), status_code, delivery_id } };
    const error = 'webhook_unreachable' as const;
    const reason = `the address could not be reached: ${publicError(error_class)}`;
    return { body: { success: false, status_code, delivery_id, error, message: reason } };
  },
});

export const listAttempts = readEndpoint({
  route: 'GET /v1/webhooks/{id}/deliveries',
  ...READ,
  summary: 'Delivery history',
  description: 'The last 100 attempts, newest first, failures and notices of disabled webhooks among them; no tests.',
  params: Id,
  query: z.object(pageQuery('Deliveries', 25, 100)),
  reply: Deliveries,
  example: DELIVERIES_EXAMPLE,
  price: flatPrice('webhooks.deliveries', 1),
  answer: async (call) => {
    const { id } = await ownWebhook(call);
    const { page, ...rest } = await readPage(attemptsOf(id), { receiver_id: id }, call);
    return { body: { deliveries: page.map(deliveryResource), ...rest } };
  },
});

export const redeliver = writeEndpoint({
  route: 'POST /v1/webhooks/{id}/deliveries/{deliveryId}/redeliver',
  ...WRITE,
  summary: 'Send a delivery again',
  idempotent: true,
  refusals: ['webhook_not_active'],
  description:
    'Sends the event of a past delivery once more, under a new event id, and answers what became of it. It is recorded and counts like an event of its own, but is not retried. Takes the id of a delivery or of an event.',
  params: Id.extend({ deliveryId: z.string().meta({ description: 'Id of a delivery, or of an event.' }) }),
  reply: Redelivered,
  example: REDELIVER_EXAMPLE,
  price: flatPrice('webhooks.redeliver', 3),
  prepare: async (call) => {
    const { params, now_ms, services } = call;
    const { reader } = services.records;
    const webhook = await ownWebhook(call);
    const source = await findAttempt(reader, webhook.id, params.deliveryId);
    const message = source === null ? null : await findMessage(reader, source.event_id);
    if (source === null || message === null) throw await unknownDelivery(reader, webhook.id, params.deliveryId);
    const isNot = `the webhook is ${webhook.status}, expected active`;
    if (webhook.status !== 'active') throw new ApiError('webhook_not_active', isNot, {}, { may_change: true });
    const id = newId('event', now_ms);
    const body = FORMATS[webhook.format].withId(message.body, id);
    const result = await post(webhook, services, { id, event: message.event, body });
    return { message, copy: { id, body, redelivered_from: source.id, created_at: instant(result.started_ms) }, result };
  },
  write: async ({ services }, { rows, now_ms }, { message, copy, result }) => {
    const { queue, records, webhook_time_scale: time_scale } = services;
    await insertRedelivery(rows, message, copy);
    const settings = { queue, store: records.store, time_scale, now_ms };
    const ended = { message_id: copy.id, receiver_id: message.receiver_id, attempt: 1, ...result };
    const { id, success, status_code } = found(await recordAttempt(rows, settings, ended), 'webhook');
    const { redelivered_from } = copy;
    return { body: { success: success === 1, status_code, delivery_id: id, redelivered_from } };
  },
  committed: ({ queue }) => {
    queue.wake(MESSAGE_TASK);
    queue.wake(MAIL_TASK);
  },
});

/** A made-up event of a type, marked as a test. Throws `bad_request` for a type that the format does not have. */
function sampleOf({ types, samples, encode }: EventFormat, event: AnyEventType, id: string, at_ms: number): string {
  if (!types.includes(event)) throw new ApiError('bad_request', `/event is '${event}', expected ${types.join(', ')}`);
  return encode({ id, event, at_ms, data: { ...samples[event], test: true } });
}

/** Fields of an update in the body. Throws `bad_request` when there are none. */
export function sentFields(body: { readonly url?: unknown; readonly events?: unknown; readonly status?: unknown }) {
  const sent = (['url', 'events', 'status'] as const).filter((name) => body[name] !== undefined);
  if (sent.length === 0) throw new ApiError('bad_request', 'body: is without url, events and status');
  return sent;
}

/** Throws `bad_request` for event types that the format of a webhook does not have. */
function checkEventTypes({ format }: WebhookRecord, events: readonly AnyEventType[]): void {
  const { types } = FORMATS[format];
  const foreign = events.filter((event) => !types.includes(event));
  if (foreign.length === 0) return;
  const variant = `${format === 'legacy' ? 'earlier' : format} variant`;
  const are = `${foreign.join(', ')} ${foreign.length === 1 ? 'is' : 'are'}`;
  throw new ApiError('bad_request', `/events: ${are} not told to a webhook that was made in the ${variant}`);
}

/** The webhook that a call names. Throws `not_found`. */
async function ownWebhook({
  params: { id },
  caller: { business_id },
  services,
}: Pick<HandlerInput<z.infer<typeof Id>, unknown, unknown>, 'params' | 'caller' | 'services'>): Promise<WebhookRecord> {
  return found(await ownRow(services.records.reader, 'webhooks', { business_id, id }), 'webhook');
}

/** Posts to a webhook once, signed with its secrets in force. */
function post(
  { url, ...row }: WebhookRecord,
  { cipher, webhookClient }: Services,
  message: Parameters<typeof postSigned>[2],
) {
  return postSigned(webhookClient, { url, secrets: secretsInForce(row, cipher, Date.now()) }, message);
}

/** Error for an id without a stored attempt. Its message distinguishes deleted attempts from unknown ids. */
async function unknownDelivery(rows: Kysely<Database>, receiver_id: string, id: string): Promise<ApiError> {
  const message = await findMessage(rows, id.replace(/^whd_/, 'evt_'));
  const wasMade = message !== null && message.receiver_id === receiver_id && message.attempts > 0;
  const gone = `the delivery is no longer kept: the last ${ATTEMPTS_KEPT} attempts of a webhook can be sent again`;
  return new ApiError('not_found', wasMade ? gone : 'no such delivery', {}, { may_change: true });
}

function webhookResource(record: WebhookRecord, { decrypt }: Cipher): z.infer<typeof Webhook> {
  const { id, url, secret, events, status, success_count, failure_count, consecutive_failures } = record;
  const shown = { id, url, secret: maskedSecret(decrypt(secret)), events: JSON.parse(events), status };
  return { ...shown, success_count, failure_count, consecutive_failures };
}

function deliveryResource(record: Attempt): Delivery {
  const { id, event_id, event, attempt, status_code, success, error_class } = record;
  const { redelivered_from, duration_ms, next_retry_at, created_at } = record;
  return {
    ...{ id, event_id, event: event as AnyEventType, attempt, status_code, success: success === 1 },
    error: publicError(error_class) as Delivery['error'],
    ...{ redelivered_from, duration_ms, next_retry_at: wholeSeconds(next_retry_at), created_at },
  };
}

export const WEBHOOK_ENDPOINTS = [
  ...[createWebhook, listWebhooks, getWebhook, updateWebhook, deleteWebhook],
  ...[testWebhook, listAttempts, redeliver],
];
