import { z } from 'zod';
import { WebhookUpdated } from '../../../schemas/resources/webhook.ts';
import { EARLIER_EVENT_TYPES, EVENT_TYPES } from '../../../schemas/webhook-events.ts';
import { ApiError } from '../../http/errors.ts';
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
import type { Endpoint } from '../../server/endpoint.ts';
import { changeWebhook } from '../../webhooks/endpoints.ts';
import { setReceiverFormat } from '../../webhooks/formats.ts';
import { parseReceiverUrl } from '../../webhooks/public-address.ts';
import { earlier, earlierWrite, exampleFor } from '../endpoint.ts';
import {
  EarlierWebhookCreated,
  EarlierWebhookCreation,
  EarlierWebhookTest,
  EarlierWebhookUpdate,
} from '../resources.ts';

const EXAMPLE_URL = 'https://hooks.example.com/hail';
/** Event types that both variants have. */
const OF_BOTH = EVENT_TYPES.filter((type) => (EARLIER_EVENT_TYPES as readonly string[]).includes(type));

/** POST /legacy/v1/webhooks */
const createEarlierWebhook = earlierWrite(createWebhook, {
  path: '/v1/webhooks',
  body: EarlierWebhookCreation,
  reply: EarlierWebhookCreated,
  asked: { body: { url: EXAMPLE_URL, events: ['hail.detected', 'hail.cleared'] } },
  toCurrent: ({ body: { url } }) => ({ body: { url } }),
  also: async (writer, { webhook_id }, { body }) => {
    await setReceiverFormat(writer.rows, webhook_id, 'legacy');
    await changeWebhook(writer, webhook_id, { events: body.events ?? EARLIER_EVENT_TYPES });
  },
  fromCurrent: (made, { body }) => ({ ...made, events: [...(body.events ?? EARLIER_EVENT_TYPES)] }),
  check: ({ url }) => checkAddress('/url', url),
});

/** PUT /legacy/v1/webhooks/{id} */
const updateEarlierWebhook = earlierWrite(updateWebhook, {
  path: '/v1/webhooks/{id}',
  params: z.object({ id: z.string().meta({ description: 'Id of a webhook.' }) }),
  body: EarlierWebhookUpdate,
  reply: WebhookUpdated,
  asked: { body: { status: 'paused' } },
  // The types are checked in `also`. The current endpoint gets types that every webhook may have.
  toCurrent: ({ params, body: { events, ...rest } }) => ({
    params,
    body: { ...rest, ...(events === undefined ? {} : { events: OF_BOTH }) },
  }),
  also: async (writer, _, { params, body: { events }, services }) => {
    if (events === undefined) return;
    checkEventTypes(services, await knownWebhook(writer.rows, writer.business_id, params.id), events);
    await changeWebhook(writer, params.id, { events });
  },
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
export function checkAddress(pointer: string, url: string): void {
  const receiver = parseReceiverUrl(url);
  if (typeof receiver === 'string') throw new ApiError('bad_request', `${pointer}: ${receiver}`);
}
