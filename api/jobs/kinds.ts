import type { MixedProvenance } from '../../schemas/provenance.ts';
import {
  EXPORT_KEPT_DAYS,
  type ExportParams,
  ExportRequest,
  ExportSummary,
} from '../../schemas/resources/export-job.ts';
import { REPORT_KEPT_DAYS, ReportRequest, ReportSummary } from '../../schemas/resources/report-job.ts';
import type { Services } from '../services.ts';

export type MakingServices = Pick<Services, 'catalog' | 'jobEngine' | 'terrain' | 'storm_day_start_hour' | 'now'>;

export interface JobToMake<Params> {
  readonly id: string;
  readonly params: Params;
  /** Absolute path of the file to write. Its folder belongs to this attempt and is removed afterwards. */
  readonly path: string;
  readonly services: MakingServices;
  /** Aborted when the service stops, and at the time limit. */
  readonly signal: AbortSignal;
}

/** Result of a job handler; the complete file is at `path`. */
export interface MadeFile<Summary> {
  readonly media_type: string;
  /** Name under which a browser saves it. */
  readonly file_name: string;
  /** Result that the poll returns with the file's address. */
  readonly summary: Summary;
  /** Epoch milliseconds. */
  readonly data_as_of_ms: number | null;
  readonly data_source: MixedProvenance | null;
}

export type MakeFile<Params, Summary> = (job: JobToMake<Params>) => Promise<MadeFile<Summary>>;

export interface JobHandlers {
  readonly report: MakeFile<ReportRequest, ReportSummary>;
  readonly export: MakeFile<ExportParams, ExportSummary>;
}

/** Properties of a kind of job: days that a job and its file are kept after it was accepted, and path of the poll. */
export const REPORT = {
  params: ReportRequest,
  summary: ReportSummary,
  kept_days: REPORT_KEPT_DAYS,
  poll_path: '/verify/report',
} as const;
export const EXPORT = {
  params: ExportRequest,
  summary: ExportSummary,
  kept_days: EXPORT_KEPT_DAYS,
  poll_path: '/exports',
} as const;
