import type { Feature } from 'geojson';
import type { PortfolioLocations } from '../../../schemas/resources/portfolio-location.ts';
import { counted } from '../page/words.ts';
import { dotMark, type Reading, type ReadLayer, textMark } from './layer.ts';

const COLOR = '#22303c';
const PAGE = 200;
/** More locations than these are not read for a picture. */
const PAGES_MAX = 5;

/** Locations of the business's portfolio. */
export const locations: ReadLayer = {
  kind: 'read',
  id: 'locations',
  label: 'Own locations',
  scope: 'portfolio:read',
  price: `1 credit for ${PAGE}`,
  key: [{ color: COLOR, words: 'a location of your portfolio', shape: 'dot' }],
  fresh_ms: 300_000,
  unavailable: () => null,
  serves: () => true,
  async read({ call }): Promise<Reading> {
    const features: Feature[] = [];
    let cursor: string | null = null;
    for (let page = 0; page < PAGES_MAX; page++) {
      const next = cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`;
      const body: PortfolioLocations = await call(`/portfolio/locations?limit=${PAGE}${next}`);
      for (const { name, lat, lon, address, tags } of body.locations)
        features.push({
          type: 'Feature',
          properties: { name, address, tags: tags.join(', ') },
          geometry: { type: 'Point', coordinates: [lon, lat] },
        });
      cursor = body.next_cursor;
      if (cursor === null) break;
    }
    const note = cursor === null ? null : `The first ${PAGES_MAX * PAGE} by name; the rest is not drawn.`;
    return { features, note };
  },
  visible: ({ features }) => features,
  inWords: ({ length }, { note }) =>
    [length === 0 ? 'Your portfolio has no locations.' : `${counted(length, 'location')}.`, note]
      .filter(Boolean)
      .join(' '),
  marks: [
    dotMark('#fff', {
      'circle-radius': ['interpolate', ['linear'], ['zoom'], 3, 2.5, 8, 5],
      'circle-stroke-color': COLOR,
      'circle-stroke-width': ['interpolate', ['linear'], ['zoom'], 3, 1.5, 8, 3],
    }),
    textMark(
      COLOR,
      { 'text-field': ['get', 'name'], 'text-anchor': 'top', 'text-offset': [0, 0.7], 'text-max-width': 9 },
      { minzoom: 8 },
    ),
  ],
  facts: (properties) => ({
    title: properties?.name,
    color: COLOR,
    lines: ['Location of your portfolio', properties?.address, properties?.tags && `Tags: ${properties.tags}`].filter(
      (line) => typeof line === 'string' && line !== '',
    ),
  }),
};
