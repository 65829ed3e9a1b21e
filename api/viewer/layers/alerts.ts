import { FONT, TOP, UNDER_HAIL } from '../map/hail-layers.ts';
import { counted, timeInWords } from '../page/words.ts';
import { circle, type PlacedLayer, type Reading, type ReadLayer } from './layer.ts';

const COLOR = '#c2255c';
const PAGE = 100;

interface Page {
  readonly subscriptions: readonly {
    readonly name: string;
    readonly lat: number;
    readonly lon: number;
    readonly radius_km: number;
    readonly min_size_mm: number;
    readonly status: string;
    readonly trigger_count: number;
    readonly last_triggered_at: string | null;
  }[];
  readonly next_cursor: string | null;
}

/** Circles of the business's alert subscriptions. */
export const alerts: ReadLayer = {
  kind: 'read',
  id: 'alerts',
  label: 'Alerts',
  scope: 'alerts:read',
  price: '1 credit',
  key: [{ color: COLOR, words: 'where hail raises an alert', shape: 'dashed' }],
  fresh_ms: 120_000,
  unavailable: () => null,
  serves: () => true,
  async read({ get }): Promise<Reading> {
    const { subscriptions, next_cursor } = (await get(`/alerts?limit=${PAGE}`)).body as Page;
    return {
      features: subscriptions.map(({ lat, lon, ...properties }) => ({
        type: 'Feature',
        properties,
        geometry: { type: 'Polygon', coordinates: [circle([lon, lat], properties.radius_km)] },
      })),
      note: next_cursor === null ? null : `The oldest ${PAGE}; the rest is not drawn.`,
    };
  },
  visible: ({ features }) => features,
  inWords: ({ length }, { note }) =>
    [length === 0 ? 'You have no alert subscriptions.' : `${counted(length, 'subscription')}.`, note]
      .filter(Boolean)
      .join(' '),
  layers: (source): readonly PlacedLayer[] => [
    {
      under: UNDER_HAIL,
      layer: { id: `${source}-fill`, type: 'fill', source, paint: { 'fill-color': COLOR, 'fill-opacity': 0.05 } },
    },
    {
      under: TOP,
      layer: {
        id: `${source}-edge`,
        type: 'line',
        source,
        paint: {
          'line-color': COLOR,
          'line-width': 2,
          'line-dasharray': [2, 1.5],
          'line-opacity': ['case', ['==', ['get', 'status'], 'active'], 1, 0.45],
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
        layout: {
          'symbol-placement': 'line',
          'text-field': ['get', 'name'],
          'text-font': FONT,
          'text-size': 11.5,
          'text-offset': [0, -0.9],
        },
        paint: { 'text-color': COLOR, 'text-halo-color': '#fff', 'text-halo-width': 1.6 },
      },
    },
  ],
  facts: (properties) => ({
    title: properties?.name || 'Alert subscription',
    color: COLOR,
    lines: [
      `Hail of ${properties?.min_size_mm} mm or more within ${properties?.radius_km} km`,
      properties?.status === 'active' ? 'Active' : 'Paused: raises nothing',
      `${counted(properties?.trigger_count, 'alert')} so far${
        properties?.last_triggered_at ? `, the last on ${timeInWords(properties.last_triggered_at)}` : ''
      }`,
    ],
  }),
};
