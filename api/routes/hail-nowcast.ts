import { z } from 'zod';
import { roughDistanceKm } from '../../schemas/geo/distance.ts';
import type { Position } from '../../schemas/geo/position.ts';
import {
  fitFor,
  type HailSource,
  nowcast,
  REACH_KM,
  STRIKE_KM,
  STRIKE_MM,
  untrackedSources,
} from '../../schemas/nowcast/probability.ts';
import { NOWCAST_MODEL, type NowcastFit } from '../../schemas/reference/nowcast-model.ts';
import {
  type LeadKey,
  NOWCAST_EXAMPLE,
  NOWCAST_LEADS,
  Nowcast,
  SIMULATED_NOTE,
  TWO_EVENTS,
} from '../../schemas/resources/nowcast.ts';
import { timestamp } from '../../schemas/time.ts';
import { pointQuery, radiusQuery } from '../http/decode.ts';
import type { Edition } from '../published/catalog.ts';
import type { Found, LiveSnapshot, Storm } from '../published/live.ts';
import { lookbackStart } from '../rules/hail-cells.ts';
import { rounded, roundedPosition } from '../rules/rounded.ts';
import { hailNow, hailWithoutStorm, hasHailCell, motionOf, noteOf, type Vicinity } from '../rules/storms.ts';
import { flatPrice, readEndpoint } from '../server/endpoint.ts';

/** Material that the weights were fitted on. */
function fittedOn(): string {
  const { observed, simulated } = NOWCAST_MODEL;
  return `Weights for observed data (model_version ${observed.version}) were fitted on ${observed.material.source}, those for simulated data (${simulated.version}) on ${simulated.material.source}; no storm that is observed gets the latter.`;
}

/** A nowcast uses the clock in whole minutes, so that its answer stays the same for a minute. */
const STEP_MS = 60_000;

export const getHailNowcast = readEndpoint({
  route: 'GET /v1/hail/nowcast',
  group: 'Hail detection',
  summary: 'Probability that hail strikes a point within 15, 30 and 45 minutes',
  description: `Hail of 19 mm or more within ${STRIKE_KM} km of the point at any time from now up to the lead, from all tracked storms and all hail of the newest scan. Answered only while a tracked storm, or hail of 10 mm or more in the newest scan, is in range; without them nowcast is null, because a zero would be a forecast. Hail without a track, in its first scan or too small for a storm cell, moves with the storms around it; nearest_storm is null while no tracked storm is in range, and note says why. Probabilities weigh where the hail is, where it goes if it keeps its course, how uncertain that course is, and how fast hail comes and goes; they do not foresee that small hail grows. ${fittedOn()}`,
  scope: 'hail:read',
  query: z.object({
    ...pointQuery,
    radius_km: radiusQuery({ max: 50, default: 15, description: 'How near a storm or hail must be for an answer.' }),
  }),
  reply: Nowcast,
  example: NOWCAST_EXAMPLE,
  price: flatPrice('hail.nowcast', 10),
  plan: ({ now_ms, edition }) => ({ dates: edition.liveDates(lookbackStart(now_ms)) }),
  answer: async ({ query, now_ms, edition, services: { live } }) => {
    const snapshot = live.snapshot(edition);
    const near = { ...query, since_ms: lookbackStart(now_ms) };
    const storms = snapshot.stormsWithin(near, near.radius_km, near.since_ms);
    const nearest = storms[0] ?? null;
    const now = hailNow(snapshot, near);
    const large = now.filter((index) => isLarge(snapshot, index));
    const isSmall = large.length === 0 && storms.every(({ item }) => item.seen.estimated_size_mm < STRIKE_MM);
    const active = nearest !== null || now.length > 0;
    // A nowcast is of one kind of data, that of the newest scan: its weights were fitted on that kind alone.
    const fit = fitFor(edition.newest_provenance);
    const at_ms = Math.floor(now_ms / STEP_MS) * STEP_MS;
    const nearest_storm = nearest && nearestStorm(nearest);
    const strikes = active
      ? leads(nowcast(query, inReach(hailSources(edition, snapshot), near), at_ms, fit), fit)
      : null;
    const body: Nowcast = {
      active,
      location: roundedPosition(query),
      nearest_storm,
      nowcast: strikes,
      note: noteOf([
        ...(nearest === null ? hailWithoutStorm(snapshot, near, now) : []),
        ...(nearest === null && large.some((index) => !snapshot.isTracked(index)) ? [ITSELF] : []),
        ...(active && isSmall ? [TOO_SMALL_TO_COUNT] : []),
        ...(active && !hasHailCell(snapshot, near) ? [BEYOND_CELLS] : []),
        ...(strikes && nearest_storm && nearest_storm.current_probability > strikes.t45.probability
          ? [TWO_EVENTS]
          : []),
      ]),
      model_version: fit.version,
      data_timestamp: timestamp(snapshot.newest_scan_ms),
    };
    return { body };
  },
});

