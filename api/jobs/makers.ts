import { makeExport } from './export.ts';
import type { Makers } from './kinds.ts';
import { makeReport } from './report.ts';

/** The makers of the service: the one place that names them. */
export const MAKERS: Makers = { report: makeReport, export: makeExport };
