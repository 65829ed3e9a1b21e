import type { Endpoint } from '../server/endpoint.ts';
import { ALERT_ENDPOINTS } from './alerts.ts';
import { AREA_ENDPOINTS } from './areas.ts';
import { getCoverage } from './coverage.ts';
import { listEvents } from './events.ts';
import { getHailCurrent, getHailCurrentBatch } from './hail-current.ts';
import { getHailForecast } from './hail-forecast.ts';
import { getHailHistory } from './hail-history.ts';
import { getHailNowcast } from './hail-nowcast.ts';
import { getHailOutlook } from './hail-outlook.ts';
import { getHailRisk } from './hail-risk.ts';
import { getHailSwaths } from './hail-swaths.ts';
import { getHealth } from './health.ts';
import { JOB_ENDPOINTS } from './jobs.ts';
import { listOutlooks } from './outlooks-spc.ts';
import { PORTFOLIO_ENDPOINTS } from './portfolio.ts';
import { getStorm, listStorms } from './storms.ts';
import { getDailyTiles, getScanTiles } from './tiles.ts';
import { exportUsage, getUsage } from './usage.ts';
import { createVerification } from './verify.ts';
import { listWarnings } from './warnings.ts';
import { WEBHOOK_ENDPOINTS } from './webhooks.ts';

/** Endpoints of the map that HAIL_VIEWER=public opens to callers without a key. */
export const GUEST_ENDPOINTS: readonly Endpoint[] = [getScanTiles, getDailyTiles, listEvents];

/** Every endpoint that needs a key, in the order of the documentation. */
export const ENDPOINTS: readonly Endpoint[] = [
  ...[getHailCurrent, getHailCurrentBatch, getHailForecast, getHailHistory, getHailNowcast, getHailOutlook],
  ...[listStorms, getStorm, getCoverage, getHailRisk, getHailSwaths, listEvents],
  ...[getScanTiles, getDailyTiles, listOutlooks, listWarnings, createVerification],
  ...JOB_ENDPOINTS,
  ...ALERT_ENDPOINTS,
  ...PORTFOLIO_ENDPOINTS,
  ...AREA_ENDPOINTS,
  ...WEBHOOK_ENDPOINTS,
  ...[getUsage, exportUsage, getHealth],
];
