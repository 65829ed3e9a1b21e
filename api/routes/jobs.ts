import { z } from 'zod';
import {
  CREATE_EXPORT_EXAMPLE,
  EXPORT_ACCEPTED_MESSAGE,
  EXPORT_KEPT_DAYS,
  EXPORT_ROW_CAPS,
  ExportAccepted,
  ExportJob,
  ExportRequest,
  GET_EXPORT_EXAMPLE,
} from '../../schemas/resources/export-job.ts';
import {
  CREATE_REPORT_EXAMPLE,
  GET_REPORT_EXAMPLE,
  REPORT_ACCEPTED_MESSAGE,
  REPORT_KEPT_DAYS,
  ReportAccepted,
  ReportJob,
  ReportRequest,
  SIGNED_URL_SECONDS,
} from '../../schemas/resources/report-job.ts';
import { VERIFICATION_DAYS_MAX } from '../../schemas/resources/verification.ts';
import { servedParams } from '../jobs/export.ts';
import { EXPORT, REPORT } from '../jobs/kinds.ts';
import { findPolled, pollUrl } from '../jobs/poll.ts';
import { acceptJob, JOB_TASK } from '../jobs/rows.ts';
import { checkRange } from '../rules/date-range.ts';
import { regionOf } from '../rules/region.ts';
import { readEndpoint, writeEndpoint } from '../server/endpoint.ts';
import type { Services } from '../services.ts';

const REPORT_PRICE = { operation: 'verify.report.create', credits: 100, count: 1 } as const;
const EXPORT_PRICE = { operation: 'exports.create', credits: 40, count: 1 } as const;
const CREATE = {
  idempotent: true,
  status: 202,
  refusals: ['resource_exhausted'],
  committed: ({ queue }: Services) => queue.wake(JOB_TASK),
} as const;

/** Description of a poll of a job called `what`. */
const pollDescription = (what: string) =>
  `Free. While it is pending, everything that is not known yet is null. Of ${what} that is done, every call gives a new address of the file, which needs no key and is good for ${SIGNED_URL_SECONDS} seconds. ${what[0]?.toUpperCase()}${what.slice(1)} that failed says so in \`status\`, \`error\` and \`message\`; what it cost was refunded. So does one whose file was lost or damaged after it was made: \`message\` tells them apart.`;

const createReport = writeEndpoint({
  route: 'POST /v1/verify/report',
  group: 'Verification',
  summary: 'Have a report of a verification made',
  description: `A PDF of what POST /v1/verify answers, in the local time of the place: verdicts, maps of the detections, the reports from the ground, warnings in force, hail of the year before, the method and the verification_hash, with all fonts embedded. reference, address and prepared_for are printed on it and change nothing else. It is made in the background, from at most ${VERIFICATION_DAYS_MAX} days, and kept ${REPORT_KEPT_DAYS} days; then file and report are deleted. A report that cannot be made is refunded.`,
  scope: 'verify:write',
  ...CREATE,
  body: ReportRequest,
  reply: ReportAccepted,
  example: CREATE_REPORT_EXAMPLE,
  price: () => REPORT_PRICE,
  prepare: async ({ body, now_ms }) => checkRange(body, now_ms),
  write: async ({ body, caller, services }, writer) => {
    const id = await acceptJob(writer, services.queue, { kind: 'report', params: body, caller, price: REPORT_PRICE });
    const poll_url = pollUrl(services.base_url, REPORT, id);
    return { body: { report_id: id, status: 'pending' as const, poll_url, message: REPORT_ACCEPTED_MESSAGE } };
  },
});

