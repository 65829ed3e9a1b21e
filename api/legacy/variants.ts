import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { EarlierErrorBody } from '../../schemas/resources/earlier-envelope.ts';
import { Health } from '../../schemas/resources/health.ts';
import {
  EARLIER_EVENT_DATA,
  EARLIER_EVENT_TYPES,
  EARLIER_EVENTS,
  EarlierEventBody,
} from '../../schemas/webhook-events.ts';
import { getHealth } from '../routes/health.ts';
import { exportUsage, getUsage } from '../routes/usage.ts';
import type { OtherVariant } from '../server/app.ts';
import type { Endpoint } from '../server/endpoint.ts';
import { type DescribedVariant, EXAMPLE_REQUEST_ID } from '../server/openapi.ts';
import { describeEvent, EXAMPLE_AT } from '../server/openapi-webhooks.ts';
import { SAMPLES } from '../webhooks/event-samples.ts';
import { EARLIER_MOUNT, EARLIER_VARIANT, earlier } from './endpoint.ts';
import {
  earlierHailCurrent,
  earlierHailForecast,
  earlierHailHistory,
  earlierLocationRisk,
  earlierRadarCurrent,
} from './routes/hail.ts';
import { EARLIER_WEBHOOKS, earlierDeleteAlert, earlierGetAlert, earlierSubscribe } from './routes/webhooks.ts';

/** GET /legacy/v1/usage/export: CSV has no envelope. */
const earlierUsageExport: Endpoint = { ...exportUsage, variant: 'legacy', path: `${EARLIER_MOUNT}/usage/export` };

/** State of the service. */
const EarlierHealth = Health.extend({
  api_variant: z.literal('legacy').meta({ description: 'Variant of the interface that answers.' }),
}).meta({ id: 'EarlierHealth' });

const LEGACY = { api_variant: 'legacy' as const };

/** GET /legacy/v1/health */
const earlierHealth = earlier({
  ...getHealth,
  reply: EarlierHealth,
  example: { reply: { ...Object(getHealth.example?.reply), ...LEGACY } },
  answer: async (input) => {
    const answer = await getHealth.answer(input);
    return { ...answer, body: { ...Object(answer.body), ...LEGACY } };
  },
});

/** Every endpoint of the earlier variant, in the order of its documentation; any other path is 404 there. */
export const EARLIER_ENDPOINTS: readonly Endpoint[] = [
  earlierHailCurrent,
  earlierHailForecast,
  earlierHailHistory,
  earlierLocationRisk,
  earlierRadarCurrent,
  earlierSubscribe,
  earlierGetAlert,
  earlierDeleteAlert,
  ...EARLIER_WEBHOOKS,
  earlier(getUsage),
  earlierUsageExport,
  earlierHealth,
];

/** What the OpenAPI document says of the earlier variant in addition to its endpoints. */
export const EARLIER_DESCRIPTION: DescribedVariant = {
  title: 'hail, earlier variant',
  introduction: readFileSync(new URL('./introduction.md', import.meta.url), 'utf8').trimEnd(),
  own_path: '/legacy/v1/openapi.json',
  keys: 'A key that begins with hs_live_, or with test_ for simulated answers.',
  opens_test_keys: true,
  error: {
    schema: EarlierErrorBody,
    example: (code, message) => ({
      error: { code, message },
      meta: { request_id: EXAMPLE_REQUEST_ID, timestamp: '2026-05-01T20:14:07Z' },
    }),
  },
  events: EARLIER_EVENT_TYPES.map((type) =>
    describeEvent(type, EARLIER_EVENTS[type], EarlierEventBody, EARLIER_EVENT_DATA[type], {
      event: type,
      timestamp: EXAMPLE_AT,
      data: SAMPLES.legacy[type],
    }),
  ),
};

/** The earlier variant: its endpoints and how they answer. */
export const EARLIER: OtherVariant = { endpoints: EARLIER_ENDPOINTS, variant: EARLIER_VARIANT };
