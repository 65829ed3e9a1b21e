import { z } from 'zod';
import type { MultiPolygon } from '../../schemas/geo/rings.ts';
import { combineProvenances } from '../../schemas/provenance.ts';
import type { PolygonGeometry } from '../../schemas/resources/geometry.ts';
import { WARNINGS_EXAMPLE, type Warning, Warnings } from '../../schemas/resources/warning.ts';
import type { MesoscaleDiscussion, Watch } from '../../schemas/resources/watch.ts';
import type { Watch as WatchRow } from '../../schemas/tables/feeds.ts';
import { MS_PER_DAY, timestamp } from '../../schemas/time.ts';
import { booleanQuery, integerQuery, pointQuery, radiusQuery } from '../http/decode.ts';
import type { Edition } from '../published/catalog.ts';
import { type PlacedWarning, warningsAround, watchesAround } from '../queries/warnings.ts';
import { hasGeometry, polygonsOf } from '../rules/areas.ts';
import { outsideNote } from '../rules/outside.ts';
import { rounded, roundedPosition, roundedRings } from '../rules/rounded.ts';
import { watchBox } from '../rules/watch-area.ts';
import { flatPrice, readEndpoint } from '../server/endpoint.ts';

/** Collections that the answer lists. */
const LISTS = ['warnings', 'watches'] as const;

export const listWarnings = readEndpoint({
  route: 'GET /v1/warnings',
  group: 'Outlooks and warnings',
  summary: 'Warnings and watches around a point',
  description:
    'Severe Thunderstorm and Tornado Warnings of the National Weather Service, and watches and mesoscale discussions of the Storm Prediction Center, whose area holds the point or has its nearest edge within radius_km. With active=true what is in force now: nothing that has expired, was cancelled or was replaced. With active=false what was in force at some time of the last days times 24 hours, each warning once, as its last message has it. A watch without an outline is found by its bbox. A warning whose polygon is broken or absent has no known place: it is in no list and counts in unplaced_warnings. While a feed was never collected, its list lacks what it would have brought: data_as_of is null then, and note names the feed. Else data_as_of tells until when both lists are known to be complete; when a feed fails it stays behind.',
  scope: 'warnings:read',
  query: z.object({
    ...pointQuery,
    radius_km: radiusQuery({ max: 200, default: 50 }),
    active: booleanQuery(true, { description: 'false answers the history.' }),
    days: integerQuery({ min: 1, max: 30, default: 1, description: 'Days of the history, used with active=false.' }),
  }),
  reply: Warnings,
  example: WARNINGS_EXAMPLE,
  price: flatPrice('warnings.list', 8),
  plan: ({ edition }) => ({
    dates: [],
    warnings: edition.collection('warnings'),
    watches: edition.collection('watches'),
    silent: LISTS.flatMap((name) => neverCollected(edition, name)),
  }),
  answer: async ({ query, now_ms, plan, services: { engine } }) => {
    const { lat, lon, radius_km, active, days } = query;
    const { silent } = plan;
    const question = { lat, lon, radius_km, since_ms: active ? null : now_ms - days * MS_PER_DAY, now_ms };
    const [warned, watched] = await Promise.all([
      plan.warnings === null ? null : warningsAround(engine, plan.warnings, question),
      plan.watches === null ? null : watchesAround(engine, plan.watches, question),
    ]);
    const fed = [plan.warnings, plan.watches].filter((collection) => collection !== null);
    const items = [...(warned?.found.map(({ warning }) => warning) ?? []), ...(watched ?? [])];
    const body: Warnings = {
      location: roundedPosition(query),
      active_only: active,
      warnings: warned?.found.map(({ warning, end_ms }) => warningResource(warning, end_ms)) ?? [],
      watches: watched?.map(watchResource) ?? [],
      unplaced_warnings: warned?.unplaced ?? null,
      data_as_of: silent.length > 0 ? null : timestamp(Math.min(...fed.map(({ as_of_ms }) => as_of_ms))),
      note: outsideNote('warnings', query, query.radius_km) ?? silenceNote(silent),
    };
    const provenances = items.length > 0 ? items.map((item) => item.data_source) : fed.map(({ source }) => source);
    return { body, provenance: combineProvenances(provenances) };
  },
});

function silenceNote(silent: readonly string[]): string | null {
  if (silent.length === 0) return null;
  return `Nothing was ever collected of ${silent.join(' and ')}: what is not listed here may be in force.`;
}

/**
 * Feeds of a list that never delivered. The name of the list itself where nothing was collected and it has no feed. None for a
 * list that was filled by hand while its feeds are silent.
 */
function neverCollected({ collection, feedStates }: Edition, name: (typeof LISTS)[number]): string[] {
  const feeds = feedStates.filter((feed) => feed.collection === name);
  const silent = feeds.filter(({ last_success_at }) => last_success_at === null).map((feed) => feed.name);
  if (collection(name) === null) return silent.length === 0 ? [name] : silent;
  return silent.length === feeds.length ? [] : silent;
}

function warningResource(warning: PlacedWarning, end_ms: number): Warning {
  const { warning_id, event, severity, issued_at, tornado_detection, headline } = warning;
  return {
    id: warning_id,
    event,
    severity,
    issued_at: timestamp(issued_at),
    expires_at: timestamp(end_ms),
    tornado_detection,
    headline,
    geometry: polygonGeometry(polygonsOf(warning)),
  };
}

function watchResource(watch: WatchRow): Watch | MesoscaleDiscussion {
  const [min_lon, min_lat, max_lon, max_lat] = watchBox(watch);
  const edge = (degrees: number) => rounded(degrees, 5);
  const common = {
    id: watch.watch_id,
    issued_at: timestamp(watch.issued_at),
    expires_at: timestamp(watch.expires_at),
    headline: watch.headline,
    geometry: hasGeometry(watch) ? polygonGeometry(polygonsOf(watch)) : null,
    bbox: { min_lat: edge(min_lat), max_lat: edge(max_lat), min_lon: edge(min_lon), max_lon: edge(max_lon) },
  };
  const { type, number, watch_probability_pct, areas } = watch;
  if (type !== 'mesoscale_discussion') return { ...common, type, watch_number: number };
  return {
    ...common,
    type,
    md_number: number,
    watch_number: null,
    watch_probability_pct: rounded(watch_probability_pct, 1),
    areas_affected: areas,
  };
}

/** Warnings and watches have one polygon each: their tables say so. */
function polygonGeometry([polygon]: MultiPolygon): PolygonGeometry {
  if (polygon === undefined) throw new RangeError('the geometry of a warning or watch is empty, expected a polygon');
  return { type: 'Polygon', coordinates: roundedRings(polygon, 6) };
}
