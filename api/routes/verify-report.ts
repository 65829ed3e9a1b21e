import { z } from 'zod';
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
import { REPORT } from '../jobs/kinds.ts';
import { findPolled, pollUrl } from '../jobs/poll.ts';
import { acceptJob, JOB_TASK } from '../jobs/rows.ts';
import { checkRange } from '../rules/date-range.ts';
import { readEndpoint, writeEndpoint } from '../server/endpoint.ts';

const GROUP = 'Verification';
const PRICE = { operation: 'verify.report.create', credits: 100, count: 1 } as const;

/** POST /v1/verify/report */
export const createReport = writeEndpoint({
  method: 'POST',
  path: '/v1/verify/report',
  group: GROUP,
  summary: 'Have a report of a verification made',
  description: `A PDF of what POST /v1/verify answers: verdicts, a map of the detections, the reports from the ground, the method and the verification_hash, with all fonts embedded. reference, address and prepared_for are printed on it and change nothing else. It is made in the background, from at most ${VERIFICATION_DAYS_MAX} days, and kept ${REPORT_KEPT_DAYS} days; then file and report are deleted. A report that cannot be made is refunded.`,
  scope: 'verify:write',
  idempotent: true,
  status: 202,
  refusals: ['resource_exhausted'],
  body: ReportRequest,
  reply: ReportAccepted,
  example: CREATE_REPORT_EXAMPLE,
  price: () => PRICE,
  prepare: async ({ body, now_ms }) => {
    checkRange(body, now_ms);
    return null;
  },
  write: async ({ body, caller, services }, writer) => {
    const id = await acceptJob(writer, services.queue, { kind: 'report', params: body, caller, price: PRICE });
    const poll_url = pollUrl(services.base_url, REPORT, id);
    return { body: { report_id: id, status: 'pending' as const, poll_url, message: REPORT_ACCEPTED_MESSAGE } };
  },
  committed: ({ queue }) => queue.wake(JOB_TASK),
});

/** GET /v1/verify/report/{reportId} */
export const getReport = readEndpoint({
  method: 'GET',
  path: '/v1/verify/report/{reportId}',
  group: GROUP,
  summary: 'How a report is, and where',
  description: `Free. While it is pending, everything that is not known yet is null. Of a report that is done, every call gives a new address of the file, which needs no key and is good for ${SIGNED_URL_SECONDS} seconds. A report that failed says so in \`status\`, \`error\` and \`message\`; what it cost was refunded. So does one whose file was lost or damaged after it was made: \`message\` tells them apart.`,
  scope: 'verify:read',
  cacheable: false,
  params: z.object({ reportId: z.string().meta({ description: 'Id of a report.' }) }),
  reply: ReportJob,
  example: GET_REPORT_EXAMPLE,
  price: () => null,
  answer: async ({ params, caller, now_ms, services }) => {
    const wanted = { business_id: caller.business_id, kind: 'report', id: params.reportId } as const;
    const { job, poll_url, status, message, generated_at, data_as_of, file_url, summary } = await findPolled(
      services,
      REPORT,
      wanted,
      now_ms,
    );
    return {
      body: {
        report_id: job.id,
        status,
        poll_url,
        message,
        params: REPORT.params.parse(JSON.parse(job.params)),
        result_summary: summary?.result_summary ?? null,
        verification_hash: summary?.verification_hash ?? null,
        generated_at,
        data_as_of,
        pdf_url: file_url,
        pdf_url_expires_in_seconds: file_url === null ? null : SIGNED_URL_SECONDS,
        error: status === 'failed' ? ('report_generation_failed' as const) : null,
      },
    };
  },
});
