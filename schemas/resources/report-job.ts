import { z } from 'zod';
import * as wire from './fields.ts';
import { VERDICTS, VerificationRequest } from './verification.ts';

/** Days that a report is kept after it was asked for. */
export const REPORT_KEPT_DAYS = 400;
/** Lifetime of the address of a job's file, seconds. */
export const SIGNED_URL_SECONDS = 900;
const JOB_STATUSES = ['pending', 'done', 'failed'] as const;

/** Most characters (code points) of a text to be printed on a report. */
const REPORT_LABEL_MAX = 200;

/** A text to be printed: trimmed, in any script. Blank counts as absent. */
const label = (description: string) =>
  z
    .string()
    .refine((text) => !/\p{Cc}/u.test(text), 'holds a control character, expected plain text')
    .trim()
    .refine(
      (text) => [...text].length <= REPORT_LABEL_MAX,
      `is too long, expected at most ${REPORT_LABEL_MAX} characters`,
    )
    .optional()
    .meta({
      description: `${description} Printed on the report as given; no part of the finding nor of its hash. No control characters; blank counts as absent.`,
      maxLength: REPORT_LABEL_MAX,
      pattern: '^[^\\u0000-\\u001f\\u007f-\\u009f]*$',
    });

/** Request of a report: the verification, and the texts to be printed on it. */
export const ReportRequest = VerificationRequest.safeExtend({
  reference: label('Number of the claim or file.'),
  address: label('Address of the location; not looked up, the coordinates count.'),
  prepared_for: label('Whom the report is for.'),
})
  .overwrite(({ reference, address, prepared_for, ...verified }) => ({
    ...verified,
    ...Object.fromEntries(
      Object.entries({ reference, address, prepared_for }).filter(([, text]) => text !== undefined && !isBlank(text)),
    ),
  }))
  .meta({ id: 'ReportRequest' });
export type ReportRequest = z.infer<typeof ReportRequest>;

/** A text without visible characters: spaces, and characters that only format others. */
function isBlank(text: string): boolean {
  return /^[\s\p{Cf}]*$/u.test(text);
}

const ResultSummary = z.object({
  event_count: z.int().nonnegative().meta({ description: 'Storm dates with any signal.' }),
  verdicts: z.array(
    z.object({
      event_date: z.string().meta({ description: 'Storm date.', format: 'date' }),
      verdict: z.enum(VERDICTS).meta({ description: 'As in the answer of a verification.' }),
    }),
  ),
});

/** Fields of every report. */
export const ReportSummary = z.object({ result_summary: ResultSummary, verification_hash: z.string() });
export type ReportSummary = z.infer<typeof ReportSummary>;

export const jobStatus = () =>
  z.enum(JOB_STATUSES).meta({ description: 'pending, until it is done or failed, once and for good.' });
export const pollUrl = () => z.string().meta({ description: 'Where the job is asked after.' });

const report_id = z.string().meta({ description: 'Id of the report, `rpt_` and a ULID.' });

/** A report that was accepted. */
export const ReportAccepted = wire.resource('ReportAccepted', {
  report_id,
  status: z.literal('pending'),
  poll_url: pollUrl(),
  message: z.string().meta({ description: 'What happens next, for people.' }),
});

/** State of a report; fields that are not known yet are null. */
export const ReportJob = wire.resource('ReportJob', {
  report_id,
  status: jobStatus(),
  poll_url: pollUrl(),
  message: z.string().nullable().meta({ description: 'Why it failed, for people; null unless it did.' }),
  params: ReportRequest.meta({ description: 'The request.' }),
  result_summary: ResultSummary.nullable().meta({ description: 'What the report says, in short.' }),
  verification_hash: z.string().nullable().meta({ description: 'As in the answer of a verification.' }),
  generated_at: wire.time('When the file was made.').nullable(),
  data_as_of: wire.time('When the newest of the rows that were used was made.').nullable(),
  pdf_url: z.string().nullable().meta({
    description: 'Where the file is, open to whoever has the address until it expires; a new one with every poll.',
  }),
  pdf_url_expires_in_seconds: z.int().nullable().meta({ description: 'For how long pdf_url is good.', unit: 's' }),
  error: z.literal('report_generation_failed').nullable().meta({ description: 'Null unless it failed.' }),
});
export type ReportJob = z.infer<typeof ReportJob>;

const EXAMPLE_ID = 'rpt_01KAJ3W9QZ6R8V2T4X5Y7A9B0C';

const EXAMPLE_BODY = {
  lat: 35.22,
  lon: -97.44,
  date_start: '2026-04-01',
  date_end: '2026-05-01',
  reference: 'Claim 2026-004711',
};

const EXAMPLE_POLL = `https://hail.example.com/v1/verify/report/${EXAMPLE_ID}`;

export const REPORT_ACCEPTED_MESSAGE = `the report is being made: ask poll_url until its status is done or failed`;

export const CREATE_REPORT_EXAMPLE: wire.Example<typeof ReportAccepted> = {
  body: EXAMPLE_BODY,
  reply: { report_id: EXAMPLE_ID, status: 'pending', poll_url: EXAMPLE_POLL, message: REPORT_ACCEPTED_MESSAGE },
};

export const GET_REPORT_EXAMPLE: wire.Example<typeof ReportJob> = {
  reply: {
    report_id: EXAMPLE_ID,
    status: 'done',
    poll_url: EXAMPLE_POLL,
    message: null,
    params: EXAMPLE_BODY,
    result_summary: { event_count: 1, verdicts: [{ event_date: '2026-05-01', verdict: 'hit' }] },
    verification_hash: 'sha256:2b7c4d1a8f5e9032b6c7d8e9f0a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3',
    generated_at: '2026-05-02T14:20:31Z',
    data_as_of: '2026-05-02T00:14:09Z',
    pdf_url: `https://hail.example.com/v1/files/${EXAMPLE_ID}?exp=1777732731&sig=cGQ7cVn0tGZ0bW9yZSB0aGFuIHRoaXMgaXMgbm90IHQ`,
    pdf_url_expires_in_seconds: SIGNED_URL_SECONDS,
    error: null,
  },
};
