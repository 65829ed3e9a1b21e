import { z } from 'zod';
import { ASSUMPTIONS } from '../assumptions.ts';
import { MixedProvenance } from '../provenance.ts';
import { REPORT_FEEDS } from '../tables/feeds.ts';
import { DETECTION_QUALITY_EXAMPLE, DetectionQualityBlock } from './detection-quality.ts';
import * as wire from './fields.ts';
import { RadarGaps } from './radar-gaps.ts';
import { ReportGaps } from './report-gaps.ts';

/** Version of the rules of verdicts; a change of any rule, threshold or weight raises it. */
export const METHODOLOGY_VERSION = '1.1.0';
/** Outer bounds of the distance bands, miles; a bound belongs to the nearer band. */
export const BANDS_MI = [1, 3, 5] as const;
export const VERIFICATION_RADIUS_MI = 5 as const;
export const BANDS = ['0-1mi', '1-3mi', '3-5mi'] as const;
export type Band = (typeof BANDS)[number];
export const VERDICTS = ['hit', 'marginal', 'miss'] as const;
export type Verdict = (typeof VERDICTS)[number];
/** Most days of a verification, both ends included. */
export const VERIFICATION_DAYS_MAX = 90;

/** Place and dates of a verification. Limits that depend on the clock are checked by the route. */
export const VerificationRequest = z
  .object({
    lat: wire.bodyLat('Latitude of the point, WGS84; taken with 5 decimals.'),
    lon: wire.bodyLon('Longitude of the point, WGS84; likewise.'),
    date_start: wire.bodyDate(
      'First storm date, at most today (UTC); there is no earliest one. Where storm dates are UTC calendar days, an evening in the United States falls on the next one: ask for both.',
    ),
    date_end: wire.bodyDate(
      `Last storm date, included: at most ${VERIFICATION_DAYS_MAX} days with both ends, at most tomorrow (UTC).`,
    ),
  })
  .check(...wire.dateRange('date_start', 'date_end', VERIFICATION_DAYS_MAX))
  .meta({ id: 'VerificationRequest' });

/** A report of hail on the ground near the point. */
const NearestReport = wire.resource('NearestReport', {
  source: z.enum(REPORT_FEEDS).meta({ description: 'Feed the report came from.' }),
  max_size_mm: wire.mm('Largest hailstone as reported.'),
  distance_m: z.int().nonnegative().meta({ description: 'Geodesic distance from the point.', unit: 'm' }),
});

/** Hail of one storm date at the point. */
export const VerificationEvent = wire.resource('VerificationEvent', {
  event_date: z.string().meta({ description: 'Storm date.', format: 'date' }),
  verdict: z.enum(VERDICTS).meta({
    description:
      'hit: a detection that a ground report corroborates, or a strong one alone; marginal: any other detection, or a report without radar; miss: neither, an echo of 5 to 10 mm only.',
  }),
  band: z.enum(BANDS).meta({
    description: 'Nearest distance band with hail of 19 mm or more, else the nearest with any signal.',
  }),
  max_size_mm: z.number().nullable().meta({
    description: 'Largest MESH within the radius; null where only a report speaks of hail.',
    unit: 'mm',
  }),
  ml_confidence: wire
    .probability(
      `Confidence that hail fell at the point, from size, distance, number of detections, reports and radar geometry; null where no radar data saw the point on the date. ${ASSUMPTIONS.confidence}`,
    )
    .nullable(),
  n_detections: wire.count('Detections (pixels times scans of 10 mm and more) within the radius.'),
  first_detected: z.string().nullable().meta({ description: 'First scan with a detection; null without one.' }),
  last_detected: z.string().nullable().meta({ description: 'Last scan with one.' }),
  ground_truth: z.object({
    corroborated: z.boolean().meta({
      description:
        'A report of 13 mm or more within 5 miles of the point, within 60 minutes and 8 km of the same detection.',
    }),
    nearest_reports: z.array(NearestReport).meta({ description: 'Up to five, nearest first.' }),
  }),
  note: z.string().nullable().meta({
    description:
      'Why the confidence is capped or null: radars did not cover the point for more than a quarter of the scans, or for all of them, or no radar data are published for the date.',
  }),
});
export type VerificationEvent = z.infer<typeof VerificationEvent>;

/** Whether hail fell at a point, day by day. */
export const Verification = wire.resource('Verification', {
  location: z.object({ lat: wire.lat(), lon: wire.lon() }),
  date_range: z.object({ start: z.string(), end: z.string() }).meta({ description: 'Storm dates, both included.' }),
  radius_mi: z.literal(VERIFICATION_RADIUS_MI).meta({ description: 'Radius around the point.', unit: 'mi' }),
  methodology: z.object({
    version: z.string().meta({ description: 'Equal inputs give equal verdicts under one version.' }),
    description: z.string().meta({ description: 'How the verdicts are made, and where the data come from.' }),
    bands_mi: z.array(z.number()).meta({ description: 'Outer bounds of the distance bands.', unit: 'mi' }),
  }),
  detection_quality: DetectionQualityBlock,
  events: z.array(VerificationEvent).meta({ description: 'Storm dates with any signal within the radius, ascending.' }),
  event_count: z.int().nonnegative(),
  radar_gaps: RadarGaps,
  report_gaps: ReportGaps,
  verification_hash: z.string().meta({
    description:
      'sha256: and the hex digest of the canonical JSON (RFC 8785) of {date_range, events, location, methodology: {version}}.',
  }),
  data_source: MixedProvenance.nullable().meta({
    description: 'Where the data of the range come from; null without any.',
  }),
  data_as_of: z.string().nullable().meta({
    description:
      'When the newest of the rows that were used came in or was issued, however they were joined or drawn since; where none were found, when the newest of what was looked through did. Null while nothing is published.',
  }),
});
export type Verification = z.infer<typeof Verification>;

export const VERIFICATION_EXAMPLE_REQUEST = {
  lat: 35.22,
  lon: -97.44,
  date_start: '2026-04-01',
  date_end: '2026-05-01',
};
/** Answer to it. The rules give the text of the method and the hash. */
export function verificationExample(
  methodology: Verification['methodology'],
  hashOf: (judged: Pick<Verification, 'location' | 'date_range' | 'methodology' | 'events'>) => string,
): Verification {
  const judged = {
    location: { lat: 35.22, lon: -97.44 },
    date_range: { start: '2026-04-01', end: '2026-05-01' },
    methodology,
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
  return {
    ...judged,
    radius_mi: VERIFICATION_RADIUS_MI,
    detection_quality: DETECTION_QUALITY_EXAMPLE,
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
    verification_hash: hashOf(judged),
    data_source: 'observed',
    data_as_of: '2026-05-02T00:14:09Z',
  };
}
