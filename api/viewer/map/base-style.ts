import type { FeatureCollection, MultiLineString, Position } from 'geojson';
import type {
  ExpressionSpecification,
  FilterSpecification,
  LayerSpecification as Layer,
  SourceSpecification,
  StyleSpecification,
} from 'maplibre-gl';
import type { Archives } from '../data/archives.ts';
import { meta } from '../page/page.ts';
import { BASEMAP, SCHEME } from '../page/palette.ts';
import { FONT, TOP, UNDER_BORDERS } from './hail-layers.ts';

/** Addresses of the base map's archives, for MapLibre. */
export interface Ground {
  readonly url: string;
  /** Street map of the operator: its archive and its layers; null without one. */
  readonly streets: { readonly url: string; readonly layers: readonly Layer[] } | null;
}

/** The archives of the base map that the page names, for MapLibre. The style of streets is loaded where there is a street map. */
export async function openGround(archives: Archives): Promise<Ground> {
  const address = (name: string) => archives.address(new URL(meta(name), location.href).href);
  const url = address('hail-ground');
  if (meta('hail-streets') === '') return { url, streets: null };
  const { streetLayers } = await import('./streets.ts');
  return { url, streets: { url: address('hail-streets'), layers: streetLayers(SCHEME) } };
}

/** Sources whose data change: the picked place, and areas without radar coverage. */
export const PICK = 'pick';
export const UNCOVERED = 'uncovered';
export const EMPTY: FeatureCollection = { type: 'FeatureCollection', features: [] };

const GROUND = 'ground';
const STREETS = 'streets';
const GRATICULE_DEG = 5;
/** The first layer over the land: what is under the hail goes below it. */
const GRATICULE = 'graticule';

/** Land, lines, names and towns, drawn from archives of this service; with a street map its streets and names. */
export function baseStyle({ url, streets }: Ground): StyleSpecification {
  const shown = streets?.layers ?? [];
  return {
    version: 8,
    sources: {
      [GROUND]: { type: 'vector', url },
      ...(streets ? { [STREETS]: { type: 'vector', url: streets.url } satisfies SourceSpecification } : {}),
      [GRATICULE]: { type: 'geojson', data: graticule() },
      [PICK]: { type: 'geojson', data: EMPTY },
      [UNCOVERED]: { type: 'geojson', data: EMPTY },
    },
    layers: [
      ...landLayers(),
      ...shown.filter(({ type }) => type === 'fill'),
      {
        id: GRATICULE,
        type: 'line',
        source: GRATICULE,
        maxzoom: 6,
        paint: { 'line-color': BASEMAP.graticule, 'line-width': 0.8 },
      },
      ...lineLayers(),
      ...shown.filter(({ type }) => type === 'line'),
      ...(streets ? [countyNames()] : nameLayers()),
      ...shown.filter(({ type }) => type === 'symbol').map(withFont),
      ...pickLayers(),
    ],
  };
}

/** Water, neighbouring countries, lakes and land, below all hail. */
function landLayers(): Layer[] {
  const lakes = (id: string, inland: boolean): Layer => ({
    id,
    type: 'fill',
    source: GROUND,
    'source-layer': 'lakes',
    filter: ['==', ['get', 'inland'], inland],
    paint: { 'fill-color': BASEMAP.water },
  });
  return [
    { id: 'outside', type: 'background', paint: { 'background-color': BASEMAP.water } },
    {
      id: 'neighbours',
      type: 'fill',
      source: GROUND,
      'source-layer': 'neighbours',
      paint: { 'fill-color': BASEMAP.neighbour },
    },
    {
      // Borders of two sources do not meet everywhere: the gap between them is no water.
      id: 'neighbour-edges',
      type: 'line',
      source: GROUND,
      'source-layer': 'neighbours',
      paint: {
        'line-color': BASEMAP.neighbour,
        'line-width': ['interpolate', ['linear'], ['zoom'], 3, 1, 8, 4, 12, 24],
      },
    },
    lakes('great-lakes', false),
    { id: 'land', type: 'fill', source: GROUND, 'source-layer': 'land', paint: { 'fill-color': BASEMAP.land } },
    lakes('inland-lakes', true),
  ];
}

/** Borders of states and counties, and coasts, over the hail. */
function lineLayers(): Layer[] {
  const line = (id: string, layer: string, color: string, minzoom: number, width: ExpressionSpecification): Layer => ({
    id,
    type: 'line',
    source: GROUND,
    'source-layer': layer,
    minzoom,
    layout: { 'line-join': 'round' },
    paint: { 'line-color': color, 'line-width': width },
  });
  return [
    line(UNDER_BORDERS, 'county_lines', BASEMAP.county, 6.2, [
      'interpolate',
      ['linear'],
      ['zoom'],
      6.2,
      0.4,
      9,
      1,
      13,
      1.6,
    ]),
    line('state-lines', 'state_lines', BASEMAP.state, 0, ['interpolate', ['linear'], ['zoom'], 3, 0.8, 8, 2, 12, 3]),
    line('coasts', 'coasts', BASEMAP.outline, 0, ['interpolate', ['linear'], ['zoom'], 3, 0.7, 8, 1.5]),
  ];
}

