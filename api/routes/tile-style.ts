import { colored, type Scheme } from '../../schemas/palette.ts';
import { ATTRIBUTIONS } from '../../schemas/provenance.ts';
import { ApiError } from '../http/errors.ts';
import { JSON_TYPE } from '../http/reply.ts';
import { archiveUrl, dailyArchive } from '../published/archives/tile-archives.ts';
import type { Edition } from '../published/catalog.ts';
import type { PublicRoute } from '../server/public.ts';
import { parseQuery } from '../server/validate.ts';
import type { Services } from '../services.ts';
import style from '../viewer/map/style.json' with { type: 'json' };
import { GROUND_SOURCES, groundPath } from './viewer.ts';

/**
 * GET /tiles/style.json: a style for MapLibre with the ground and the hail of a storm date, of the newest that is drawn unless `date`
 * names another; `scheme=dark` is for dark pages. Names need fonts of the reader's page, so it has none.
 */
export function tileStyle(services: Pick<Services, 'catalog' | 'base_url' | 'tiles_url'>): PublicRoute {
  return {
    path: '/tiles/style.json',
    handler: async (ctx) => {
      const { date: asked, scheme } = parseQuery(ctx.state.search);
      const edition = services.catalog.edition();
      const day = await drawnDay(edition, asked === undefined ? edition.dates.toReversed() : [asked].flat());
      if (asked !== undefined && day === null) throw new ApiError('not_found', 'no tiles of this date are published');
      const ground = services.base_url.replace(/\/v1$/, await groundPath());
      const hail = day && {
        type: 'vector',
        url: `pmtiles://${archiveUrl(services, 'daily', day.date, day.path)}`,
        attribution: ATTRIBUTIONS[day.source],
      };
      const sources = {
        ground: { type: 'vector', url: `pmtiles://${ground}`, attribution: GROUND_SOURCES },
        ...(hail && { hail }),
      };
      ctx.set({ 'Content-Type': JSON_TYPE, 'Cache-Control': 'public, max-age=60' });
      ctx.body = JSON.stringify({
        version: 8,
        name: day === null ? 'Ground' : `Hail of ${day.date}`,
        center: [-97, 38],
        zoom: 3.5,
        sources,
        layers: layersOf(scheme === 'dark' ? 'dark' : 'light', Object.keys(sources)),
      });
    },
  };
}

/** The first of some dates with a picture, and the file of that; null without one. */
async function drawnDay(edition: Edition, dates: readonly string[]) {
  for (const date of dates) {
    const manifest = await edition.manifest(date);
    const archive = dailyArchive(manifest);
    if (manifest !== null && archive !== null) return { date, path: archive.path, source: manifest.source };
  }
  return null;
}

/** Layers of the map page, which begins with its global state, without names and scans; tracks are not smoothed. */
function layersOf(scheme: Scheme, sources: readonly string[]): readonly object[] {
  const state: Readonly<Record<string, { readonly default: unknown }>> = style.state;
  const text = colored(style.layers, scheme)
    .replaceAll(/\["global-state","(\w+)"\]/g, (_, name: string) => JSON.stringify(state[name]?.default))
    .replaceAll('"source":"smooth"', '"source":"hail"');
  const layers: readonly { id: string; type: string; source?: string }[] = JSON.parse(text);
  const isDrawn = /^(?!town|scan|smooth)/;
  return layers.filter(
    ({ id, type, source = 'ground' }) => sources.includes(source) && type !== 'symbol' && isDrawn.test(id),
  );
}
