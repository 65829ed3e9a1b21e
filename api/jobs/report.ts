import { writeFile } from 'node:fs/promises';
import type { ReportRequest, ReportSummary } from '../../schemas/resources/report-job.ts';
import type { Verification } from '../../schemas/resources/verification.ts';
import { printReport } from '../pdf/print-report.ts';
import type { Edition } from '../published/catalog.ts';
import { readVerification } from '../queries/verification.ts';
import type { Services } from '../services.ts';
import type { MakeFile } from './kinds.ts';

/** Input of a document in addition to the data. */
interface ReportHead {
  /** Null for a report without a record. */
  readonly report_id: string | null;
  /** Epoch milliseconds. */
  readonly generated_ms: number;
}

/** A verification and its document. */
interface WrittenReport {
  readonly verification: Verification;
  readonly pdf: Uint8Array;
}

/** Makes the document of a verification of one edition. */
export const makeReport: MakeFile<ReportRequest, ReportSummary> = async (job) => {
  const { id, params, path, services, signal } = job;
  const { catalog, jobEngine: engine, now } = services;
  const head = { report_id: id, generated_ms: now() };
  const { verification, pdf } = await writeReport({ ...services, engine }, catalog.edition(), params, head);
  signal.throwIfAborted();
  await writeFile(path, pdf, { flag: 'wx' });
  const { events, event_count, verification_hash, data_as_of, data_source } = verification;
  return {
    media_type: 'application/pdf',
    file_name: `hail-report-${params.date_start}-${params.date_end}.pdf`,
    summary: {
      result_summary: {
        event_count,
        verdicts: events.map(({ event_date, verdict }) => ({ event_date, verdict })),
      },
      verification_hash,
    },
    data_as_of_ms: data_as_of === null ? null : Date.parse(data_as_of),
    data_source,
  };
};

/** The verification of a request and its document, of one edition. Throws what reading the edition throws. */
export async function writeReport(
  services: Pick<Services, 'engine' | 'terrain' | 'storm_day_start_hour'>,
  edition: Edition,
  request: ReportRequest,
  head: ReportHead,
): Promise<WrittenReport> {
  const { prepared_for = null, reference = null, address = null } = request;
  const { verification, events, radar_source, dates_without_reports } = await readVerification(
    services,
    edition,
    request,
  );
  const pdf = await printReport({
    ...head,
    labels: { prepared_for, reference, address },
    verification,
    events,
    data_source: verification.data_source,
    radar_source,
    dates_without_reports,
    storm_day_start_hour: services.storm_day_start_hour,
  });
  return { verification, pdf };
}
