import { namedFlavor, layers as protomapsLayers } from '@protomaps/basemaps';
import type { LayerSpecification as Layer, Map as MapLibre, StyleSpecification } from 'maplibre-gl';
import type { Archives } from '../data/archives.ts';
import { SCHEME } from '../page/palette.ts';

/** Street map of the operator: areas under the hail, lines and names over it. */
type Streets = Pick<StyleSpecification, 'sources' | 'layers' | 'sprite'>;

const STREETS = 'streets';
/** Fonts of the reader's device: no glyphs are fetched. */
const FONT = ['Helvetica Neue', 'Arial', 'sans-serif'];
/** Layers of the map's own style: what lies above the land, and above its lines. */
const ABOVE: Readonly<Record<'land' | 'lines', string>> = { land: 'reflectivity', lines: 'storms-edges' };
const AREAS: readonly string[] = ['background', 'fill', 'raster', 'hillshade'] satisfies Layer['type'][];
const MARKS: readonly string[] = ['line', 'circle', 'symbol'] satisfies Layer['type'][];

/** Adds the roads and names of the operator's street map, which take the place of the towns and states of the ground. */
export function addStreets(map: MapLibre, { sprite = [], sources, layers }: Streets): void {
  for (const { id, url } of typeof sprite === 'string' ? [{ id: 'default', url: sprite }] : sprite)
    map.addSprite(id, url);
  for (const [id, source] of Object.entries(sources)) map.addSource(id, source);
  for (const layer of layers) {
    if (AREAS.includes(layer.type)) map.addLayer(layer, ABOVE.land);
    if (MARKS.includes(layer.type)) map.addLayer(layer, ABOVE.lines);
  }
  map.setGlobalStateProperty('names', 'none');
}

/** The street map at an address: a Protomaps archive, or a style. */
export async function openStreets(address: URL, archives: Archives): Promise<Streets> {
  if (address.pathname.endsWith('.pmtiles')) {
    const { maxZoom: maxzoom } = await archives.open(address.href).getHeader();
    const flavor = namedFlavor(SCHEME === 'dark' ? 'black' : 'white');
    const drawn = protomapsLayers(STREETS, flavor, { lang: 'en' }).filter(({ id }) => !ICONS.has(id));
    const source = { type: 'vector', tiles: archives.tilesOf([address.href]), maxzoom } as const;
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
