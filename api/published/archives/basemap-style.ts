import { type Flavor, layers, namedFlavor } from '@protomaps/basemaps';
import { BASEMAPS, type Basemap, type Scheme } from '../../../schemas/palette.ts';

type Layer = ReturnType<typeof layers>[number];

/** Source of the street map in the style of the page. */
export const STREETS = 'streets';

/** Symbols that need a sheet of icons, which is not served: their names would be pinned to nothing. */
const WITHOUT_ICONS = new Set(['pois', 'roads_shields', 'roads_oneway']);
const FLAVORS = { light: 'white', dark: 'black' } as const;
const LANGUAGE = 'en';

/** Layers of a street map from Protomaps tiles, in muted colours, so that hail stands out. */
export function streetLayers(scheme: Scheme): Layer[] {
  const flavor = muted(namedFlavor(FLAVORS[scheme]), BASEMAPS[scheme]);
  return layers(STREETS, flavor, { lang: LANGUAGE })
    .filter(({ id }) => !WITHOUT_ICONS.has(id))
    .map(withoutIcon);
}

/** The flavour with land, water, lines and names of our own map. */
function muted(flavor: Flavor, { outside, water, neighbour, land, border, county, faint, town }: Basemap): Flavor {
  return {
    ...flavor,
    background: outside,
    earth: land,
    water,
    buildings: neighbour,
    park_a: neighbour,
    park_b: neighbour,
    wood_a: neighbour,
    wood_b: neighbour,
    highway: border,
    major: county,
    minor_a: county,
    minor_b: county,
    link: county,
    bridges_highway: border,
    bridges_major: county,
    bridges_minor: county,
    boundaries: faint,
    city_label: town,
    city_label_halo: land,
    subplace_label: faint,
    subplace_label_halo: land,
    state_label: faint,
    state_label_halo: land,
    country_label: faint,
    roads_label_major: faint,
    roads_label_major_halo: land,
    roads_label_minor: faint,
    roads_label_minor_halo: land,
    ocean_label: faint,
  };
}

/** The layer without its icon: towns and roads keep their names. */
function withoutIcon(layer: Layer): Layer {
  if (layer.type !== 'symbol') return layer;
  const layout = Object.entries(layer.layout ?? {}).filter(([name]) => !name.startsWith('icon-'));
  return { ...layer, layout: Object.fromEntries(layout) };
}
