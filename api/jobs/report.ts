import { writeFile } from 'node:fs/promises';
import type { ReportRequest, ReportSummary } from '../../schemas/resources/report-job.ts';
import {
  type EventMaterial,
  type HeldWarning,
  mappedDates,
  peakTime,
  type ReportMaterial,
} from '../pdf/report-material.ts';
import type { Edition } from '../published/catalog.ts';
import type { Queries } from '../published/duckdb.ts';
import { onThread } from '../published/thread.ts';
import { earlierHail, type ReadVerification, readVerification } from '../queries/verification.ts';
import { warningsAround } from '../queries/warnings.ts';
import type { JobToMake, MakeFile } from './kinds.ts';

/** Ninety storm dates with 24 maps full of hail take four seconds. */
const printReport = onThread<ReportMaterial, Uint8Array>({
  module: new URL('../pdf/report-pdf.ts', import.meta.url),
  name: 'reportPdf',
  subject: 'the document of a verification',
  limit_ms: 30_000,
});

export const makeReport: MakeFile<ReportRequest, ReportSummary> = async (job) => {
  const material = await readMaterial(job);
  const { events, event_count, verification_hash, data_as_of, data_source } = material.verification;
  const pdf = await printReport(material);
  job.signal.throwIfAborted();
  await writeFile(job.path, pdf, { flag: 'wx' });
  return {
    media_type: 'application/pdf',
    file_name: `hail-report-${job.params.date_start}-${job.params.date_end}.pdf`,
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

/** What the document of a report is made from: the verification, warnings, and hail of the year before. */
export async function readMaterial({
  id,
  params,
  services,
}: Pick<JobToMake<ReportRequest>, 'id' | 'params' | 'services'>): Promise<ReportMaterial> {
  const { catalog, jobEngine: engine, now, storm_day_start_hour } = services;
  const generated_ms = now();
  const edition = catalog.edition();
  const found = await readVerification({ ...services, engine }, edition, params);
  const { prepared_for = null, reference = null, address = null } = params;
  return {
    ...found,
    report_id: id,
    generated_ms,
    labels: { prepared_for, reference, address },
    earlier: await earlierHail(engine, edition, found.verification.location, params.date_start),
    warnings: await warningsOf(services.jobEngine, edition, found),
    storm_day_start_hour,
  };
}

/** Warnings in force at the point when the hail was largest, of each storm date with a map; null where warnings were never collected. */
async function warningsOf(
  engine: Queries,
  edition: Edition,
  { verification, events }: ReadVerification,
): Promise<ReportMaterial['warnings']> {
  const collection = edition.collection('warnings');
  if (collection === null) return null;
  const mapped = mappedDates(verification.events);
  const held = new Map<string, HeldWarning[]>();
  for (const [k, event] of verification.events.entries()) {
    const now_ms = peakTime(events[k] as EventMaterial);
    if (!mapped.has(event.event_date) || now_ms === null) continue;
    const asked = { ...verification.location, radius_km: 0, since_ms: null, now_ms };
    const { found } = await warningsAround(engine, collection, asked);
    const in_force = found.map(({ warning: { event, data_source }, end_ms }) => ({ event, end_ms, data_source }));
    held.set(event.event_date, in_force);
  }
  return held;
}
