import { openThread } from '../published/thread.ts';
import type { ReportMaterial } from './report-material.ts';

/** Ninety storm dates with 24 maps full of hail take four seconds. */
const LIMIT_MS = 15_000;

/**
 * Makes the document of a verification with `reportPdf` on its own thread, so that requests continue meanwhile. Throws when it
 * fails or takes more than 15 seconds of processor time.
 */
export const printReport: (material: ReportMaterial) => Promise<Uint8Array> = openThread({
  entry: new URL('./report-thread.ts', import.meta.url),
  subject: 'the document of a verification',
  limit_ms: LIMIT_MS,
});
