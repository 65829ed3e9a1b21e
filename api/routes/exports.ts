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
import { SIGNED_URL_SECONDS } from '../../schemas/resources/report-job.ts';
import { servedParams } from '../jobs/export.ts';
import { EXPORT } from '../jobs/kinds.ts';
import { findPolled, pollUrl } from '../jobs/poll.ts';
import { acceptJob, JOB_TASK } from '../jobs/rows.ts';
import { checkRange } from '../rules/date-range.ts';
import { readEndpoint, writeEndpoint } from '../server/endpoint.ts';

const GROUP = 'Bulk export';
const PRICE = { operation: 'exports.create', credits: 40, count: 1 } as const;

/** POST /v1/exports */
export const createExport = writeEndpoint({
  method: 'POST',
  path: '/v1/exports',
  group: GROUP,
  summary: 'Have a file of many rows made',
  description: `Detections, swaths or reports of up to 31 storm dates as CSV, GeoJSON or Parquet, made in the background. At most ${EXPORT_ROW_CAPS.detections} detections or ${EXPORT_ROW_CAPS.reports} reports; where there are more, the latest are left out and \`truncated\` is true. A box is clipped to CONUS, and one that does not meet it gives an empty file; a range that reaches ahead ends today (UTC), with the rows up to now. The poll tells the box and the dates that were used, and in \`data_as_of\` up to when the rows go: all of them are of the same state of the published data, also when scans come in meanwhile. Kept ${EXPORT_KEPT_DAYS} days; then file and export are deleted. An export that cannot be made is refunded.`,
  scope: 'exports:write',
  feature: 'exports',
  idempotent: true,
  status: 202,
  refusals: ['resource_exhausted'],
  body: ExportRequest,
  reply: ExportAccepted,
  example: CREATE_EXPORT_EXAMPLE,
  price: () => PRICE,
  prepare: async ({ body, now_ms }) => {
    checkRange({ date_start: body.date_start }, now_ms);
    return servedParams(body, now_ms);
  },
  write: async ({ caller, services }, writer, params) => {
    const id = await acceptJob(writer, services.queue, { kind: 'export', params, caller, price: PRICE });
    const poll_url = pollUrl(services.base_url, EXPORT, id);
    return { body: { job_id: id, status: 'pending' as const, poll_url, message: EXPORT_ACCEPTED_MESSAGE } };
  },
  committed: ({ queue }) => queue.wake(JOB_TASK),
});

/** GET /v1/exports/{jobId} */
export const getExport = readEndpoint({
  method: 'GET',
  path: '/v1/exports/{jobId}',
  group: GROUP,
  summary: 'How an export is, and where',
  description: `Free. While it is pending, everything that is not known yet is null. Of an export that is done, every call gives a new address of the file, which needs no key and is good for ${SIGNED_URL_SECONDS} seconds. An export that failed says so in \`status\`, \`error\` and \`message\`; what it cost was refunded. So does one whose file was lost or damaged after it was made: \`message\` tells them apart.`,
  scope: 'exports:read',
  cacheable: false,
  params: z.object({ jobId: z.string().meta({ description: 'Id of an export.' }) }),
  reply: ExportJob,
  example: GET_EXPORT_EXAMPLE,
  price: () => null,
  answer: async ({ params, caller, now_ms, services }) => {
    const wanted = { business_id: caller.business_id, kind: 'export', id: params.jobId } as const;
    const { job, poll_url, status, message, generated_at, data_as_of, file_url, summary } = await findPolled(
      services,
      EXPORT,
      wanted,
      now_ms,
    );
    return {
      body: {
        job_id: job.id,
        status,
        poll_url,
        message,
        params: EXPORT.params.parse(JSON.parse(job.params)),
        row_count: summary?.row_count ?? null,
        truncated: summary?.truncated ?? null,
        generated_at,
        data_as_of,
        download_url: file_url,
        download_url_expires_in_seconds: file_url === null ? null : SIGNED_URL_SECONDS,
        error: status === 'failed' ? ('export_generation_failed' as const) : null,
      },
    };
  },
});
