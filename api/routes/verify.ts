import {
  VERIFICATION_DAYS_MAX,
  VERIFICATION_EXAMPLE_REQUEST,
  Verification,
  VerificationRequest,
  verificationExample,
} from '../../schemas/resources/verification.ts';
import { readVerification } from '../queries/verification.ts';
import { checkRange } from '../rules/date-range.ts';
import { methodologyOf, verificationHash } from '../rules/verification.ts';
import { flatPrice, writeEndpoint } from '../server/endpoint.ts';

const EXAMPLE_METHODOLOGY = methodologyOf('observed', {
  hasReports: true,
  without_data: 0,
  without_reports: 0,
  isPublished: true,
  storm_day_start_hour: 0,
});

export const createVerification = writeEndpoint({
  route: 'POST /v1/verify',
  group: 'Verification',
  summary: 'Verify hail at a point, day by day',
  description: `One event per storm date with any signal within 5 miles of the point: an echo of 5 mm or more, or a report from the ground. At most ${VERIFICATION_DAYS_MAX} days, both ends included. Equal inputs, data and methodology give equal verdicts and the same verification_hash. Nothing is stored.`,
  scope: 'verify:write',
  idempotent: true,
  body: VerificationRequest,
  reply: Verification,
  example: {
    body: VERIFICATION_EXAMPLE_REQUEST,
    reply: verificationExample(EXAMPLE_METHODOLOGY, verificationHash),
  },
  price: flatPrice('verify.create', 50),
  data_source: ({ data_source }) => data_source,
  prepare: async ({ body, now_ms, services }) => {
    checkRange(body, now_ms);
    return (await readVerification(services, services.catalog.edition(), body)).verification;
  },
  write: async (_, __, verification) => ({ body: verification }),
});
