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

/** Parts of a flavour by the colour of our own map that they take. */
const PARTS: Readonly<Partial<Record<keyof Basemap, readonly (keyof Flavor)[]>>> = {
  outside: ['background'],
  water: ['water'],
  land: [
    'earth',
    'city_label_halo',
    'subplace_label_halo',
    'state_label_halo',
    'roads_label_major_halo',
    'roads_label_minor_halo',
  ],
  neighbour: ['buildings', 'park_a', 'park_b', 'wood_a', 'wood_b'],
  border: ['highway', 'bridges_highway'],
  county: ['major', 'minor_a', 'minor_b', 'link', 'bridges_major', 'bridges_minor'],
  faint: [
    'boundaries',
    'subplace_label',
    'state_label',
    'country_label',
    'roads_label_major',
    'roads_label_minor',
    'ocean_label',
  ],
  town: ['city_label'],
};

/** The flavour with land, water, lines and names of our own map. */
function muted(flavor: Flavor, colors: Basemap): Flavor {
  const painted = Object.entries(PARTS).flatMap(([color, parts]) =>
    parts.map((part) => [part, colors[color as keyof Basemap]]),
  );
  return { ...flavor, ...Object.fromEntries(painted) };
}

/** The layer without its icon: towns and roads keep their names. */
function withoutIcon(layer: Layer): Layer {
  if (layer.type !== 'symbol') return layer;
  const layout = Object.entries(layer.layout ?? {}).filter(([name]) => !name.startsWith('icon-'));
  return { ...layer, layout: Object.fromEntries(layout) };
}
