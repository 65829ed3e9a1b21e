import { getHealth } from '../../routes/health.ts';
import { exportUsage, getUsage } from '../../routes/usage.ts';
import type { Endpoint } from '../../server/endpoint.ts';
import { earlierRead, wrapped } from '../endpoint.ts';
import { EarlierHealth } from '../resources.ts';
import { EARLIER_MOUNT } from '../variant.ts';

/** GET /legacy/v1/usage: the business's own figures, also for a test key. */
export const earlierUsage = wrapped(getUsage, null);

/** GET /legacy/v1/usage/export: CSV has no envelope. */
export const earlierUsageExport: Endpoint = {
  ...exportUsage,
  variant: 'earlier',
  path: `${EARLIER_MOUNT}/usage/export`,
};

/** GET /legacy/v1/health */
export const earlierHealth = earlierRead(getHealth, {
  path: '/health',
  summary: getHealth.summary,
  description: getHealth.description,
  params: null,
  query: null,
  body: null,
  data: EarlierHealth,
  example: { data: EarlierHealth.parse({ ...Object(getHealth.example?.reply), api_variant: 'legacy' }) },
  toCurrent: () => ({ params: null, query: null, body: null }),
  fromCurrent: (health) => ({ ...health, api_variant: 'legacy' as const }),
  simulate: null,
});
