import type { LayerSpecification as Layer, SourceSpecification, StyleSpecification } from 'maplibre-gl';
import type { Archives } from '../data/archives.ts';
import { meta } from '../page/page.ts';
import { BASEMAP, SCHEME } from '../page/palette.ts';
import type { Picture } from './pictures.ts';
import { byNumber, byZoom, dot, FONT, fill, layer, line, type Part, text } from './style.ts';

/** Tiles of the ground are small. */
const PIECE_BYTES = 16384;

/** Street map of the operator: areas under the hail, lines and names over it. */
type Streets = Pick<StyleSpecification, 'sources' | 'layers' | 'sprite'>;

const GROUND = 'ground';
const STREETS = 'streets';
const AREAS: readonly string[] = ['background', 'fill', 'raster', 'hillshade'] satisfies Layer['type'][];
const MARKS: readonly string[] = ['line', 'circle', 'symbol'] satisfies Layer['type'][];

/** Land, lines, names and towns from the archive of this service; where the operator has a street map, its roads and names. */
export function groundPicture(archives: Archives, streets: Streets | null): Picture {
  const url = archives.address(new URL(meta('hail-ground'), location.href).href, PIECE_BYTES);
  const of = (types: readonly string[]) => (streets?.layers ?? []).filter(({ type }) => types.includes(type));
  return {
    sources: { ...streets?.sources, [GROUND]: { type: 'vector', url } },
    layers: {
      land: [...LAND, ...of(AREAS)],
      lines: [...LINES, ...(streets ? [COUNTY_NAMES] : [COUNTY_NAMES, ...NAMES]), ...of(MARKS)],
    },
  };
}

/** The street map that the page names: a Protomaps archive, or the style for light screens and that for dark ones. */
export async function openStreets(archives: Archives): Promise<Streets | null> {
  const [light, dark = light] = meta('hail-streets').split(' ');
  const address = new URL(SCHEME === 'dark' ? dark : light, location.href);
  if (light === '') return null;
  if (address.pathname.endsWith('.pmtiles')) {
    const { layers, namedFlavor } = await import('@protomaps/basemaps');
    const source: SourceSpecification = { type: 'vector', url: archives.address(address.href) };
    const flavor = namedFlavor(SCHEME === 'dark' ? 'black' : 'white');
    const drawn = layers(STREETS, flavor, { lang: 'en' }).filter(({ id }) => !ICONS.has(id));
    return ownFont({ sources: { [STREETS]: source }, layers: drawn.map(withoutIcon) });
  }
  const response = await fetch(address);
  if (!response.ok) throw new Error(`the street map answered ${response.status}`);
  return ownFont(await response.json());
}

/** Layers of a Protomaps archive that need a sheet of icons, which is not served: their names would be pinned to nothing. */
const ICONS = new Set(['pois', 'roads_shields', 'roads_oneway']);

function withoutIcon(layer: Layer): Layer {
  const layout = Object.entries(layer.layout ?? {}).filter(([name]) => !name.startsWith('icon-'));
  return { ...layer, layout: Object.fromEntries(layout) } as Layer;
}

/** The map with names of its own for its layers, and the reader's fonts in place of glyphs that would have to be fetched. */
function ownFont({ layers, ...style }: Streets): Streets {
  const named = layers.map((layer) => ({ ...layer, id: `${STREETS}-${layer.id}` }));
  const withFont = (layer: Layer): Layer =>
    layer.type === 'symbol' ? { ...layer, layout: { ...layer.layout, 'text-font': FONT } } : layer;
  return { ...style, layers: named.map(withFont) };
}

const ground = (id: string, of: string, part: Part) => layer(id, GROUND, part, of);
const lakes = (inland: boolean) => fill(BASEMAP.water, 1, { filter: ['==', ['get', 'inland'], inland] });

/** Water, neighbouring countries, lakes and land, below all hail. */
const LAND: readonly Layer[] = [
  { id: 'outside', type: 'background', paint: { 'background-color': BASEMAP.water } },
  ground('neighbours', 'neighbours', fill(BASEMAP.neighbour)),
  // Borders of two sources do not meet everywhere: the gap between them is no water.
  ground('neighbour-edges', 'neighbours', line(BASEMAP.neighbour, byZoom(3, 1, 8, 4, 12, 24))),
  ground('great-lakes', 'lakes', lakes(false)),
  ground('land', 'land', fill(BASEMAP.land)),
  ground('inland-lakes', 'lakes', lakes(true)),
];

/** Borders of states and counties, and coasts, over the hail. */
const LINES: readonly Layer[] = [
  ground('borders', 'county_lines', line(BASEMAP.county, byZoom(6.2, 0.4, 9, 1, 13, 1.6), { minzoom: 6.2 })),
  ground('state-lines', 'state_lines', line(BASEMAP.state, byZoom(3, 0.8, 8, 2, 12, 3))),
  ground('coasts', 'coasts', line(BASEMAP.outline, byZoom(3, 0.7, 8, 1.5))),
];

const SHOWN_AT_ZOOM: ['<=', ['get', string], ['zoom']] = ['<=', ['get', 'from_zoom'], ['zoom']];

const COUNTY_NAMES = ground(
  'county-names',
  'county_names',
  text(['upcase', ['get', 'name']], BASEMAP.quiet, BASEMAP.land, {
    minzoom: 8.6,
    filter: SHOWN_AT_ZOOM,
    layout: {
      'text-size': byZoom(8.6, 9, 12, 12),
      'text-letter-spacing': 0.12,
      'text-max-width': 8,
      'text-padding': 6,
      // Seats of counties lie in the middle, too: the county's name makes way.
      'text-variable-anchor': ['center', 'top', 'bottom', 'left', 'right'],
      'text-radial-offset': 2.4,
    },
  }),
);

/** Towns and names of states; where they meet, the larger one stays. */
const NAMES: readonly Layer[] = [
  ground(
    'town-dots',
    'towns',
    dot(BASEMAP.town, byZoom(4, 1.4, 10, 2.2), BASEMAP.land, {
      minzoom: 4,
      filter: SHOWN_AT_ZOOM,
      paint: { 'circle-opacity': 0.8, 'circle-stroke-width': 0.8 },
    }),
  ),
  ground(
    'towns',
    'towns',
    text(['get', 'name'], BASEMAP.town, BASEMAP.land, {
      minzoom: 4,
      filter: SHOWN_AT_ZOOM,
      layout: {
        'text-size': byZoom(
          ...[4, byNumber('population', 6e5, 10.5, 4e6, 12.5)],
          ...[8, byNumber('population', 6e3, 10.5, 2e5, 14, 2e6, 17)],
          ...[11, byNumber('population', 1e3, 11.5, 2e5, 17, 2e6, 20)],
        ),
        'text-variable-anchor': ['left', 'right', 'bottom', 'top'],
        'text-radial-offset': 0.45,
        'text-max-width': 8,
        'text-padding': 4,
        'symbol-sort-key': ['-', 0, ['get', 'population']],
      },
    }),
  ),
  ground(
    'names',
    'state_names',
    text(['upcase', ['get', 'name']], BASEMAP.faint, BASEMAP.land, {
      minzoom: 3.2,
      maxzoom: 8,
      layout: {
        'text-size': byZoom(3.2, 8, 7, 14),
        'text-letter-spacing': 0.14,
        'text-max-width': 7,
        'symbol-sort-key': ['-', 0, ['get', 'extent']],
      },
      paint: { 'text-opacity': byZoom(5, 0.85, 8, 0.6) },
    }),
  ),
];
