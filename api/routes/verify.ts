import {
  VERIFICATION_DAYS_MAX,
  VERIFICATION_RADIUS_MI,
  Verification,
  VerificationRequest,
} from '../../schemas/resources/verification.ts';
import { writeEndpoint } from '../endpoint.ts';
import { readVerification } from '../queries/verification.ts';
import { rangeFault } from '../rules/date-range.ts';
import { methodologyOf, verificationHash } from '../rules/verification.ts';
import { refuseRange } from './refuse-range.ts';

const EXAMPLE_REQUEST = { lat: 35.22, lon: -97.44, date_start: '2026-04-01', date_end: '2026-05-01' };
const EXAMPLE_JUDGED = {
  location: { lat: 35.22, lon: -97.44 },
  date_range: { start: '2026-04-01', end: '2026-05-01' },
  methodology: methodologyOf('observed', {
    hasReports: true,
    without_data: 0,
    without_reports: 0,
    isPublished: true,
    storm_day_start_hour: 0,
  }),
  events: [
    {
      event_date: '2026-05-01',
      verdict: 'hit' as const,
      band: '0-1mi' as const,
      max_size_mm: 48.5,
      ml_confidence: 0.964,
      n_detections: 212,
      first_detected: '2026-05-01T20:02:14Z',
      last_detected: '2026-05-01T20:31:39Z',
      ground_truth: {
        corroborated: true,
        nearest_reports: [{ source: 'lsr' as const, max_size_mm: 44.5, distance_m: 2104 }],
      },
      note: null,
    },
  ],
};
const EXAMPLE: Verification = {
  ...EXAMPLE_JUDGED,
  radius_mi: VERIFICATION_RADIUS_MI,
  detection_quality: {
    hdqi: 0.78,
    detection_word: 'good',
    resolution: 'fine (<1 km)',
    components: { sample_coverage: 0.743, beam_blockage: 1, dual_pol_availability: 1 },
    nearest_radar: { id: 'KTLX', distance_km: 22.53 },
    beam_height_m: 246,
    freezing_level_m: 4278,
  },
  event_count: 1,
  radar_gaps: {
    dates_without_data: [],
    dates_with_unknown_scans: [],
    dates_seen_in_part: [
      {
        date: '2026-05-01',
        share: 0.924,
        until: null,
        gap_count: 1,
        gaps: [{ from: '2026-05-01T09:08:39Z', to: '2026-05-01T10:58:37Z' }],
      },
    ],
    coverage: [{ date: '2026-05-01', share: 0.924 }],
  },
  report_gaps: {
    dates_without_reports: [],
    dates_collected_in_part: [],
    sources: [
      { source: 'spc', dates_not_collected: [] },
      { source: 'lsr', dates_not_collected: [] },
    ],
  },
  verification_hash: verificationHash(EXAMPLE_JUDGED),
  data_source: 'observed',
  data_as_of: '2026-05-02T00:14:09Z',
};

export const createVerification = writeEndpoint({
  method: 'POST',
  path: '/v1/verify',
  group: 'Verification',
  summary: 'Verify hail at a point, day by day',
  description: `One event per storm date with any signal within 5 miles of the point: an echo of 5 mm or more, or a report from the ground. At most ${VERIFICATION_DAYS_MAX} days, both ends included. Equal inputs, data and methodology give equal verdicts and the same verification_hash. Nothing is stored.`,
  scope: 'verify:write',
  idempotent: true,
  params: null,
  query: null,
  body: VerificationRequest,
  reply: Verification,
  example: { body: EXAMPLE_REQUEST, reply: EXAMPLE },
  price: () => ({ operation: 'verify.create', credits: 50, count: 1 }),
  data_source: ({ data_source }) => data_source,
  prepare: async ({ body, now_ms, services }) => {
    refuseRange(rangeFault(body, now_ms));
    return (await readVerification(services, services.catalog.edition(), body)).verification;
  },
  write: async (_, __, verification) => ({ body: verification }),
});
