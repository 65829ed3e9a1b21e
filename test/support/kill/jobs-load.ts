import pino from 'pino';
import type { JobHandlers, MadeFile } from '../../../api/jobs/kinds.ts';
import { jobBacklog } from '../../../api/jobs/rows.ts';
import { startJobs } from '../../../api/jobs/run.ts';
import type { Services } from '../../../api/services.ts';
import type { ReportSummary } from '../../../schemas/resources/report-job.ts';
import { until } from '../until.ts';

/** What the processes that run jobs and the one that asks for them agree on. */
export const NOW_MS = Date.parse('2026-05-02T00:55:00Z');
export const SETTINGS = {
  database_url: null,
  storm_day_start_hour: 0,
  base_url: 'http://127.0.0.1:8080/v1',
  now: () => NOW_MS,
} as const;
export const WORDS_OF_FAILURE = 'south of the equator falls no hail that we know of';
/** Parts that a file is written in. */
export const PARTS = 6;

/** A part of the file of a job as a process makes it. */
export function partOf(job_id: string, pid: number, part: number): string {
  return `${job_id} by ${pid}, part ${part}\n`.repeat(200);
}

/** What a process says of a report that it made. */
export function smallReport(pid: number): MadeFile<ReportSummary> {
  return {
    media_type: 'application/pdf',
    file_name: 'report.pdf',
    summary: { result_summary: { event_count: 0, verdicts: [] }, verification_hash: String(pid) },
    data_as_of_ms: null,
    data_source: null,
  };
}

/** Runs the reports of a service until none is pending, and returns what ends the running. */
export async function runReports(services: Services, report: JobHandlers['report']): Promise<() => Promise<void>> {
  const end = startJobs(
    services,
    pino({ level: 'silent' }),
    { report, export: () => Promise.reject(new Error('there are no exports here')) },
    { lease_ms: 300, retry_wait_ms: 0 },
  );
  await until(async () => {
    const { queued, running } = await jobBacklog(services.records.reader);
    return queued + running === 0;
  });
  return end;
}
