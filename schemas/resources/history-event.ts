import { z } from 'zod';
import { ASSUMPTIONS } from '../assumptions.ts';
import { DetectionQualityBlock } from './detection-quality.ts';
import * as wire from './fields.ts';
import { RadarBlock } from './radar-block.ts';
import { RadarGaps } from './radar-gaps.ts';

/** The largest hail of one storm date around a point. */
export const HistoryEvent = wire.resource('HistoryEvent', {
  storm_date: z.string().meta({ description: 'Storm date, YYYY-MM-DD.', format: 'date' }),
  location: z.object({
    lat: wire.lat('Latitude of the largest detection of the day in the radius; of equals the nearest.'),
    lon: wire.lon('Longitude of the same.'),
    geohash5: z.string().meta({ description: 'Five-character geohash of the same.' }),
  }),
  distance_km: wire.km('Geodesic distance of that detection from the query point.'),
  first_detected: wire.time('First scan of the date with a detection in the geohash5.'),
  last_detected: wire.time('Last scan of the date with one.'),
  duration_minutes: wire.minutes('Duration of hail in that geohash5, gaps between scans capped at 4 minutes.'),
  scan_count: wire.count('Scans with a detection in that geohash5.'),
  hail: z.object({
    estimated_size_mm: wire.mm('Largest MESH of the day in the radius.'),
    size_category: wire.category('Category of estimated_size_mm.'),
    confidence: wire.probability(`Confidence of that detection. ${ASSUMPTIONS.confidence}`),
  }),
  radar: RadarBlock.optional().meta({ description: 'Products at that detection (advanced).' }),
  detection_quality: DetectionQualityBlock.optional().meta({ description: 'Radar geometry there (advanced).' }),
});
export type HistoryEvent = z.infer<typeof HistoryEvent>;

export const HailHistory = wire.resource('HailHistory', {
  events: z.array(HistoryEvent).meta({ description: 'Newest first; limit keeps the newest.' }),
  count: wire.count('Events in this answer.'),
  detail: wire.detail(),
  radar_gaps: RadarGaps.meta({
    description: 'When radar did not see the point, on the storm dates looked at.',
  }),
  data_timestamp: wire.dataTimestamp(),
});
export type HailHistory = z.infer<typeof HailHistory>;

export const HAIL_HISTORY_EXAMPLE: wire.Example<typeof HailHistory> = {
  query: { lat: '35.22', lon: '-97.44', min_size_mm: '25' },
  reply: {
    events: [
      {
        storm_date: '2026-05-01',
        location: { lat: 35.245, lon: -97.465, geohash5: '9y67x' },
        distance_km: 3.6,
        first_detected: '2026-05-01T20:02:14Z',
        last_detected: '2026-05-01T20:14:39Z',
        duration_minutes: 14.4,
        scan_count: 7,
        hail: { estimated_size_mm: 41.5, size_category: 'golf_ball', confidence: 0.681 },
      },
    ],
    count: 1,
    detail: 'standard',
    radar_gaps: {
      dates_without_data: [],
      dates_with_unknown_scans: [],
      dates_seen_in_part: [{ date: '2026-05-03', share: 0.999, until: '2026-05-03T17:40:36Z', gap_count: 0, gaps: [] }],
      coverage: [
        { date: '2026-05-01', share: 1 },
        { date: '2026-05-02', share: 1 },
        { date: '2026-05-03', share: 0.999 },
      ],
    },
    data_timestamp: '2026-05-03T17:40:36Z',
  },
};
