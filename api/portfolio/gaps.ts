import type { Position } from '../../schemas/geo/position.ts';
import { GAP_ASSETS_MAX, GAP_GROUPS_MAX, type PortfolioGaps } from '../../schemas/resources/portfolio-impact.ts';
import { timestamp } from '../../schemas/time.ts';
import { forEachInChunks } from '../http/event-loop.ts';
import { type Coverage, radarGapsOf } from '../rules/radar-coverage.ts';

/** Locations per chunk, after which other requests may run: about 3 ms. */
const CHUNK = 200;

/** Radar coverage of each location on a storm date. Locations with the same gaps are one entry, the least seen first. */
export async function portfolioGaps(
  locations: readonly (Position & { readonly id: string })[],
  date: string,
  dates_without_data: readonly string[],
  coverageAt: (point: Position) => ReadonlyMap<string, Coverage | null>,
): Promise<PortfolioGaps> {
  const groups = new Map<ReadonlyMap<string, Coverage | null>, string[]>();
  await forEachInChunks(locations, CHUNK, (location) => {
    const coverage = coverageAt(location);
    const ids = groups.get(coverage);
    if (ids === undefined) groups.set(coverage, [location.id]);
    else ids.push(location.id);
  });
  const anywhere = [...groups.keys()][0] ?? coverageAt({ lat: 0, lon: 0 });
  const until_ms = anywhere.get(date)?.until_ms ?? null;
  const in_part = [...groups].flatMap(([coverage, ids]) => {
    const [part] = radarGapsOf([], coverage).dates_seen_in_part;
    return part === undefined || (part.gaps.length === 0 && part.share > 0)
      ? []
      : { share: part.share, gap_count: part.gap_count, gaps: part.gaps, ids };
  });
  const count = (of: typeof in_part) => of.reduce((sum, { ids }) => sum + ids.length, 0);
  return {
    dates_without_data: [...dates_without_data],
    dates_with_unknown_scans: radarGapsOf([], anywhere).dates_with_unknown_scans,
    until: timestamp(until_ms),
    assets_seen_in_part: count(in_part),
    assets_unseen: count(in_part.filter(({ share }) => share === 0)),
    seen_in_part: in_part
      .sort((a, b) => a.share - b.share || b.ids.length - a.ids.length)
      .slice(0, GAP_GROUPS_MAX)
      .map(({ ids, ...part }) => ({ ...part, asset_count: ids.length, asset_ids: ids.slice(0, GAP_ASSETS_MAX) })),
  };
}
