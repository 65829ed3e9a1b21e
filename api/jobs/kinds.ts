import type { z } from 'zod';
import { layout } from '../../schemas/layout.ts';
import {
  EXPORT_KEPT_DAYS,
  type ExportParams,
  ExportRequest,
  ExportSummary,
} from '../../schemas/resources/export-job.ts';
import { REPORT_KEPT_DAYS, ReportRequest, ReportSummary } from '../../schemas/resources/report-job.ts';
import type { JobKind, MakeFile } from './job.ts';

/** Properties of a kind of job. */
export interface Kind<Params, Summary> {
  readonly params: z.ZodType<Params>;
  readonly summary: z.ZodType<Summary>;
  /** Days that a job and its file are kept after it was accepted. */
  readonly kept_days: number;
  /** Folder of the files, below the root. */
  readonly folder: string;
  /** Path of the poll, below the public address. */
  readonly poll_path: string;
}

export const REPORT: Kind<ReportRequest, ReportSummary> = {
  params: ReportRequest,
  summary: ReportSummary,
  kept_days: REPORT_KEPT_DAYS,
  folder: layout.reports,
  poll_path: '/verify/report',
};

export const EXPORT: Kind<ExportParams, ExportSummary> = {
  params: ExportRequest,
  summary: ExportSummary,
  kept_days: EXPORT_KEPT_DAYS,
  folder: layout.exports,
  poll_path: '/exports',
};

export const KINDS = { report: REPORT, export: EXPORT } as const satisfies Record<JobKind, unknown>;

/** The job handler of each kind. */
export interface JobHandlers {
  readonly report: MakeFile<ReportRequest, ReportSummary>;
  readonly export: MakeFile<ExportParams, ExportSummary>;
}
