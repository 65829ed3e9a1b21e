import { z } from 'zod';
import * as alert from '../schemas/resources/alert.ts';
import * as area from '../schemas/resources/area.ts';
import * as convectiveOutlook from '../schemas/resources/convective-outlook.ts';
import * as coverage from '../schemas/resources/coverage.ts';
import * as delivery from '../schemas/resources/delivery.ts';
import * as detectionQuality from '../schemas/resources/detection-quality.ts';
import * as eventDay from '../schemas/resources/event-day.ts';
import * as exportJob from '../schemas/resources/export-job.ts';
import * as forecast from '../schemas/resources/forecast.ts';
import * as hailBatch from '../schemas/resources/hail-batch.ts';
import * as hailCell from '../schemas/resources/hail-cell.ts';
import * as historyEvent from '../schemas/resources/history-event.ts';
import * as nowcast from '../schemas/resources/nowcast.ts';
import * as outlook from '../schemas/resources/outlook.ts';
import * as portfolioDeletion from '../schemas/resources/portfolio-deletion.ts';
import * as portfolioImpact from '../schemas/resources/portfolio-impact.ts';
import * as portfolioLocation from '../schemas/resources/portfolio-location.ts';
import * as portfolioUpload from '../schemas/resources/portfolio-upload.ts';
import * as radarBlock from '../schemas/resources/radar-block.ts';
import * as regionBox from '../schemas/resources/region-box.ts';
import * as reportJob from '../schemas/resources/report-job.ts';
import * as risk from '../schemas/resources/risk.ts';
import * as storm from '../schemas/resources/storm.ts';
import * as subscription from '../schemas/resources/subscription.ts';
import * as swathTier from '../schemas/resources/swath-tier.ts';
import * as tileFrame from '../schemas/resources/tile-frame.ts';
import * as usage from '../schemas/resources/usage.ts';
import * as verification from '../schemas/resources/verification.ts';
import * as warning from '../schemas/resources/warning.ts';
import * as watch from '../schemas/resources/watch.ts';
import * as webhook from '../schemas/resources/webhook.ts';

const MODULES: readonly object[] = [
  alert,
  area,
  convectiveOutlook,
  coverage,
  delivery,
  detectionQuality,
  eventDay,
  exportJob,
  forecast,
  hailBatch,
  hailCell,
  historyEvent,
  nowcast,
  outlook,
  portfolioDeletion,
  portfolioImpact,
  portfolioLocation,
  portfolioUpload,
  radarBlock,
  regionBox,
  reportJob,
  risk,
  storm,
  subscription,
  swathTier,
  tileFrame,
  usage,
  verification,
  warning,
  watch,
  webhook,
];
/** Names in the description that differ from those in the code. */
const NAMES: Readonly<Record<string, string>> = {
  DetectionQualityBlock: 'DetectionQuality',
  Operation: 'UsageOperation',
  SpcOutlookAnswer: 'SpcOutlook',
  StormCell: 'Storm',
};
/** Parts of resources without a name: the description repeats them where they are used. */
const UNNAMED = ['ExportSummary', 'HailBatchReply', 'KeyOverride', 'PortfolioGaps', 'ReportSummary'];

/** Gives every resource without an id its name, so that the description refers to it instead of repeating it. */
export function nameResources(): void {
  for (const [name, schema] of MODULES.flatMap((module) => Object.entries(module)))
    if (schema instanceof z.ZodType && !UNNAMED.includes(name) && schema.meta()?.id === undefined)
      schema.register(z.globalRegistry, { ...schema.meta(), id: NAMES[name] ?? name });
}
