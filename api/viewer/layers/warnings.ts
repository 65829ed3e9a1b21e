import type { Feature, Geometry } from 'geojson';
import type { Warning, Warnings } from '../../../schemas/resources/warning.ts';
import { clockInWords, counted, timeInWords } from '../page/words.ts';
import { areaMark, hasDates, isInForce, isNear, lineMark, type Reading, type ReadLayer, type Shown } from './layer.ts';

/** Largest circle that GET /v1/warnings answers for, and its longest history. */
const RADIUS_KM = 200;
const DAYS_MAX = 30;
const MS_PER_DAY = 86_400_000;

const KINDS: Readonly<Record<string, { readonly words: string; readonly color: string; readonly order: number }>> = {
  tornado_warning: { words: 'Tornado Warning', color: '#d4001f', order: 5 },
  severe_warning: { words: 'Severe Thunderstorm Warning', color: '#e08600', order: 4 },
  tornado_watch: { words: 'Tornado Watch', color: '#a8123a', order: 3 },
  severe_thunderstorm_watch: { words: 'Severe Thunderstorm Watch', color: '#b3539c', order: 2 },
  mesoscale_discussion: { words: 'Mesoscale Discussion', color: '#3d7a8c', order: 1 },
};
const COLOR = [
  'match',
  ['get', 'kind'],
  ...Object.entries(KINDS).flatMap(([kind, { color }]) => [kind, color]),
  '#56646f',
] as ['match', ['get', string], string, string, string];

function warningFeature(warning: Warning): Feature {
  const kind = warning.event === 'Tornado Warning' ? 'tornado_warning' : 'severe_warning';
  const lines = [
    warning.tornado_detection && `Tornado: ${warning.tornado_detection.replaceAll('_', ' ').toLowerCase()}`,
    warning.headline,
  ];
  return feature(kind, warning.event, warning, lines);
}

function watchFeature(watch: Warnings['watches'][number]): Feature[] {
  if (watch.geometry === null) return [];
  const is_discussion = watch.type === 'mesoscale_discussion';
  const number = is_discussion ? watch.md_number : watch.watch_number;
  const probability = is_discussion ? watch.watch_probability_pct : null;
  const lines = [
    watch.headline,
    is_discussion && watch.areas_affected && `Areas: ${watch.areas_affected}`,
    probability !== null && `Probability of a watch ${probability} %`,
  ];
  return [feature(watch.type, `${KINDS[watch.type]?.words ?? watch.type} ${number}`, watch, lines)];
}

function feature(
  kind: string,
  title: string,
  item: { readonly issued_at: string; readonly expires_at: string; readonly geometry: Geometry | null },
  lines: readonly (string | false | null | undefined)[],
): Feature {
  const said = lines.filter((line) => typeof line === 'string' && line !== '');
  const properties = { kind, title, from: item.issued_at, until: item.expires_at, lines: said.join('\n') };
  return { type: 'Feature', properties, geometry: item.geometry as Geometry };
}

const ROUND = { 'line-join': 'round' } as const;
const isWatch: ['in', ['get', string], ['literal', string[]]] = [
  'in',
  ['get', 'kind'],
  ['literal', Object.keys(KINDS).slice(2)],
];

/** End of an item: the clock alone where it ends on the day it began. */
function untilInWords(from: string, until: string): string {
  return from.slice(0, 10) === until.slice(0, 10) ? clockInWords(until) : timeInWords(until);
}

/** Days of history that reach back to the first instant shown. */
function daysBack({ span, now_ms }: Shown): number {
  if (span === null || now_ms === null) return 1;
  return Math.max(1, Math.ceil((now_ms - span[0]) / MS_PER_DAY));
}

/** Warnings of the National Weather Service, watches and discussions of the Storm Prediction Center, in force at the time shown. */
export const warnings: ReadLayer = {
  kind: 'read',
  id: 'warnings',
  label: 'Warnings and watches',
  scope: 'warnings:read',
  price: '8 credits',
  key: Object.values(KINDS).map(({ words, color }, i) => ({ color, words, shape: i < 2 ? 'area' : 'dashed' })),
  fresh_ms: 120_000,
  unavailable(shown) {
    if (shown.span === null) return 'No scans are published for this date.';
    if (shown.now_ms === null)
      return 'The service does not say what time it has, so the time shown cannot be asked for.';
    if (shown.never_collected.has('warnings') && shown.never_collected.has('watches'))
      return 'This service has never collected warnings and watches.';
    if (daysBack(shown) > DAYS_MAX) return `The service answers for the last ${DAYS_MAX} days only.`;
    return null;
  },
  serves: (asked, shown) => hasDates(asked, shown) && isNear(asked, shown, RADIUS_KM),
  async read({ call }, shown): Promise<Reading> {
    const { lat, lon } = shown.middle;
    const query = `lat=${lat.toFixed(4)}&lon=${lon.toFixed(4)}&radius_km=${RADIUS_KM}&active=false&days=${daysBack(shown)}`;
    const { warnings, watches, data_as_of, note }: Warnings = await call(`/warnings?${query}`);
    const features = [...warnings.map(warningFeature), ...watches.flatMap(watchFeature)].sort(
      (a, b) => (KINDS[a.properties?.kind]?.order ?? 0) - (KINDS[b.properties?.kind]?.order ?? 0),
    );
    const unplaced = watches.filter(({ geometry }) => geometry === null).map(({ headline }) => headline);
    const said = [
      note ?? (data_as_of === null ? null : `Complete until ${timeInWords(data_as_of)}.`),
      unplaced.length > 0 && `Without an outline: ${unplaced.join('; ')}.`,
    ];
    return { features, note: said.filter(Boolean).join(' ') || null, absent: features.length === 0 ? note : null };
  },
  visible: ({ features }, shown) => features.filter(({ properties }) => isInForce(properties, shown)),
  inWords(visible, { note }, { view, is_recent }) {
    const count = visible.length === 0 ? 'None' : counted(visible.length, 'area');
    const when = view === 'day' ? (is_recent ? 'in the last 24 hours' : 'on this date') : 'in force at this scan';
    return [`${count} ${when}, within ${RADIUS_KM} km of the middle of the map.`, note].filter(Boolean).join(' ');
  },
  marks: [
    areaMark(COLOR, ['case', isWatch, 0.05, 0.14]),
    lineMark('#fff', 4.5, { 'line-opacity': 0.85 }, { filter: ['!', isWatch], layout: ROUND }),
    lineMark(COLOR, 2.4, {}, { filter: ['!', isWatch], layout: ROUND }),
    lineMark(COLOR, 2, { 'line-dasharray': [4, 2] }, { filter: isWatch, layout: ROUND }),
  ],
  facts: (properties) => ({
    title: properties?.title,
    color: KINDS[properties?.kind]?.color ?? '#56646f',
    lines: [
      `${timeInWords(properties?.from)} to ${untilInWords(properties?.from, properties?.until)}`,
      ...String(properties?.lines)
        .split('\n')
        .filter((line) => line !== ''),
    ],
  }),
};
