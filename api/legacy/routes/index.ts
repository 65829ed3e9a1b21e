import type { Endpoint } from '../../server/endpoint.ts';
import { earlierHealth, earlierUsage, earlierUsageExport } from './account.ts';
import { earlierDeleteAlert, earlierGetAlert, earlierSubscribe } from './alerts.ts';
import { earlierHailCurrent } from './hail-current.ts';
import { earlierHailForecast } from './hail-forecast.ts';
import { earlierHailHistory } from './hail-history.ts';
import { earlierLocationRisk } from './location-risk.ts';
import { earlierRadarCurrent } from './radar-current.ts';
import {
  earlierCreateWebhook,
  earlierDeleteWebhook,
  earlierGetWebhook,
  earlierListDeliveries,
  earlierListWebhooks,
  earlierRedeliver,
  earlierTestWebhook,
  earlierUpdateWebhook,
} from './webhooks.ts';

/** Every endpoint of the earlier variant, in the order of its documentation; what is not here is 404 there. */
export const EARLIER_ENDPOINTS: readonly Endpoint[] = [
  earlierHailCurrent,
  earlierHailForecast,
  earlierHailHistory,
  earlierLocationRisk,
  earlierRadarCurrent,
  earlierSubscribe,
  earlierGetAlert,
  earlierDeleteAlert,
  earlierCreateWebhook,
  earlierListWebhooks,
  earlierGetWebhook,
  earlierUpdateWebhook,
  earlierDeleteWebhook,
  earlierTestWebhook,
  earlierListDeliveries,
  earlierRedeliver,
  earlierUsage,
  earlierUsageExport,
  earlierHealth,
];
