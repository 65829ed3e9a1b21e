import { z } from 'zod';
import { Alert } from '../schemas/resources/alert.ts';
import {
  AreaChange,
  AreaDeleted,
  AreaGeometry,
  AreaSummary,
  AreaUsage,
  MonitoredArea,
  MonitoredAreas,
  NewArea,
} from '../schemas/resources/area.ts';
import { ConvectiveOutlook, SpcOutlookAnswer, SpcOutlookFeature } from '../schemas/resources/convective-outlook.ts';
import { Coverage } from '../schemas/resources/coverage.ts';
import { Deliveries, Delivery, Redelivered } from '../schemas/resources/delivery.ts';
import { DetectionQualityBlock } from '../schemas/resources/detection-quality.ts';
import { EventDay, Events } from '../schemas/resources/event-day.ts';
import { ExportAccepted, ExportJob, ExportRequest } from '../schemas/resources/export-job.ts';
import { ForecastHour, ForecastPeak, HailForecast } from '../schemas/resources/forecast.ts';
import {
  BatchLocation,
  BatchResult,
  HailBatch,
  HailBatchEstimate,
  HailBatchRequest,
} from '../schemas/resources/hail-batch.ts';
import { HailCell, HailCurrent, ImpactBlock, PointQuery, StormBlock } from '../schemas/resources/hail-cell.ts';
import { HailHistory, HistoryEvent } from '../schemas/resources/history-event.ts';
import { NearestStorm, Nowcast } from '../schemas/resources/nowcast.ts';
import { HailOutlook, OutlookDay } from '../schemas/resources/outlook.ts';
import { PortfolioDeleted, PortfolioDeletion } from '../schemas/resources/portfolio-deletion.ts';
import { PortfolioImpact, PortfolioImpacts } from '../schemas/resources/portfolio-impact.ts';
import { PortfolioLocation, PortfolioLocations } from '../schemas/resources/portfolio-location.ts';
import {
  AcceptedRow,
  PortfolioUpload,
  PortfolioUploaded,
  RejectedRow,
  UploadedRow,
} from '../schemas/resources/portfolio-upload.ts';
import { RadarBlock } from '../schemas/resources/radar-block.ts';
import { RegionBox } from '../schemas/resources/region-box.ts';
import { ReportAccepted, ReportJob, ReportRequest } from '../schemas/resources/report-job.ts';
import { AnnualRisk, HailRisk, MonthlyRisk, RiskBasis } from '../schemas/resources/risk.ts';
import { Motion, StormCell, Storms, StormTrack, TrackHistoryPoint } from '../schemas/resources/storm.ts';
import {
  Subscription,
  SubscriptionCreated,
  SubscriptionCreation,
  SubscriptionDeleted,
  SubscriptionDetail,
  Subscriptions,
  SubscriptionUpdate,
} from '../schemas/resources/subscription.ts';
import { SwathCollection, Swaths, SwathTier } from '../schemas/resources/swath-tier.ts';
import { DailyTiles, ScanTiles, TileFrame } from '../schemas/resources/tile-frame.ts';
import { Operation } from '../schemas/resources/usage.ts';
import {
  NearestReport,
  Verification,
  VerificationEvent,
  VerificationRequest,
} from '../schemas/resources/verification.ts';
import { Warning, Warnings } from '../schemas/resources/warning.ts';
import { MesoscaleDiscussion, Watch } from '../schemas/resources/watch.ts';
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
} from '../schemas/resources/webhook.ts';

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
