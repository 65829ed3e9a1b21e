import { writeFile } from 'node:fs/promises';
import pino from 'pino';
import type { JobHandlers, JobToMake } from '../../../api/jobs/kinds.ts';
import { startJobs } from '../../../api/jobs/run.ts';
import type { ExportParams } from '../../../schemas/resources/export-job.ts';
import type { ReportRequest } from '../../../schemas/resources/report-job.ts';
import { until } from '../until.ts';
import { sendingJson } from './areas.ts';
import { type RunningService, SERVICE_NOW_MS, type ServiceOptions, startService } from './service.ts';

export const REPORTS = '/v1/verify/report';
export const EXPORTS = '/v1/exports';
/** Bodies that are accepted at the clock of a service without data. */
export const REPORT_BODY = { lat: 35.22, lon: -97.44, date_start: '2026-04-01', date_end: '2026-05-01' };
export const EXPORT_BODY = {
  dataset: 'detections',
  date_start: '2026-05-01',
  date_end: '2026-05-01',
  bbox: [-98, 34, -96, 36],
  format: 'csv',
};
export const CONTENT = 'the file of a job, some bytes of it\n'.repeat(40);
const HASH = `sha256:${'ab'.repeat(32)}`;

type AnyJob = JobToMake<ReportRequest> | JobToMake<ExportParams>;

/** Makers of small files; `before` runs first, and may fail, wait, or look at what it was given. */
export function smallJobHandlers(before: (job: AnyJob) => Promise<void> | void = () => {}): JobHandlers {
  const made = { data_as_of_ms: SERVICE_NOW_MS - 1_000, data_source: 'simulated' } as const;
  return {
    report: async (job) => {
      await before(job);
      await writeFile(job.path, CONTENT);
      const summary = {
        result_summary: { event_count: 1, verdicts: [{ event_date: '2026-05-01', verdict: 'hit' as const }] },
        verification_hash: HASH,
      };
      return { ...made, media_type: 'application/pdf', file_name: `hail-report-${job.id}.pdf`, summary };
    },
    export: async (job) => {
      await before(job);
      await writeFile(job.path, CONTENT);
      const summary = { row_count: 40, truncated: false };
      return { ...made, media_type: 'text/csv; charset=utf-8', file_name: 'hail-detections.csv', summary };
    },
  };
}

/** A service with reports and exports, whose clock the test moves, and whose jobs it starts and stops. */
export type JobService = Awaited<ReturnType<typeof startJobService>>;

export async function startJobService(options: Partial<ServiceOptions> = {}) {
  const clock = { ms: SERVICE_NOW_MS };
  const service = await startService({
    now: () => clock.ms,
    ...options,
  });
  const ends: (() => Promise<void>)[] = [];
  return {
    ...service,
    clock,
    /** Starts a worker; what it returns ends it, and so does the end of the test. */
    work: (
      jobHandlers: JobHandlers,
      settings: Parameters<typeof startJobs>[3] = {},
      log = pino({ level: 'silent' }),
    ) => {
      const end = startJobs(service.services, log, jobHandlers, { retry_wait_ms: 0, ...settings });
      ends.push(end);
      return end;
    },
    close: async () => {
      await Promise.all(ends.map((end) => end()));
      await service.close();
    },
  };
}

/** Status, headers and body of an answer. */
export async function told(call: Promise<Response>) {
  const reply = await call;
  return { status: reply.status, headers: reply.headers, body: (await reply.json()) as Record<string, unknown> };
}

/** Posts a body. */
export function post(
  service: RunningService,
  path: string,
  body: unknown,
  headers: Record<string, string> = {},
  key?: string,
) {
  const init = sendingJson('POST', body, headers);
  return told(service.call(path, key === undefined ? init : { ...init, key }));
}

/** Accepts a job that is expected to be taken; its id. */
export async function accept(service: RunningService, path: string, body: unknown, key?: string): Promise<string> {
  const answer = await post(service, path, body, {}, key);
  if (answer.status !== 202) throw new Error(`POST ${path} answers ${answer.status} ${JSON.stringify(answer.body)}`);
  return String(answer.body.report_id ?? answer.body.job_id);
}

/** Polls a job until it has ended; its last answer. */
export async function ended(service: RunningService, path: string, id: string, key?: string) {
  let body: Record<string, unknown> = {};
  await until(async () => {
    ({ body } = await told(service.call(`${path}/${id}`, key === undefined ? {} : { key })));
    return body.status !== 'pending';
  });
  return body;
}

/** Path and query of a signed address. */
export function targetOf(url: unknown): string {
  const { pathname, search } = new URL(String(url));
  return pathname + search;
}
