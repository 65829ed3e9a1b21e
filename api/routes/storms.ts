import { z } from 'zod';
import type { Blockage } from '../../schemas/geo/blockage.ts';
import { DETAILS } from '../../schemas/resources/fields.ts';
import { LOOKBACK_MIN } from '../../schemas/resources/hail-cell.ts';
import { GET_STORM_EXAMPLE, LIST_STORMS_EXAMPLE, Storms, StormTrack } from '../../schemas/resources/storm.ts';
import { sizeCategory } from '../../schemas/size.ts';
import type { TrackPoint } from '../../schemas/tables/radar.ts';
import { timestamp } from '../../schemas/time.ts';
import { dateQuery, enumQuery, pointQuery, radiusQuery } from '../http/decode.ts';
import { ApiError } from '../http/errors.ts';
import { trackCells, trackHistory } from '../queries/track.ts';
import { monthOfYear } from '../rules/detection-quality.ts';
import { lookbackStart } from '../rules/hail-cells.ts';
import { NO_PRODUCTS, type Products, radarBlock } from '../rules/radar-block.ts';
import { rounded, roundedPosition } from '../rules/rounded.ts';
import { hailNow, hailWithoutStorm, noteOf, stormCell, stormState, trackSummary } from '../rules/storms.ts';
import { detailPrice, PRICED_BY_DETAIL, readEndpoint } from '../server/endpoint.ts';

const DETAIL = enumQuery(DETAILS, 'standard', { description: 'advanced adds radar_signals.' });

export const listStorms = readEndpoint({
  route: 'GET /v1/storms',
  group: 'Storms',
  summary: 'Tracked storm cells around a point',
  description:
    'Storm cells that at least two scans saw and whose track goes on, as the newest scan that saw them shows them, nearest first. A storm leaves the list with the scan that ends or merges its track, however short ago that was; lookback_minutes is how long ago a track that goes on may have been seen, which counts when no scans arrive. A storm that the newest scan missed stays listed for a scan or two, with the older scan_time that saw it. Hail that no tracked storm accounts for, in its first scan or too small for a storm cell, is not listed: note says so where the list is empty, and GET /v1/hail/current lists it. GET /v1/storms/{track_id} answers for all of them. direction_deg is the direction towards which a storm moves; meteorologists often give the direction it comes from, which differs by 180.',
  scope: 'storms:read',
  query: z.object({
    ...pointQuery,
    radius_km: radiusQuery({ max: 150, default: 50 }),
    detail: DETAIL,
  }),
  reply: Storms,
  example: LIST_STORMS_EXAMPLE,
  priced: PRICED_BY_DETAIL,
  price: detailPrice('storms.list', { standard: 15, advanced: 25 }),
  plan: ({ now_ms, edition }) => ({ dates: edition.liveDates(lookbackStart(now_ms)) }),
  answer: async ({ query, now_ms, edition, services: { live, terrain } }) => {
    const { radius_km, detail } = query;
    const [snapshot, model] = [live.snapshot(edition), terrain.model()];
    const since_ms = lookbackStart(now_ms);
    const near = { ...query, since_ms };
    const storms = snapshot.stormsWithin(query, radius_km, since_ms);
    const largest_mm = Math.max(0, ...storms.map(({ item }) => item.seen.estimated_size_mm));
    const body: Storms = {
      active: storms.length > 0,
      detail,
      data_as_of: timestamp(snapshot.newest_scan_ms),
      summary: {
        total_cells: storms.length,
        closest_cell_km: storms[0] === undefined ? null : rounded(storms[0].distance_km, 2),
        max_size_category: sizeCategory(largest_mm),
      },
      cells: storms.map(({ item: { seen }, distance_km }) => ({
        ...stormCell(seen, distance_km),
        ...(detail === 'advanced'
          ? { radar_signals: signalsOf(snapshot.cell(seen.scan_time, seen.cell_index), seen, model) }
          : {}),
      })),
      note: storms.length > 0 ? null : noteOf(hailWithoutStorm(snapshot, near, hailNow(snapshot, near))),
      query: {
        ...roundedPosition(query),
        radius_km,
        lookback_minutes: LOOKBACK_MIN,
      },
    };
    const known = [snapshot.version, snapshot.oldestSince(since_ms), monthOfYear(now_ms), model?.version ?? null];
    return { body, tag: known };
  },
});

/** Radar products over a storm cell; without products where tracks share the cell. */
function signalsOf(cell: (Products & { shared: boolean }) | null, point: TrackPoint, terrain: Blockage | null) {
  if (cell === null) return null;
  return radarBlock(point.estimated_size_mm, cell.shared ? NO_PRODUCTS : cell, point, point.scan_time, terrain);
}

export const getStorm = readEndpoint({
  route: 'GET /v1/storms/{track_id}',
  group: 'Storms',
  summary: 'The life of a tracked storm cell',
  description:
    'Every scan that saw the storm, oldest first, over midnights too; the date only selects a track that has a point on it. A track without a point on the date, or seen by one scan only, is not found.',
  scope: 'storms:read',
  params: z.object({ track_id: z.string().meta({ description: 'From GET /v1/storms.' }) }),
  query: z.object({
    date: dateQuery({ description: 'Storm date, YYYY-MM-DD; default: the newest on which the track has a point.' }),
    detail: DETAIL,
  }),
  reply: StormTrack,
  example: GET_STORM_EXAMPLE,
  priced: PRICED_BY_DETAIL,
  clocked: ['date'],
  plan: ({ query: { date } }) => ({ dates: date === null ? [] : [date] }),
  price: detailPrice('storms.get', { standard: 10, advanced: 18 }),
  answer: async ({ params: { track_id }, query, edition, services: { engine, storm_day_start_hour, terrain } }) => {
    const { detail } = query;
    const asked = query.date ?? null;
    const track = await trackHistory(engine, edition, storm_day_start_hour, track_id, asked);
    const date = asked ?? track?.dates.at(-1);
    if (track === null || date === undefined)
      throw new ApiError('not_found', `no track ${track_id}${asked === null ? '' : ` on ${asked}`}`);
    const cells = detail === 'advanced' ? await trackCells(engine, edition, track_id, track.dates) : null;
    const [as_of_ms, model] = [edition.dataAsOf(track.dates), terrain.model()];
    const body: StormTrack = {
      track_id,
      date,
      detail,
      data_as_of: timestamp(as_of_ms),
      summary: trackSummary(track.points),
      points: track.points.map((point) => ({
        ...stormState(point),
        ...(cells === null ? {} : { radar_signals: signalsOf(cells.get(point.scan_time) ?? null, point, model) }),
      })),
    };
    return { body, dates: track.dates };
  },
});
