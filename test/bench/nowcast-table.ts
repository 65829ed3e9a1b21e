import type { LeadKey } from '../../schemas/resources/nowcast.ts';
import type { LeadScores, WeightsScores } from './nowcast-material.ts';
import { RIVALS } from './nowcast-rivals.ts';
import { type Bin, type Interval, SAID_MIN } from './nowcast-scores.ts';
import { FAR_KM, NEAR_KM } from './train/nowcast-points.ts';

const LABEL_WIDTH = 20;
const BIN_WIDTH = 7;
const FAR_WIDTH = 14;
/** Widths of single figures and of figures with intervals: lines stay within 120 columns. */
const FIGURE_WIDTH = 8;
const INTERVAL_WIDTH = 21;

/** Scores of a lead on a material, by its name. */
export type Row = LeadScores & { readonly name: string };

/** A row that has scores by some weights. */
interface Scored extends WeightsScores, Omit<Row, 'byWeights'> {}

const WEIGHTS = ['published', 'other evenings', 'other regions'] as const;

/**
 * Scores of a lead, a row for each material: by the published weights first, then by those of other evenings and of other regions.
 * Then the baselines, and the reliability of the published weights.
 */
export function leadTable(key: LeadKey, rows: readonly Row[]): string {
  const scored = (weights: WeightsScores['weights']) =>
    rows.flatMap(({ byWeights, ...row }): Scored[] =>
      byWeights.filter((one) => one.weights === weights).map((one) => ({ ...row, ...one })),
    );
  const published = scored('published');
  return [
    key,
    ...WEIGHTS.flatMap((weights) => (scored(weights).length === 0 ? [] : weightsRows(weights, scored(weights)))),
    ...(published.length === 0 ? [] : baselineRows(published)),
    ...rows.flatMap(({ name, why }) => why.map((reason) => `  not scored: ${name}: ${reason}`)),
    ...(published.length === 0 ? [] : ['  reliability of the published weights: said, came, cases']),
    ...published.flatMap(({ name, scores }) => binRows(name, scores.bins)),
  ].join('\n');
}

const TITLES = {
  published: 'PUBLISHED WEIGHTS',
  'other evenings': 'by other evenings',
  'other regions': 'by other regions',
} as const;

function weightsRows(weights: WeightsScores['weights'], rows: readonly Scored[]): string[] {
  const figures = (scored: Scored) => {
    const { brier, said, came, unsure, slope, intercept } = scored.scores;
    const { far } = scored;
    return [
      brier.toFixed(5).padStart(FIGURE_WIDTH),
      said.toFixed(3).padStart(FIGURE_WIDTH),
      came.toFixed(3).padStart(FIGURE_WIDTH),
      shown(slope, 2).padStart(INTERVAL_WIDTH),
      shown(intercept, 2).padStart(INTERVAL_WIDTH),
      `${(100 * unsure).toFixed(0)} %`.padStart(FIGURE_WIDTH + 2),
      `${far.said.toFixed(3)} ${far.came.toFixed(3)}`.padStart(FAR_WIDTH),
    ];
  };
  const skill = ({ scores, best }: Scored) => [
    ...RIVALS.map((rival) => shown(scores.skill[rival] as Interval, 2).padStart(INTERVAL_WIDTH)),
    `  ${best}`,
  ];
  return [
    `  ${TITLES[weights]}`.padEnd(4 + LABEL_WIDTH) +
      [
        'Brier'.padStart(FIGURE_WIDTH),
        'said'.padStart(FIGURE_WIDTH),
        'came'.padStart(FIGURE_WIDTH),
        'slope'.padStart(INTERVAL_WIDTH),
        'intercept'.padStart(INTERVAL_WIDTH),
        '.2 to .8'.padStart(FIGURE_WIDTH + 2),
        'far off'.padStart(FAR_WIDTH),
      ].join(''),
    ...rows.map((row) => labelled(row.name, figures(row))),
    labelled('  skill over', [...RIVALS.map((rival) => rival.padStart(INTERVAL_WIDTH)), '  best']),
    ...rows.map((row) => labelled(row.name, skill(row))),
  ];
}

function baselineRows(rows: readonly Scored[]): string[] {
  const names = [...RIVALS, 'not weighed', 'base rate'];
  const figures = ({ scores }: Scored) => names.map((name) => (scores.rival_brier[name] as number).toFixed(4));
  const width = (name: string) => Math.max(FIGURE_WIDTH, name.length + 2);
  return [
    labelled('  Brier of baselines', [
      ...names.map((name) => name.padStart(width(name))),
      'cases'.padStart(BIN_WIDTH),
      'blocks'.padStart(BIN_WIDTH),
      '  from other',
    ]),
    ...rows.map((row) =>
      labelled(row.name, [
        ...figures(row).map((figure, n) => figure.padStart(width(names[n] as string))),
        String(row.scores.cases).padStart(BIN_WIDTH),
        String(row.scores.blocks).padStart(BIN_WIDTH),
        `  ${row.learnt_from.replace('other ', '')}`,
      ]),
    ),
  ];
}

function labelled(label: string, figures: readonly string[]): string {
  return `    ${label.padEnd(LABEL_WIDTH)}${figures.join('')}`.trimEnd();
}

function binRows(name: string, bins: readonly Bin[]): string[] {
  const line = (label: string, of: (bin: Bin) => string) =>
    labelled(
      label,
      bins.map((bin) => of(bin).padStart(BIN_WIDTH)),
    );
  return [
    line(name, ({ said }) => said.toFixed(3)),
    line('  came', ({ came }) => came.toFixed(3)),
    line('  cases', ({ cases }) => String(cases)),
  ];
}

/** What the columns of the tables mean. */
export const LEGEND = [
  `Brier and skill: of points within ${NEAR_KM} km of a storm; said, came, slope, intercept: where ${SAID_MIN} or more is said;`,
  `.2 to .8: share said with so much; far off: mean said and came ${NEAR_KM} to ${FAR_KM} km from storms; [5 %, 95 %] over`,
  'draws of whole blocks, a rough guide where there are fewer than ten; best: the baseline with the lowest Brier score',
  'baselines: persistence of hail at the point; advection: the hail of storms moved along their course passes or not, with',
  'two probabilities; lagrangian: share of a growing disc that all hail covers on its way with the nearest storm,',
  'calibrated with two parameters; flow: the same with the block-matched motion of the field',
];

/** A value with its interval in brackets; `-` for one that is not to be had. */
export function shown({ value, low, high }: Interval, digits = 3): string {
  if (!Number.isFinite(value)) return '-';
  const bounds = low === null || high === null ? '' : ` [${low.toFixed(2)}, ${high.toFixed(2)}]`;
  return `${value.toFixed(digits)}${bounds}`;
}