/** Note of an active answer whose radius holds no cell of GET /v1/hail/current. */
const BEYOND_CELLS =
  'GET /v1/hail/current lists no cell in this radius: a cell stands where the hail of its place is largest, which is beyond the radius.';

const ITSELF = 'The nowcast follows from the hail itself.';
const TOO_SMALL_TO_COUNT = `All hail in range is below ${STRIKE_MM} mm, the smallest size that the nowcast counts; it does not foresee growth.`;

/** Storms, and hail without a track, that may arrive within the longest lead. */
function inReach(sources: readonly HailSource[], near: Vicinity): HailSource[] {
  return sources.filter(({ seen }) => seen.scan_time >= near.since_ms && roughDistanceKm(seen, near) <= REACH_KM);
}

function isLarge({ detections }: LiveSnapshot, index: number): boolean {
  return detections.column('estimated_size_mm')[index] >= STRIKE_MM;
}

function nearestStorm({ item: { seen }, distance_km }: Found<Storm>): NonNullable<Nowcast['nearest_storm']> {
  return {
    track_id: seen.track_id,
    distance_km: rounded(distance_km, 2),
    current_probability: rounded(seen.ml_probability, 3),
    data_timestamp: timestamp(seen.scan_time),
    motion: motionOf(seen),
  };
}

function leads(probabilities: Readonly<Record<LeadKey, number>>, fit: NowcastFit): NonNullable<Nowcast['nowcast']> {
  const [t15, t30, t45] = NOWCAST_LEADS;
  const lead = ({ key, note, ...rest }: (typeof NOWCAST_LEADS)[number]) => ({
    ...rest,
    probability: rounded(probabilities[key], 3),
    note: fit === NOWCAST_MODEL.simulated ? SIMULATED_NOTE : note,
  });
  return { t15: lead(t15), t30: lead(t30), t45: lead(t45) };
}

const known = new WeakMap<Edition, readonly HailSource[]>();

/**
 * The hail that a nowcast moves on: of every storm, and the hail >= 19 mm of the newest scan that belongs to none. Made once per
 * edition, of the kind of data of its newest scan alone: that is what the weights were fitted on, and storms of the other kind
 * must not lend their motion either.
 */
function hailSources(edition: Edition, snapshot: LiveSnapshot): readonly HailSource[] {
  const sources = known.get(edition) ?? makeSources(edition, snapshot);
  known.set(edition, sources);
  return sources;
}

function makeSources(edition: Edition, snapshot: LiveSnapshot): HailSource[] {
  const { newest_scan_ms, newestHail, detections, isTracked } = snapshot;
  const [lats, lons] = [detections.column('lat'), detections.column('lon')];
  const largeHail = (indices: readonly number[]): Position[] =>
    indices.filter((index) => isLarge(snapshot, index)).map((index) => ({ lat: lats[index], lon: lons[index] }));
  // Of a coasting storm, the hail is that of an earlier scan: the newest that saw its cell.
  const storms = snapshot.storms
    .filter(({ seen }) => edition.provenanceOf([seen.storm_date]) === edition.newest_provenance)
    .map(({ seen }) => ({ seen, hail: largeHail(snapshot.detectionsOfCell(seen.scan_time, seen.cell_index)) }));
  const untracked = largeHail(newestHail.filter((index) => !isTracked(index)));
  return newest_scan_ms === null ? storms : [...storms, ...untrackedSources(untracked, newest_scan_ms, storms)];
}
