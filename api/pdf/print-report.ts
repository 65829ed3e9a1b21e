import { onThread } from '../published/thread.ts';
import type { ReportMaterial } from './report-material.ts';

/** Ninety storm dates with 24 maps full of hail take four seconds. */
const LIMIT_MS = 30_000;

/**
 * Makes the document of a verification with `reportPdf` on its own thread, so that requests continue meanwhile. Throws when it
 * fails or takes more than 30 seconds.
 */
export const printReport: (material: ReportMaterial) => Promise<Uint8Array> = onThread({
  module: new URL('./report-pdf.ts', import.meta.url),
  name: 'reportPdf',
  subject: 'the document of a verification',
  limit_ms: LIMIT_MS,
});
