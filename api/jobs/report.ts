import { writeFile } from 'node:fs/promises';
import type { ReportRequest, ReportSummary } from '../../schemas/resources/report-job.ts';
import type { ReportMaterial } from '../pdf/report-material.ts';
import { onThread } from '../published/thread.ts';
import { readVerification } from '../queries/verification.ts';
import type { MakeFile } from './kinds.ts';

/** Ninety storm dates with 24 maps full of hail take four seconds. */
const printReport = onThread<ReportMaterial, Uint8Array>({
  module: new URL('../pdf/report-pdf.ts', import.meta.url),
  name: 'reportPdf',
  subject: 'the document of a verification',
  limit_ms: 30_000,
});

export const makeReport: MakeFile<ReportRequest, ReportSummary> = async ({ id, params, path, services, signal }) => {
  const { catalog, jobEngine, now, storm_day_start_hour } = services;
  const generated_ms = now();
  const read = { ...services, engine: jobEngine };
  const { verification, ...found } = await readVerification(read, catalog.edition(), params);
  const { prepared_for = null, reference = null, address = null } = params;
  const { events: finding, event_count, verification_hash, data_as_of, data_source } = verification;
  const pdf = await printReport({
    ...found,
    report_id: id,
    generated_ms,
    labels: { prepared_for, reference, address },
    verification,
    storm_day_start_hour,
  });
  signal.throwIfAborted();
  await writeFile(path, pdf, { flag: 'wx' });
  return {
    media_type: 'application/pdf',
    file_name: `hail-report-${params.date_start}-${params.date_end}.pdf`,
    summary: {
      result_summary: {
        event_count,
        verdicts: finding.map(({ event_date, verdict }) => ({ event_date, verdict })),
      },
      verification_hash,
    },
    data_as_of_ms: data_as_of === null ? null : Date.parse(data_as_of),
    data_source,
  };
};
