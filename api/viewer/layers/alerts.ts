import type { Subscription } from '../../../schemas/resources/subscription.ts';
import { counted, timeInWords } from '../page/words.ts';
import { areaMark, circle, lineMark, type Reading, type ReadLayer, textMark } from './layer.ts';

const COLOR = '#c2255c';
const PAGE = 100;

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
  async read({ call }): Promise<Reading> {
    const { subscriptions, next_cursor } = await call(`/alerts?limit=${PAGE}`);
    return {
      features: subscriptions.map(({ lat, lon, ...properties }: Subscription) => ({
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
  marks: [
    areaMark(COLOR, 0.05),
    lineMark(COLOR, 2, {
      'line-dasharray': [2, 1.5],
      'line-opacity': ['case', ['==', ['get', 'status'], 'active'], 1, 0.45],
    }),
    textMark(
      COLOR,
      { 'symbol-placement': 'line', 'text-field': ['get', 'name'], 'text-offset': [0, -0.9] },
      { minzoom: 6.5 },
    ),
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
