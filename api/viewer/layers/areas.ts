import type { Feature, Geometry } from 'geojson';
import { FONT, TOP, UNDER_HAIL } from '../map/hail-layers.ts';
import { counted } from '../page/words.ts';
import type { Calls, PlacedLayer, Reading, ReadLayer } from './layer.ts';

const COLOR = '#6741a8';
/** Each area is a call of its own: more would use up the calls of a minute. */
const AREAS_MAX = 20;

interface Area {
  readonly id: string;
  readonly kind: 'polygon' | 'point';
  readonly name: string;
  readonly area_sq_mi: number;
}

interface Page {
  readonly areas: readonly Area[];
  readonly usage: { readonly polygon_count: number; readonly point_count: number };
}

async function placed({ get }: Calls, { id, kind, name, area_sq_mi }: Area): Promise<Feature> {
  const properties = { name, kind, area_sq_mi };
  const feature = (geometry: Geometry): Feature => ({ type: 'Feature', properties, geometry });
  if (kind === 'polygon') return feature((await get(`/areas/${id}/geometry`)).body.geometry);
  const { lat, lng } = (await get(`/areas/${id}`)).body.point;
  return feature({ type: 'Point', coordinates: [lng, lat] });
}

/** Polygons and points that the business watches. */
export const areas: ReadLayer = {
  kind: 'read',
  id: 'areas',
  label: 'Watched areas',
  scope: 'areas:read',
  price: '1 credit, and 1 for each area',
  key: [{ color: COLOR, words: 'an area that you watch', shape: 'area' }],
  fresh_ms: 300_000,
  unavailable: () => null,
  serves: () => true,
  async read(calls): Promise<Reading> {
    const { areas, usage } = (await calls.get(`/areas?limit=${AREAS_MAX}`)).body as Page;
    const features = await Promise.all(areas.map((area) => placed(calls, area)));
    const all = usage.polygon_count + usage.point_count;
    return { features, note: all > areas.length ? `The last changed of ${all}.` : null };
  },
  visible: ({ features }) => features,
  inWords: ({ length }, { note }) =>
    [length === 0 ? 'You watch no areas.' : `${counted(length, 'area')}.`, note].filter(Boolean).join(' '),
  layers: (source): readonly PlacedLayer[] => [
    {
      under: UNDER_HAIL,
      layer: {
        id: `${source}-fill`,
        type: 'fill',
        source,
        filter: ['==', ['geometry-type'], 'Polygon'],
        paint: { 'fill-color': COLOR, 'fill-opacity': 0.08 },
      },
    },
    {
      under: TOP,
      layer: {
        id: `${source}-edge`,
        type: 'line',
        source,
        filter: ['==', ['geometry-type'], 'Polygon'],
        paint: { 'line-color': COLOR, 'line-width': 2 },
      },
    },
    {
      under: TOP,
      layer: {
        id: `${source}-points`,
        type: 'circle',
        source,
        filter: ['==', ['geometry-type'], 'Point'],
        paint: {
          'circle-color': COLOR,
          'circle-radius': 5,
          'circle-stroke-color': '#fff',
          'circle-stroke-width': 1.6,
        },
      },
    },
    {
      under: TOP,
      layer: {
        id: `${source}-names`,
        type: 'symbol',
        source,
        minzoom: 6.5,
        layout: { 'text-field': ['get', 'name'], 'text-font': FONT, 'text-size': 11.5, 'text-max-width': 9 },
        paint: { 'text-color': COLOR, 'text-halo-color': '#fff', 'text-halo-width': 1.6 },
      },
    },
  ],
  facts: (properties) => ({
    title: properties?.name,
    color: COLOR,
    lines: ['An area that you watch', `${properties?.area_sq_mi} square miles`],
  }),
};
