import { z } from 'zod';
import { WebhookUpdated } from '../../../schemas/resources/webhook.ts';
import { EARLIER_EVENT_TYPES, EVENT_TYPES } from '../../../schemas/webhook-events.ts';
import {
  checkEventTypes,
  createWebhook,
  deleteWebhook,
  getWebhook,
  knownWebhook,
  listAttempts,
  listWebhooks,
  redeliver,
  sentFields,
  testWebhook,
  updateWebhook,
} from '../../routes/webhooks.ts';
import type { Endpoint, SimulatedInput } from '../../server/endpoint.ts';
import { changeWebhook } from '../../webhooks/endpoints.ts';
import { setReceiverFormat } from '../../webhooks/formats.ts';
import { maskedSecret } from '../../webhooks/signing-secrets.ts';
import { earlierWrite, wrapped } from '../endpoint.ts';
import { EARLIER_CREATE_WEBHOOK_EXAMPLE } from '../examples.ts';
import {
  EarlierWebhookCreated,
  EarlierWebhookCreation,
  EarlierWebhookTest,
  EarlierWebhookUpdate,
} from '../resources.ts';
import { checkAddress, simulatedId, simulatedSecret } from '../simulated-data.ts';

const EXAMPLE_URL = 'https://hooks.example.com/hail';
/** Event types that both variants have. */
const OF_BOTH = EVENT_TYPES.filter((type) => (EARLIER_EVENT_TYPES as readonly string[]).includes(type));

/** POST /legacy/v1/webhooks */
export const earlierCreateWebhook = earlierWrite(createWebhook, {
  path: '/webhooks',
  summary: createWebhook.summary,
  description: createWebhook.description,
  params: null,
  query: null,
  body: EarlierWebhookCreation,
  data: EarlierWebhookCreated,
  example: EARLIER_CREATE_WEBHOOK_EXAMPLE,
  toCurrent: ({ body: { url } }) => ({ params: null, query: null, body: { url } }),
  also: async (writer, { webhook_id }, { body }) => {
    await setReceiverFormat(writer.rows, webhook_id, 'earlier');
    await changeWebhook(writer, webhook_id, { events: body.events ?? EARLIER_EVENT_TYPES });
  },
  fromCurrent: (made, { body }) => ({ ...made, events: [...(body.events ?? EARLIER_EVENT_TYPES)] }),
  simulate: ({ body: { url, events } }) => {
    checkAddress('/url', url);
    return {
      webhook_id: simulatedId('webhook', url),
      secret: simulatedSecret('webhook', url),
      url,
      events: [...(events ?? EARLIER_EVENT_TYPES)],
      status: 'active' as const,
    };
  },
});

/** PUT /legacy/v1/webhooks/{id} */
export const earlierUpdateWebhook = earlierWrite(updateWebhook, {
  path: '/webhooks/{id}',
  summary: updateWebhook.summary,
  description: updateWebhook.description,
  params: z.object({ id: z.string().meta({ description: 'Id of a webhook.' }) }),
  query: null,
  body: EarlierWebhookUpdate,
  data: WebhookUpdated,
  example: { body: { status: 'paused' }, data: { success: true, updated: ['status'] } },
  // The types are checked in `also`. The current endpoint gets types that every webhook may have.
  toCurrent: ({ params, body: { events, ...rest } }) => ({
    params,
    query: null,
    body: { ...rest, ...(events === undefined ? {} : { events: OF_BOTH }) },
  }),
  also: async (writer, _, { params, body: { events }, services }) => {
    if (events === undefined) return;
    checkEventTypes(services, await knownWebhook(writer.rows, writer.business_id, params.id), events);
    await changeWebhook(writer, params.id, { events });
  },
  fromCurrent: (changed) => changed,
  simulate: ({ body }) => {
    if (body.url !== undefined) checkAddress('/url', body.url);
    return { success: true as const, updated: sentFields(body) };
  },
});

/** GET /legacy/v1/webhooks */
export const earlierListWebhooks = wrapped(listWebhooks, () => ({ webhooks: [], count: 0 }));

/** GET /legacy/v1/webhooks/{id} */
export const earlierGetWebhook = wrapped(getWebhook, (input) => ({
  id: idOf(input),
  url: EXAMPLE_URL,
  secret: maskedSecret(simulatedSecret('webhook', idOf(input))),
  events: [...EARLIER_EVENT_TYPES],
  status: 'active',
  success_count: 0,
  failure_count: 0,
  consecutive_failures: 0,
}));

/** DELETE /legacy/v1/webhooks/{id} */
export const earlierDeleteWebhook = wrapped(deleteWebhook, () => ({ success: true }));

/** POST /legacy/v1/webhooks/{id}/test */
export const earlierTestWebhook: Endpoint = {
  ...wrapped(testWebhook, (input) => ({
    success: true,
    status_code: 200,
    delivery_id: simulatedId('delivery', idOf(input), 'test'),
  })),
  body: EarlierWebhookTest.optional(),
};

/** GET /legacy/v1/webhooks/{id}/deliveries */
export const earlierListDeliveries = wrapped(listAttempts, () => ({
  deliveries: [],
  count: 0,
  next_cursor: null,
}));

/** POST /legacy/v1/webhooks/{id}/deliveries/{deliveryId}/redeliver */
export const earlierRedeliver = wrapped(redeliver, (input) => {
  const { deliveryId } = z.object({ deliveryId: z.string() }).parse(input.params);
  return {
    success: true,
    status_code: 200,
    delivery_id: simulatedId('delivery', idOf(input), deliveryId),
    redelivered_from: deliveryId,
  };
});

function idOf({ params }: SimulatedInput): string {
  return z.object({ id: z.string() }).parse(params).id;
}
