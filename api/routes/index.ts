import type { Endpoint } from '../server/endpoint.ts';
import { createAlert, deleteAlert, getAlert, listAlerts, updateAlert } from './alerts.ts';
import { createArea, deleteArea, getArea, getAreaGeometry, listAreas, updateArea } from './areas.ts';
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
import { createExport, createReport, getExport, getReport } from './jobs.ts';
import { listOutlooks } from './outlooks-spc.ts';
import { getPortfolioImpacts } from './portfolio-impacts.ts';
import { createLocations, deleteLocation, listLocations } from './portfolio-locations.ts';
import { getStorm, listStorms } from './storms.ts';
import { getDailyTiles, getScanTiles } from './tiles.ts';
import { exportUsage, getUsage } from './usage.ts';
import { createVerification } from './verify.ts';
import { listWarnings } from './warnings.ts';
import {
  createWebhook,
  deleteWebhook,
  getWebhook,
  listAttempts,
  listWebhooks,
  redeliver,
  testWebhook,
  updateWebhook,
} from './webhooks.ts';

/** Endpoints of the map that HAIL_VIEWER=public opens to callers without a key. */
export const GUEST_ENDPOINTS: readonly Endpoint[] = [getScanTiles, getDailyTiles, listEvents];

/** Every endpoint that needs a key, in the order of the documentation. */
export const ENDPOINTS: readonly Endpoint[] = [
  getHailCurrent,
  getHailCurrentBatch,
  getHailForecast,
  getHailHistory,
  getHailNowcast,
  getHailOutlook,
  listStorms,
  getStorm,
  getCoverage,
  getHailRisk,
  getHailSwaths,
  listEvents,
  getScanTiles,
  getDailyTiles,
  listOutlooks,
  listWarnings,
  createVerification,
  createReport,
  getReport,
  createExport,
  getExport,
  listAlerts,
  createAlert,
  getAlert,
  updateAlert,
  deleteAlert,
  createLocations,
  listLocations,
  deleteLocation,
  getPortfolioImpacts,
  createArea,
  listAreas,
  getArea,
  getAreaGeometry,
  updateArea,
  deleteArea,
  createWebhook,
  listWebhooks,
  getWebhook,
  updateWebhook,
  deleteWebhook,
  testWebhook,
  listAttempts,
  redeliver,
  getUsage,
  exportUsage,
  getHealth,
];
