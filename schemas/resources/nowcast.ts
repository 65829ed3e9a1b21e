import { z } from 'zod';
import { NOWCAST_MODEL } from '../reference/nowcast-model.ts';
import type { Example } from './example.ts';
import * as wire from './fields.ts';
import { Motion } from './storm.ts';

const NOT_REACHED =
  'Beyond 30 minutes skill is limited by the growth and decay of storms; no real scans have been scored this far ahead.';
const NOT_SHOWN = 'Not shown on real scans to be better than moving the hail along its course.';

/** A lead is trusted while its skill over hail that keeps its course is above zero on real scans, 95 times in 100; null: not scored. */
export function leadQuality(skill: { readonly low: number } | null) {
  if (skill !== null && skill.low > 0) return { quality: 'production', note: null } as const;
  return { quality: 'experimental', note: skill === null ? NOT_REACHED : NOT_SHOWN } as const;
}

const { t15, t30, t45 } = NOWCAST_MODEL.skill_over_advection;

/** Leads of the nowcast, minutes, and how far each may be trusted. */
export const NOWCAST_LEADS = [
  { key: 't15', minutes: 15, ...leadQuality(t15) },
  { key: 't30', minutes: 30, ...leadQuality(t30) },
  { key: 't45', minutes: 45, ...leadQuality(t45) },
] as const;
export type LeadKey = (typeof NOWCAST_LEADS)[number]['key'];

const Lead = z.object({
  minutes: z.int().positive().meta({ description: 'Lead.', unit: 'min' }),
  probability: wire.probability(
    'Probability of hail >= 19 mm within 1 km of the point at any time from now up to the lead; never below a shorter lead.',
  ),
  quality: z.enum(['production', 'experimental']).meta({ description: 'How far the lead may be trusted.' }),
  note: z.string().nullable().meta({ description: 'What to know about an experimental lead.' }),
});

export const NearestStorm = z.object({
  track_id: z.string().meta({ description: 'For GET /v1/storms/{track_id}.' }),
  distance_km: wire.km('Geodesic distance from the point to the storm where it was seen last.'),
  current_probability: wire.probability('ml_probability of the storm: hail >= 25.4 mm with it within 60 minutes.'),
  data_timestamp: wire.time('Scan that saw the storm last.'),
  motion: Motion,
});

/** Probability that hail strikes a point soon. */
export const Nowcast = z.object({
  active: wire.active('a tracked storm'),
  location: z.object({ lat: wire.lat(), lon: wire.lon() }),
  nearest_storm: NearestStorm.nullable().meta({ description: 'Nearest tracked storm in range; null without one.' }),
  nowcast: z
    .object({ t15: Lead, t30: Lead, t45: Lead })
    .nullable()
    .meta({ description: 'Null without a storm in range: a zero would be a forecast.' }),
  model_version: z.string().meta({
    description:
      'Version of the model, and after the plus what its weights were fitted on: mrms for real radar, sim for simulated evenings.',
  }),
  data_timestamp: wire.dataTimestamp(),
});
export type Nowcast = z.infer<typeof Nowcast>;

export const NOWCAST_EXAMPLE: Example<typeof Nowcast> = {
  query: { lat: '35.22', lon: '-97.44' },
  reply: {
    active: true,
    location: { lat: 35.22, lon: -97.44 },
    nearest_storm: {
      track_id: '20260501-2h9x0c1k4m7pq',
      distance_km: 12.4,
      current_probability: 0.862,
      data_timestamp: '2026-05-01T20:12:38Z',
      motion: { speed_kmh: 52.3, direction_deg: 71 },
    },
    nowcast: {
      t15: { minutes: 15, probability: 0.231, quality: 'production', note: null },
      t30: { minutes: 30, probability: 0.264, quality: 'production', note: null },
      t45: { minutes: 45, probability: 0.266, quality: 'experimental', note: NOWCAST_LEADS[2].note },
    },
    model_version: NOWCAST_MODEL.observed.version,
    data_timestamp: '2026-05-01T20:12:38Z',
  },
};