const getReport = readEndpoint({
  route: 'GET /v1/verify/report/{reportId}',
  group: 'Verification',
  summary: 'How a report is, and where',
  description: pollDescription('a report'),
  scope: 'verify:read',
  params: z.object({ reportId: z.string().meta({ description: 'Id of a report.' }) }),
  reply: ReportJob,
  example: GET_REPORT_EXAMPLE,
  price: () => null,
  answer: async ({ params, caller: { business_id }, now_ms, services }) => {
    const wanted = { business_id, kind: 'report', id: params.reportId } as const;
    const found = await findPolled(services, REPORT, wanted, now_ms);
    const { job, file_url, summary, generated_at, data_as_of, ...polled } = found;
    return {
      body: {
        report_id: job.id,
        ...polled,
        params: REPORT.params.parse(JSON.parse(job.params)),
        result_summary: summary?.result_summary ?? null,
        verification_hash: summary?.verification_hash ?? null,
        ...{ generated_at, data_as_of },
        pdf_url: file_url,
        pdf_url_expires_in_seconds: file_url === null ? null : SIGNED_URL_SECONDS,
        error: polled.status === 'failed' ? ('report_generation_failed' as const) : null,
      },
    };
  },
});

const createExport = writeEndpoint({
  route: 'POST /v1/exports',
  group: 'Bulk export',
  summary: 'Have a file of many rows made',
  description: `Detections, swaths or reports of up to 31 storm dates as CSV, GeoJSON or Parquet, made in the background. At most ${EXPORT_ROW_CAPS.detections} detections or ${EXPORT_ROW_CAPS.reports} reports; where there are more, the latest are left out and \`truncated\` is true. A box is clipped to CONUS, and one that does not meet it gives an empty file; a range that ends tomorrow ends today (UTC), with the rows up to now. The poll tells the box and the dates that were used, and in \`data_as_of\` up to when the rows go: all of them are of the same state of the published data, also when scans come in meanwhile. Kept ${EXPORT_KEPT_DAYS} days; then file and export are deleted. An export that cannot be made is refunded.`,
  scope: 'exports:write',
  feature: 'exports',
  ...CREATE,
  body: ExportRequest,
  reply: ExportAccepted,
  example: CREATE_EXPORT_EXAMPLE,
  price: () => EXPORT_PRICE,
  prepare: async ({ body, now_ms }) => {
    checkRange(body, now_ms);
    return servedParams(body, now_ms);
  },
  write: async ({ caller, services }, writer, params) => {
    const id = await acceptJob(writer, services.queue, { kind: 'export', params, caller, price: EXPORT_PRICE });
    const poll_url = pollUrl(services.base_url, EXPORT, id);
    return { body: { job_id: id, status: 'pending' as const, poll_url, message: EXPORT_ACCEPTED_MESSAGE } };
  },
});

const getExport = readEndpoint({
  route: 'GET /v1/exports/{jobId}',
  group: 'Bulk export',
  summary: 'How an export is, and where',
  description: pollDescription('an export'),
  scope: 'exports:read',
  params: z.object({ jobId: z.string().meta({ description: 'Id of an export.' }) }),
  reply: ExportJob,
  example: GET_EXPORT_EXAMPLE,
  price: () => null,
  answer: async ({ params, caller: { business_id }, now_ms, services }) => {
    const wanted = { business_id, kind: 'export', id: params.jobId } as const;
    const found = await findPolled(services, EXPORT, wanted, now_ms);
    const { job, file_url, summary, generated_at, data_as_of, ...polled } = found;
    const carried_out = EXPORT.params.parse(JSON.parse(job.params));
    return {
      body: {
        job_id: job.id,
        ...polled,
        note: regionOf(carried_out).note,
        params: carried_out,
        row_count: summary?.row_count ?? null,
        truncated: summary?.truncated ?? null,
        ...{ generated_at, data_as_of },
        download_url: file_url,
        download_url_expires_in_seconds: file_url === null ? null : SIGNED_URL_SECONDS,
        error: polled.status === 'failed' ? ('export_generation_failed' as const) : null,
      },
    };
  },
});

export const JOB_ENDPOINTS = [createReport, getReport, createExport, getExport];
