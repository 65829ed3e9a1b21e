import type { FeatureCollection, GeoJSON, MultiLineString, Position } from 'geojson';
import type { GeoJSONSourceSpecification, StyleSpecification } from 'maplibre-gl';
import { FONT, TOP, UNDER_BORDERS } from './layers.ts';
import type { Palette } from './words.ts';

/** Content of `states.json`. */
export interface States {
  readonly land: GeoJSON;
  readonly borders: GeoJSON;
  readonly coasts: GeoJSON;
  readonly names: GeoJSON;
}

/** Sources whose data change: the picked place, and areas without radar coverage. */
export const PICK = 'pick';
export const UNCOVERED = 'uncovered';
export const EMPTY: FeatureCollection = { type: 'FeatureCollection', features: [] };

const GRATICULE_DEG = 5;

/** Land, lines and names, drawn from files of this page only. */
export function baseStyle({ basemap }: Palette, { land, borders, coasts, names }: States): StyleSpecification {
  const geojson = (data: GeoJSON): GeoJSONSourceSpecification => ({ type: 'geojson', data, tolerance: 0.2 });
  return {
    version: 8,
    sources: {
      land: geojson(land),
      graticule: geojson(graticule()),
      borders: geojson(borders),
      coasts: geojson(coasts),
      names: geojson(names),
      [PICK]: geojson(EMPTY),
      [UNCOVERED]: geojson(EMPTY),
    },
    layers: [
      { id: 'outside', type: 'background', paint: { 'background-color': basemap.outside } },
      { id: 'land', type: 'fill', source: 'land', paint: { 'fill-color': basemap.land } },
      {
        id: 'graticule',
        type: 'line',
        source: 'graticule',
        paint: { 'line-color': basemap.graticule, 'line-width': 0.8 },
      },
      {
        id: UNDER_BORDERS,
        type: 'line',
        source: 'borders',
        layout: { 'line-join': 'round' },
        paint: { 'line-color': basemap.border, 'line-width': ['interpolate', ['linear'], ['zoom'], 3, 0.8, 8, 1.6] },
      },
      {
        id: 'coasts',
        type: 'line',
        source: 'coasts',
        layout: { 'line-join': 'round' },
        paint: { 'line-color': basemap.outline, 'line-width': ['interpolate', ['linear'], ['zoom'], 3, 0.8, 8, 1.8] },
      },
      {
        id: 'names',
        type: 'symbol',
        source: 'names',
        minzoom: 3.2,
        layout: {
          'text-field': ['upcase', ['get', 'name']],
          'text-font': FONT,
          'text-size': ['interpolate', ['linear'], ['zoom'], 3.2, 8, 7, 13],
          'text-letter-spacing': 0.14,
          'text-max-width': 7,
          'text-padding': 2,
          'symbol-sort-key': ['-', 0, ['get', 'extent']],
        },
        paint: {
          'text-color': basemap.faint,
          'text-opacity': 0.8,
          'text-halo-color': basemap.land,
          'text-halo-width': 1.2,
        },
      },
      {
        id: TOP,
        type: 'circle',
        source: 'pick',
        paint: {
          'circle-radius': 7,
          'circle-color': 'rgba(0,0,0,0)',
          'circle-stroke-color': basemap.land,
          'circle-stroke-width': 4,
        },
      },
      {
        id: 'pick',
        type: 'circle',
        source: 'pick',
        paint: {
          'circle-radius': 7,
          'circle-color': 'rgba(0,0,0,0)',
          'circle-stroke-color': basemap.ink,
          'circle-stroke-width': 2,
        },
      },
    ],
  };
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
