import { z } from 'zod';
import {
  fitFor,
  type NowcastStorm,
  nowcast,
  nowcastStorm,
  REACH_KM,
  STRIKE_MM,
} from '../../schemas/nowcast/probability.ts';
import { NOWCAST_MODEL } from '../../schemas/reference/nowcast-model.ts';
import { type LeadKey, NOWCAST_EXAMPLE, NOWCAST_LEADS, Nowcast } from '../../schemas/resources/nowcast.ts';
import { timestamp } from '../../schemas/time.ts';
import { latitudeQuery, longitudeQuery, radiusQuery } from '../decode.ts';
import { flatPrice, readEndpoint } from '../endpoint.ts';
import type { Found, LiveSnapshot, Storm } from '../live.ts';
import { lookbackStart } from '../rules/hail-cells.ts';
import { rounded, roundedPosition } from '../rules/rounded.ts';
import { motionOf } from '../rules/storms.ts';

/** Material that the weights were fitted on. */
function fittedOn(): string {
  const { observed, simulated } = NOWCAST_MODEL;
  return `Weights for observed data (model_version ${observed.version}) were fitted on ${observed.material.source}, those for simulated data (${simulated.version}) on ${simulated.material.source}; no storm that is observed gets the latter.`;
}

/** A nowcast uses the clock in whole minutes, so that its answer stays the same for a minute. */
const STEP_MS = 60_000;

export const getHailNowcast = readEndpoint({
  method: 'GET',
  path: '/v1/hail/nowcast',
  group: 'Hail detection',
  summary: 'Probability that hail strikes a point within 15, 30 and 45 minutes',
  description: `Hail of 19 mm or more within 1 km of the point at any time from now up to the lead, from all tracked storms. Answered only while a tracked storm is in range; without one nowcast is null, because a zero would be a forecast. Probabilities weigh where the hail of storms is, where it goes if it keeps its course, how uncertain that course is, and how long hail of its size lasts. ${fittedOn()}`,
  scope: 'hail:read',
  params: null,
  query: z.object({
    lat: latitudeQuery(),
    lon: longitudeQuery(),
    radius_km: radiusQuery({ max: 50, default: 15, description: 'How near a storm must be for an answer.' }),
  }),
  body: null,
  reply: Nowcast,
  example: NOWCAST_EXAMPLE,
  price: flatPrice('hail.nowcast', 10),
  plan: ({ now_ms, edition }) => ({ dates: edition.liveDates(lookbackStart(now_ms)) }),
  answer: async ({ query, now_ms, edition, services: { live } }) => {
    const { radius_km } = query;
    const snapshot = live.snapshot(edition);
    const since_ms = lookbackStart(now_ms);
    const storms = snapshot.stormsWithin(query, REACH_KM, since_ms);
    const dates = storms.length === 0 ? edition.liveDates(since_ms) : storms.map(({ item }) => item.seen.storm_date);
    const nearest = storms[0] !== undefined && storms[0].distance_km <= radius_km ? storms[0] : null;
    const fit = fitFor(edition.provenanceOf([...new Set(dates)]));
    const at_ms = Math.floor(now_ms / STEP_MS) * STEP_MS;
    const body: Nowcast = {
      active: nearest !== null,
      location: roundedPosition(query),
      nearest_storm: nearest && nearestStorm(nearest),
      nowcast:
        nearest &&
        leads(
          nowcast(
            query,
            storms.map(({ item }) => stormOf(snapshot, item)),
            at_ms,
            fit,
          ),
        ),
      model_version: fit.version,
      data_timestamp: timestamp(snapshot.newest_scan_ms),
    };
    return { body };
  },
});

function nearestStorm({ item: { seen }, distance_km }: Found<Storm>): NonNullable<Nowcast['nearest_storm']> {
  return {
    track_id: seen.track_id,
    distance_km: rounded(distance_km, 2),
    current_probability: rounded(seen.ml_probability, 3),
    data_timestamp: timestamp(seen.scan_time),
    motion: motionOf(seen),
  };
}

/** A storm with its cell's detections >= 19 mm. */
function stormOf({ detections, detectionsOfCell }: LiveSnapshot, { seen }: Storm): NowcastStorm {
  const { scan_time, cell_index } = seen;
  const [sizes, lats, lons] = [
    detections.column('estimated_size_mm'),
    detections.column('lat'),
    detections.column('lon'),
  ];
  const pixels = (cell_index === null ? [] : detectionsOfCell(scan_time, cell_index))
    .filter((index) => sizes[index] >= STRIKE_MM)
    .map((index) => ({ lat: lats[index], lon: lons[index] }));
  return nowcastStorm(seen, pixels);
}

function leads(probabilities: Readonly<Record<LeadKey, number>>): NonNullable<Nowcast['nowcast']> {
  const lead = ({ key, minutes, quality, note }: (typeof NOWCAST_LEADS)[number]) => ({
    minutes,
    probability: rounded(probabilities[key], 3),
    quality,
    note,
  });
  return { t15: lead(NOWCAST_LEADS[0]), t30: lead(NOWCAST_LEADS[1]), t45: lead(NOWCAST_LEADS[2]) };
}
