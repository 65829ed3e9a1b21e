import type { Feature } from 'geojson';
import type { SpcOutlookAnswer } from '../../../schemas/resources/convective-outlook.ts';
import { UNDER_HAIL } from '../map/pictures.ts';
import { timeInWords } from '../page/words.ts';
import { areaMark, lineMark, type Reading, type ReadLayer, textMark } from './layer.ts';

/** Categories of a convective outlook with the colours that the Storm Prediction Center gives them, a little darker in lines. */
const CATEGORIES: Readonly<Record<string, { readonly words: string; readonly fill: string; readonly line: string }>> = {
  TSTM: { words: 'General Thunderstorms', fill: '#c1e9c1', line: '#55a055' },
  MRGL: { words: 'Marginal Risk', fill: '#66a366', line: '#3a7a3a' },
  SLGT: { words: 'Slight Risk', fill: '#ffe066', line: '#b89600' },
  ENH: { words: 'Enhanced Risk', fill: '#ffa366', line: '#cc6a14' },
  MDT: { words: 'Moderate Risk', fill: '#e06666', line: '#b02a2a' },
  HIGH: { words: 'High Risk', fill: '#ee99ee', line: '#a33aa3' },
};
const LABELS = Object.keys(CATEGORIES);

function color(part: 'fill' | 'line'): ['match', ['get', string], string, string, string] {
  return ['match', ['get', 'label'], ...LABELS.flatMap((label) => [label, CATEGORIES[label][part]]), '#8894a0'] as [
    'match',
    ['get', string],
    string,
    string,
    string,
  ];
}

/** Convective outlook of the Storm Prediction Center for today: areas of its categories. */
export const outlooks: ReadLayer = {
  kind: 'read',
  id: 'outlooks',
  label: 'Storm outlook of today (SPC)',
  scope: 'outlooks:read',
  price: '5 credits',
  key: Object.values(CATEGORIES).map(({ words, fill }) => ({ color: fill, words, shape: 'area' })),
  fresh_ms: 600_000,
  unavailable({ is_newest, never_collected }) {
    if (never_collected.has('spc-outlooks')) return 'This service has never collected outlooks.';
    return is_newest ? null : 'Only for now: the service has the outlook of today. Choose the newest date.';
  },
  serves: () => true,
  async read({ call }, { middle }): Promise<Reading> {
    const listed: SpcOutlookAnswer = await call(
      `/outlooks/spc?lat=${middle.lat.toFixed(3)}&lon=${middle.lon.toFixed(3)}&day=1&areas=true`,
    );
    const { issue_time, valid_time, expire_time, fetched_at, areas = [] } = listed;
    const features = areas
      .filter(({ hazard, label }) => hazard === 'categorical' && label in CATEGORIES)
      .map(({ label, name, geometry }): Feature => {
        const properties = {
          label,
          name: name ?? label,
          rank: LABELS.indexOf(label),
          issue_time,
          valid_time,
          expire_time,
        };
        return { type: 'Feature', properties, geometry };
      });
    const absent =
      fetched_at === null
        ? 'This service has never collected outlooks.'
        : 'No outlook is in force: none was issued, or it has not come.';
    return {
      features,
      note:
        issue_time === null || expire_time === null
          ? null
          : `Issued ${timeInWords(issue_time)}, until ${timeInWords(expire_time)}.`,
      absent: issue_time === null ? absent : null,
    };
  },
  visible: ({ features }) => features,
  inWords(visible, { note }) {
    const highest = visible.at(-1)?.properties?.name;
    return [highest === undefined ? 'No thunderstorm area.' : `Up to ${highest}.`, note].filter(Boolean).join(' ');
  },
  marks: [
    areaMark(color('fill'), 0.4, { layout: { 'fill-sort-key': ['get', 'rank'] } }),
    { ...lineMark(color('line'), 2.4, {}, { layout: { 'line-join': 'round' } }), under: UNDER_HAIL },
    {
      ...textMark(color('line'), {
        'symbol-placement': 'line',
        'symbol-spacing': 320,
        'text-field': ['get', 'name'],
        'text-size': 11,
        'text-offset': [0, 0.9],
        'text-max-angle': 30,
      }),
      under: UNDER_HAIL,
    },
  ],
  facts: (properties) => ({
    title: `Outlook: ${properties?.name}`,
    color: CATEGORIES[properties?.label]?.fill ?? '#8894a0',
    lines: [
      `Storm Prediction Center, issued ${timeInWords(properties?.issue_time)}`,
      `From ${timeInWords(properties?.valid_time)} to ${timeInWords(properties?.expire_time)}`,
      'A forecast of severe storms of any kind, not of hail alone.',
    ],
  }),
};
