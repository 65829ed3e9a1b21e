import type { Endpoint } from '../endpoint.ts';
import { deleteAlert, getAlert, listAlerts, subscribeToAlerts, updateAlert } from './alerts.ts';
import {
  changeMonitoredArea,
  createMonitoredArea,
  deleteMonitoredArea,
  getMonitoredArea,
  getMonitoredAreaGeometry,
  listMonitoredAreas,
} from './areas.ts';
import { coverage } from './coverage.ts';
import { events } from './events.ts';
import { createExport, getExport } from './exports.ts';
import { hailCurrent, hailCurrentBatch } from './hail-current.ts';
import { hailForecast } from './hail-forecast.ts';
import { hailHistory } from './hail-history.ts';
import { hailNowcast } from './hail-nowcast.ts';
import { hailOutlook } from './hail-outlook.ts';
import { hailRisk } from './hail-risk.ts';
import { hailSwaths } from './hail-swaths.ts';
import { getHealth } from './health.ts';
import { outlooksSpc } from './outlooks-spc.ts';
import { portfolioImpacts } from './portfolio-impacts.ts';
import { deletePortfolioLocations, listPortfolioLocations, uploadPortfolioLocations } from './portfolio-locations.ts';
import { stormsGet, stormsList } from './storms.ts';
import { tilesDaily, tilesScan } from './tiles.ts';
import { getUsage, getUsageExport } from './usage.ts';
import { verify } from './verify.ts';
import { createReport, getReport } from './verify-report.ts';
import { warnings } from './warnings.ts';
import {
  createWebhookEndpoint,
  deleteWebhookEndpoint,
  getWebhook,
  listWebhookDeliveries,
  listWebhooksEndpoint,
  redeliverWebhook,
  testWebhook,
  updateWebhookEndpoint,
} from './webhooks.ts';

/** Every endpoint that needs a key, in the order of the documentation. */
export const ENDPOINTS: readonly Endpoint[] = [
  hailCurrent,
  hailCurrentBatch,
  hailForecast,
  hailHistory,
  hailNowcast,
  hailOutlook,
  stormsList,
  stormsGet,
  coverage,
  hailRisk,
  hailSwaths,
  events,
  tilesScan,
  tilesDaily,
  outlooksSpc,
  warnings,
  verify,
  createReport,
  getReport,
  createExport,
  getExport,
  listAlerts,
  subscribeToAlerts,
  getAlert,
  updateAlert,
  deleteAlert,
  uploadPortfolioLocations,
  listPortfolioLocations,
  deletePortfolioLocations,
  portfolioImpacts,
  createMonitoredArea,
  listMonitoredAreas,
  getMonitoredArea,
  getMonitoredAreaGeometry,
  changeMonitoredArea,
  deleteMonitoredArea,
  createWebhookEndpoint,
  listWebhooksEndpoint,
  getWebhook,
  updateWebhookEndpoint,
  deleteWebhookEndpoint,
  testWebhook,
  listWebhookDeliveries,
  redeliverWebhook,
  getUsage,
  getUsageExport,
  getHealth,
];
