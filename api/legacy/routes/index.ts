import { z } from 'zod';
import { Health } from '../../../schemas/resources/health.ts';
import { getHealth } from '../../routes/health.ts';
import { exportUsage, getUsage } from '../../routes/usage.ts';
import type { Endpoint } from '../../server/endpoint.ts';
import { earlier } from '../endpoint.ts';
import { EARLIER_MOUNT } from '../variant.ts';
import { earlierDeleteAlert, earlierGetAlert, earlierSubscribe } from './alerts.ts';
import { earlierHailCurrent, earlierHailForecast, earlierRadarCurrent } from './hail.ts';
import { earlierHailHistory } from './hail-history.ts';
import { earlierLocationRisk } from './location-risk.ts';
import { EARLIER_WEBHOOKS } from './webhooks.ts';

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
