import { layers, namedFlavor } from '@protomaps/basemaps';
import type { LayerSpecification } from 'maplibre-gl';
import type { Basemap, Scheme } from '../../../schemas/palette.ts';

/** Symbols that need a sheet of icons, which is not served: their names would be pinned to nothing. */
const WITHOUT_ICONS = new Set(['pois', 'roads_shields', 'roads_oneway']);
const FLAVORS = { light: 'white', dark: 'black' } as const;

/** Layers of a street map from the Protomaps tiles of a source, in the muted colours of our own map, so that hail stands out. */
export function streetLayers(source: string, scheme: Scheme, colors: Basemap): LayerSpecification[] {
  const { outside, water, land, neighbour, border, county, faint, town } = colors;
  const areas = { background: outside, water, earth: land, buildings: neighbour };
  const parks = { park_a: neighbour, park_b: neighbour, wood_a: neighbour, wood_b: neighbour };
  const major = { highway: border, bridges_highway: border, major: county, bridges_major: county };
  const minor = { minor_a: county, minor_b: county, link: county, bridges_minor: county };
  const places = { boundaries: faint, subplace_label: faint, state_label: faint, country_label: faint };
  const names = { roads_label_major: faint, roads_label_minor: faint, ocean_label: faint, city_label: town };
  const halos = { city_label_halo: land, subplace_label_halo: land, state_label_halo: land };
  const roadHalos = { roads_label_major_halo: land, roads_label_minor_halo: land };
  const muted = { ...areas, ...parks, ...major, ...minor, ...places, ...names, ...halos, ...roadHalos };
  return layers(source, { ...namedFlavor(FLAVORS[scheme]), ...muted }, { lang: 'en' })
    .filter(({ id }) => !WITHOUT_ICONS.has(id))
    .map((layer) => {
      const layout = Object.entries(layer.layout ?? {}).filter(([name]) => !name.startsWith('icon-'));
      return { ...layer, layout: Object.fromEntries(layout) } as LayerSpecification;
    });
}
