import type { Feature, Geometry } from 'geojson';
import type { MonitoredAreas } from '../../../schemas/resources/area.ts';
import { counted } from '../page/words.ts';
import { areaMark, type Calls, dotMark, lineMark, type Reading, type ReadLayer, textMark } from './layer.ts';

const COLOR = '#6741a8';
/** Each area is a call of its own: more would use up the calls of a minute. */
const AREAS_MAX = 20;

async function placed(
  { call }: Calls,
  { id, kind, name, area_sq_mi }: MonitoredAreas['areas'][number],
): Promise<Feature> {
  const properties = { name, kind, area_sq_mi };
  const feature = (geometry: Geometry): Feature => ({ type: 'Feature', properties, geometry });
  if (kind === 'polygon') return feature((await call(`/areas/${id}/geometry`)).geometry);
  const { lat, lng } = (await call(`/areas/${id}`)).point;
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
  async read(service): Promise<Reading> {
    const { areas, usage }: MonitoredAreas = await service.call(`/areas?limit=${AREAS_MAX}`);
    const features = await Promise.all(areas.map((area) => placed(service, area)));
    const all = usage.polygon_count + usage.point_count;
    return { features, note: all > areas.length ? `The last changed of ${all}.` : null };
  },
  visible: ({ features }) => features,
  inWords: ({ length }, { note }) =>
    [length === 0 ? 'You watch no areas.' : `${counted(length, 'area')}.`, note].filter(Boolean).join(' '),
  marks: [
    areaMark(COLOR, 0.08, { filter: ['==', ['geometry-type'], 'Polygon'] }),
    lineMark(COLOR, 2, {}, { filter: ['==', ['geometry-type'], 'Polygon'] }),
    dotMark(COLOR, { 'circle-radius': 5 }, { filter: ['==', ['geometry-type'], 'Point'] }),
    textMark(COLOR, { 'text-field': ['get', 'name'], 'text-max-width': 9 }, { minzoom: 6.5 }),
  ],
  facts: (properties) => ({
    title: properties?.name,
    color: COLOR,
    lines: ['An area that you watch', `${properties?.area_sq_mi} square miles`],
  }),
};
