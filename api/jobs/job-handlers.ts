import { makeExport } from './export.ts';
import type { JobHandlers } from './kinds.ts';
import { makeReport } from './report.ts';

/** The jobHandlers of the service: the one place that names them. */
export const JOB_HANDLERS: JobHandlers = { report: makeReport, export: makeExport };
