import { z } from 'zod';
import { Alert } from './alert.ts';
import {
  AreaChange,
  AreaDeleted,
  AreaGeometry,
  AreaSummary,
  AreaUsage,
  MonitoredArea,
  MonitoredAreas,
  NewArea,
} from './area.ts';
import { ConvectiveOutlook, SpcOutlookAnswer, SpcOutlookFeature } from './convective-outlook.ts';
import { Coverage } from './coverage.ts';
import { Deliveries, Delivery, Redelivered } from './delivery.ts';
import { DetectionQualityBlock } from './detection-quality.ts';
import { EventDay, Events } from './event-day.ts';
import { ExportAccepted, ExportJob, ExportRequest } from './export-job.ts';
import { ForecastHour, ForecastPeak, HailForecast } from './forecast.ts';
import { BatchLocation, BatchResult, HailBatch, HailBatchEstimate, HailBatchRequest } from './hail-batch.ts';
import { HailCell, HailCurrent, ImpactBlock, PointQuery, StormBlock } from './hail-cell.ts';
import { HailHistory, HistoryEvent } from './history-event.ts';
import { NearestStorm, Nowcast } from './nowcast.ts';
import { HailOutlook, OutlookDay } from './outlook.ts';
import { PortfolioDeleted, PortfolioDeletion } from './portfolio-deletion.ts';
import { PortfolioImpact, PortfolioImpacts } from './portfolio-impact.ts';
import { PortfolioLocation, PortfolioLocations } from './portfolio-location.ts';
import { AcceptedRow, PortfolioUpload, PortfolioUploaded, RejectedRow, UploadedRow } from './portfolio-upload.ts';
import { RadarBlock } from './radar-block.ts';
import { RegionBox } from './region-box.ts';
import { ReportAccepted, ReportJob, ReportRequest } from './report-job.ts';
import { AnnualRisk, HailRisk, MonthlyRisk, RiskBasis } from './risk.ts';
import { Motion, StormCell, Storms, StormTrack, TrackHistoryPoint } from './storm.ts';
import {
  Subscription,
  SubscriptionCreated,
  SubscriptionCreation,
  SubscriptionDeleted,
  SubscriptionDetail,
  Subscriptions,
  SubscriptionUpdate,
} from './subscription.ts';
import { SwathCollection, Swaths, SwathTier } from './swath-tier.ts';
import { DailyTiles, ScanTiles, TileFrame } from './tile-frame.ts';
import { Operation } from './usage.ts';
import { NearestReport, Verification, VerificationEvent, VerificationRequest } from './verification.ts';
import { Warning, Warnings } from './warning.ts';
import { MesoscaleDiscussion, Watch } from './watch.ts';
import {
  Webhook,
  WebhookCreated,
  WebhookCreation,
  WebhookDeleted,
  Webhooks,
  WebhookTest,
  WebhookTested,
  WebhookUpdate,
  WebhookUpdated,
} from './webhook.ts';

/** Resources by their name in the OpenAPI description, beside those that declare an id themselves. */
const RESOURCES = {
  AcceptedRow,
  Alert,
  AnnualRisk,
  AreaChange,
  AreaDeleted,
  AreaGeometry,
  AreaSummary,
  AreaUsage,
  BatchLocation,
  BatchResult,
  ConvectiveOutlook,
  Coverage,
  DailyTiles,
  Deliveries,
  Delivery,
  DetectionQuality: DetectionQualityBlock,
  EventDay,
  Events,
  ExportAccepted,
  ExportJob,
  ExportRequest,
  ForecastHour,
  ForecastPeak,
  HailBatch,
  HailBatchEstimate,
  HailBatchRequest,
  HailCell,
  HailCurrent,
  HailForecast,
  HailHistory,
  HailOutlook,
  HailRisk,
  HistoryEvent,
  ImpactBlock,
  MonthlyRisk,
  MesoscaleDiscussion,
  MonitoredArea,
  MonitoredAreas,
  Motion,
  NearestReport,
  NearestStorm,
  NewArea,
  Nowcast,
  OutlookDay,
  PointQuery,
  PortfolioDeleted,
  PortfolioDeletion,
  PortfolioImpact,
  PortfolioImpacts,
  PortfolioLocation,
  PortfolioLocations,
  PortfolioUpload,
  PortfolioUploaded,
  RadarBlock,
  Redelivered,
  RegionBox,
  RejectedRow,
  ReportAccepted,
  ReportJob,
  ReportRequest,
  RiskBasis,
  ScanTiles,
  SpcOutlook: SpcOutlookAnswer,
  SpcOutlookFeature,
  Storm: StormCell,
  StormBlock,
  StormTrack,
  Storms,
  Subscription,
  SubscriptionCreated,
  SubscriptionCreation,
  SubscriptionDeleted,
  SubscriptionDetail,
  SubscriptionUpdate,
  Subscriptions,
  SwathCollection,
  SwathTier,
  Swaths,
  TileFrame,
  TrackHistoryPoint,
  UploadedRow,
  UsageOperation: Operation,
  Verification,
  VerificationEvent,
  VerificationRequest,
  Warning,
  Warnings,
  Watch,
  Webhook,
  WebhookCreated,
  WebhookCreation,
  WebhookDeleted,
  WebhookTest,
  WebhookTested,
  WebhookUpdate,
  WebhookUpdated,
  Webhooks,
} as const;

/** Gives every resource its name, so that the description refers to it instead of repeating it; once or often. */
export function nameResources(): void {
  for (const [id, schema] of Object.entries<z.ZodType>(RESOURCES))
    schema.register(z.globalRegistry, { ...schema.meta(), id });
}