/** Names of states, counties and towns; where they meet, the larger one stays. */
function nameLayers(): Layer[] {
  return [
    countyNames(),
    {
      id: 'town-dots',
      type: 'circle',
      source: GROUND,
      'source-layer': 'towns',
      minzoom: 4,
      filter: SHOWN_AT_ZOOM,
      paint: {
        'circle-color': BASEMAP.town,
        'circle-opacity': 0.8,
        'circle-radius': ['interpolate', ['linear'], ['zoom'], 4, 1.4, 10, 2.2],
        'circle-stroke-color': BASEMAP.land,
        'circle-stroke-width': 0.8,
      },
    },
    {
      id: 'towns',
      type: 'symbol',
      source: GROUND,
      'source-layer': 'towns',
      minzoom: 4,
      filter: SHOWN_AT_ZOOM,
      layout: {
        'text-field': ['get', 'name'],
        'text-font': FONT,
        'text-size': [
          'interpolate',
          ['linear'],
          ['zoom'],
          4,
          ['interpolate', ['linear'], ['get', 'population'], 6e5, 10.5, 4e6, 12.5],
          8,
          ['interpolate', ['linear'], ['get', 'population'], 6e3, 10.5, 2e5, 14, 2e6, 17],
          11,
          ['interpolate', ['linear'], ['get', 'population'], 1e3, 11.5, 2e5, 17, 2e6, 20],
        ],
        'text-variable-anchor': ['left', 'right', 'bottom', 'top'],
        'text-radial-offset': 0.45,
        'text-max-width': 8,
        'text-padding': 4,
        'symbol-sort-key': ['-', 0, ['get', 'population']],
      },
      paint: { 'text-color': BASEMAP.town, 'text-halo-color': BASEMAP.land, 'text-halo-width': 1.4 },
    },
    {
      id: 'names',
      type: 'symbol',
      source: GROUND,
      'source-layer': 'state_names',
      minzoom: 3.2,
      maxzoom: 8,
      layout: {
        'text-field': ['upcase', ['get', 'name']],
        'text-font': FONT,
        'text-size': ['interpolate', ['linear'], ['zoom'], 3.2, 8, 7, 14],
        'text-letter-spacing': 0.14,
        'text-max-width': 7,
        'text-padding': 2,
        'symbol-sort-key': ['-', 0, ['get', 'extent']],
      },
      paint: {
        'text-color': BASEMAP.faint,
        'text-opacity': ['interpolate', ['linear'], ['zoom'], 5, 0.85, 8, 0.6],
        'text-halo-color': BASEMAP.land,
        'text-halo-width': 1.2,
      },
    },
  ];
}

function countyNames(): Layer {
  return {
    id: 'county-names',
    type: 'symbol',
    source: GROUND,
    'source-layer': 'county_names',
    minzoom: 8.6,
    filter: SHOWN_AT_ZOOM,
    layout: {
      'text-field': ['upcase', ['get', 'name']],
      'text-font': FONT,
      'text-size': ['interpolate', ['linear'], ['zoom'], 8.6, 9, 12, 12],
      'text-letter-spacing': 0.12,
      'text-max-width': 8,
      'text-padding': 6,
      // Seats of counties lie in the middle, too: the county's name makes way.
      'text-variable-anchor': ['center', 'top', 'bottom', 'left', 'right'],
      'text-radial-offset': 2.4,
    },
    paint: { 'text-color': BASEMAP.quiet, 'text-halo-color': BASEMAP.land, 'text-halo-width': 1.4 },
  };
}

const SHOWN_AT_ZOOM: FilterSpecification = ['<=', ['get', 'from_zoom'], ['zoom']];

/** The layer with the font of our own names: fonts are those of the reader's device. */
function withFont(layer: Layer): Layer {
  return layer.type === 'symbol' ? { ...layer, layout: { ...layer.layout, 'text-font': FONT } } : layer;
}

/** Ring around the picked place. */
function pickLayers(): Layer[] {
  const ring = (id: string, color: string, width: number): Layer => ({
    id,
    type: 'circle',
    source: PICK,
    paint: {
      'circle-radius': 7,
      'circle-color': 'rgba(0,0,0,0)',
      'circle-stroke-color': color,
      'circle-stroke-width': width,
    },
  });
  return [ring(TOP, BASEMAP.land, 4), ring('pick', BASEMAP.ink, 2)];
}

function graticule(): MultiLineString {
  const lines: Position[][] = [];
  for (let lon = -140; lon <= -50; lon += GRATICULE_DEG)
    lines.push([
      [lon, 10],
      [lon, 60],
    ]);
  for (let lat = 10; lat <= 60; lat += GRATICULE_DEG)
    lines.push([
      [-140, lat],
      [-50, lat],
    ]);
  return { type: 'MultiLineString', coordinates: lines };
}
