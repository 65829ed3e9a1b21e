import { z } from 'zod';
import { type EveningQuality, NOWCAST_MODEL } from '../reference/nowcast-model.ts';
import * as wire from './fields.ts';
import { Motion } from './storm.ts';

const UNPROVEN =
  'Not proven: that takes five evenings of radar hail sizes (MESH) in two climates, and none was at hand. On radar evenings on which heavy rain stands for hail:';
const GROWTH_AND_DECAY = ' Beyond 30 minutes skill is limited by the growth and decay of storms.';
export const SIMULATED_NOTE = 'On simulated storms: how it does on real ones is told with observed data alone.';

/** Note where the storm's own probability is above that of the point. */
export const TWO_EVENTS =
  'current_probability counts hail >= 25.4 mm anywhere with the storm within 60 minutes; t15, t30 and t45 count hail >= 19 mm within 1 km of this point.';

/** Why a lead is experimental: what each evening, by weights that did not learn from it, says of it. */
export function leadNote(evenings: readonly EveningQuality[], limits = ''): string {
  const said = evenings.map(({ evening, rival, low, high, intercept }) => {
    const gain = `${evening}: skill over the best simple forecast (${rival}) ${low} to ${high}`;
    const came = `hail came ${intercept > 0 ? 'more' : 'less'} often than forecast (intercept ${intercept})`;
    return `${gain}${low <= 0 ? ', which may be none' : ''}; ${came}.`;
  });
  return `${[UNPROVEN, ...said].join(' ')}${limits}`;
}

const quality = 'experimental' as const;
const { t15, t30, t45 } = NOWCAST_MODEL.quality;

/** Leads of the nowcast, minutes, and how far each may be trusted. */
export const NOWCAST_LEADS = [
  { key: 't15', minutes: 15, quality, note: leadNote(t15) },
  { key: 't30', minutes: 30, quality, note: leadNote(t30) },
  { key: 't45', minutes: 45, quality, note: leadNote(t45, GROWTH_AND_DECAY) },
] as const;
export type LeadKey = (typeof NOWCAST_LEADS)[number]['key'];

const Lead = z.object({
  minutes: z.int().positive().meta({ description: 'Lead.', unit: 'min' }),
  probability: wire.probability(
    'Probability of hail >= 19 mm within 1 km of the point at any time from now up to the lead; never below a shorter lead.',
  ),
  quality: z.enum(['production', 'experimental']).meta({ description: 'How far the lead may be trusted.' }),
  note: z.string().nullable().meta({ description: 'Why it is experimental, and how it did on real evenings.' }),
});

const NearestStorm = wire.resource('NearestStorm', {
  track_id: z.string().meta({ description: 'For GET /v1/storms/{track_id}.' }),
  distance_km: wire.km('Geodesic distance from the point to the storm where it was seen last.'),
  current_probability: wire.probability('ml_probability of the storm: hail >= 25.4 mm with it within 60 minutes.'),
  data_timestamp: wire.time('Scan that saw the storm last.'),
  motion: Motion,
});

/** Probability that hail strikes a point soon. */
export const Nowcast = wire.resource('Nowcast', {
  active: wire.active('a tracked storm, or hail of 10 mm or more in the newest scan,'),
  location: z.object({ lat: wire.lat(), lon: wire.lon() }),
  nearest_storm: NearestStorm.nullable().meta({
    description: 'Nearest tracked storm in range; null without one, even where hail is: note says why.',
  }),
  nowcast: z
    .object({ t15: Lead, t30: Lead, t45: Lead })
    .nullable()
    .meta({ description: 'Null without a storm or hail in range: a zero would be a forecast.' }),
  note: z.string().nullable().meta({
    description:
      'Why nearest_storm is null although hail is in range, that all hail in range is too small to count, why active differs from that of GET /v1/hail/current with the same radius, which events the probabilities count where that of the storm is the larger, or that no data can exist there; null where there is nothing to explain.',
  }),
  model_version: z.string().meta({
    description:
      'Version of the model, and after the plus what its weights were fitted on: mrms for real radar, sim for simulated evenings.',
  }),
  data_timestamp: wire.dataTimestamp(),
});
export type Nowcast = z.infer<typeof Nowcast>;

export const NOWCAST_EXAMPLE: wire.Example<typeof Nowcast> = {
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
      t15: { minutes: 15, probability: 0.231, quality, note: leadNote(t15) },
      t30: { minutes: 30, probability: 0.264, quality, note: leadNote(t30) },
      t45: { minutes: 45, probability: 0.266, quality, note: leadNote(t45, GROWTH_AND_DECAY) },
    },
    note: TWO_EVENTS,
    model_version: NOWCAST_MODEL.observed.version,
    data_timestamp: '2026-05-01T20:12:38Z',
  },
};
