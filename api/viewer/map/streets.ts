import { layers as layersOf, namedFlavor } from '@protomaps/basemaps';
import type { LayerSpecification, Map as MapLibre, StyleSpecification } from 'maplibre-gl';
import type { Archives } from '../data/archives.ts';
import { meta } from '../page/page.ts';
import { SCHEME } from '../page/palette.ts';

type Streets = Pick<StyleSpecification, 'sources' | 'layers' | 'sprite'>;

const STREETS = 'streets';
/** Layers of the map's own style above which streets go: areas under the hail, lines and names over it. */
const LAND = 'reflectivity';
const LINES = 'storms-edges';
const ABOVE: Readonly<Partial<Record<LayerSpecification['type'], string>>> = {
  ...{ background: LAND, fill: LAND, raster: LAND, hillshade: LAND },
  ...{ line: LINES, circle: LINES, symbol: LINES },
};
/** Fonts of the reader's device, in place of glyphs that would have to be fetched. */
const FONT = ['Helvetica Neue', 'Arial', 'sans-serif'];
/** Layers of a Protomaps archive that need a sheet of icons, which is not served: their names would be pinned to nothing. */
const ICONS = ['pois', 'roads_shields', 'roads_oneway'];

/** Adds the operator's street map, a Protomaps archive or a style, whose places take the place of those of the ground. */
export async function addStreets(map: MapLibre, archives: Archives, placed: Promise<void>): Promise<void> {
  const [light, dark = light] = meta('hail-streets').split(' ');
  const address = new URL(SCHEME === 'dark' ? dark : light, location.href);
  const isArchive = address.pathname.endsWith('.pmtiles');
  const { sprite = [], sources, layers } = isArchive ? await readArchive(address, archives) : await readStyle(address);
  await placed;
  for (const { id, url } of typeof sprite === 'string' ? [{ id: 'default', url: sprite }] : sprite)
    map.addSprite(id, url);
  for (const [id, source] of Object.entries(sources)) map.addSource(id, source);
  for (const layer of layers) {
    const own = layer.type === 'symbol' ? { 'text-font': FONT, ...(isArchive && { 'icon-image': '' }) } : {};
    const named = { ...layer, id: `${STREETS}-${layer.id}`, layout: { ...layer.layout, ...own } } as LayerSpecification;
    if (ABOVE[layer.type] !== undefined) map.addLayer(named, ABOVE[layer.type]);
  }
  map.setGlobalStateProperty('names', 'none');
}

async function readArchive({ href }: URL, { open, show }: Archives): Promise<Streets> {
  const { maxZoom: maxzoom } = await open(href).getHeader();
  const drawn = layersOf(STREETS, namedFlavor(SCHEME === 'dark' ? 'black' : 'white'), { lang: 'en' });
  return {
    sources: { [STREETS]: { type: 'vector', tiles: [show(STREETS, [href])], maxzoom } },
    layers: drawn.filter(({ id }) => !ICONS.includes(id)),
  };
}

async function readStyle(address: URL): Promise<Streets> {
  const response = await fetch(address);
  if (!response.ok) throw new Error(`the street map answered ${response.status}`);
  return response.json();
}
