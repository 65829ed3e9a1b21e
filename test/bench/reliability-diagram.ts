import { STRIKE_KM, STRIKE_MM } from '../../schemas/nowcast/probability.ts';
import { BASEMAP } from '../../schemas/palette.ts';
import type { Rival } from './nowcast-rivals.ts';
import { type Bin, type Interval, SAID_MIN, type Scores } from './nowcast-scores.ts';
import { type Row, shown } from './nowcast-table.ts';
import { element, text } from './svg.ts';
import { NEAR_KM } from './train/nowcast-points.ts';

/** Of a panel: the square of the diagram, the strip of counts beneath it, and what is left around them. */
const SIDE = 250;
const STRIP = 46;
const LEFT = 58;
const GAP = 34;
const TOP = 96;
const BELOW = 153;
const BETWEEN = 34;
const MARGIN = 26;
const PANELS_A_ROW = 3;
const FONT = 'Inter, Helvetica, Arial, sans-serif';
const GRID = '#e4e8eb';
const PUBLISHED = '#1f5f8b';
const OTHERS = '#c9803a';
const TICKS = [0, 0.2, 0.4, 0.6, 0.8, 1];
const RADIUS_MIN = 2.6;
const RADIUS_MAX = 7.5;

/**
 * Reliability of a lead as SVG, a panel for each material: how often forecasts of a bin by the published weights came true over
 * their mean, with what 5 and 95 % of draws of whole blocks say, and the same by weights that did not learn from the evening; how
 * many there are beneath. Materials without scores have a panel that says why.
 */
export function reliabilityDiagram(minutes: number, rows: readonly Row[]): string {
  const across = Math.min(PANELS_A_ROW, rows.length);
  const panelHeight = SIDE + STRIP + BELOW + BETWEEN;
  const width = 2 * MARGIN + across * (LEFT + SIDE) + (across - 1) * GAP;
  const height = TOP + Math.ceil(rows.length / PANELS_A_ROW) * panelHeight - BETWEEN;
  return `${element(
    'svg',
    {
      xmlns: 'http://www.w3.org/2000/svg',
      viewBox: `0 0 ${width} ${height}`,
      width,
      height,
      'font-family': FONT,
    },
    [
      element('rect', { x: 0, y: 0, width, height, fill: '#ffffff' }),
      text(
        `Reliability of the nowcast: hail ≥ ${STRIKE_MM} mm within ${STRIKE_KM} km of a point in the next ${minutes} minutes`,
        MARGIN,
        36,
        {
          'font-size': 20,
          'font-weight': 700,
          fill: BASEMAP.ink,
        },
      ),
      ...legend(MARGIN, 58),
      ...rows.map((row, n) => {
        const column = n % PANELS_A_ROW;
        const left = MARGIN + LEFT + column * (LEFT + SIDE + GAP);
        const top = TOP + Math.floor(n / PANELS_A_ROW) * panelHeight;
        return element('g', { transform: `translate(${left} ${top})` }, panel(row, column === 0));
      }),
    ].join('\n'),
  )}\n`;
}

function legend(x: number, y: number): string[] {
  const words = { 'font-size': 12, fill: BASEMAP.ink };
  return [
    element('circle', { cx: x + 6, cy: y - 4, r: 5, fill: PUBLISHED }),
    text('published weights, 5 to 95 % of draws of blocks', x + 18, y, words),
    element('path', { d: `M${x + 312} ${y - 4}h26`, stroke: OTHERS, 'stroke-width': 1.6, 'stroke-dasharray': '4 3' }),
    text('weights of the other evenings', x + 344, y, words),
    element('path', { d: `M${x + 540} ${y}l14 -10`, stroke: BASEMAP.faint, 'stroke-width': 1 }),
    text(`as often as forecast (${SAID_MIN} or more, within ${NEAR_KM} km of a storm)`, x + 560, y, words),
  ];
}

function panel({ name, byWeights, best, why }: Row, isFirst: boolean): string {
  const frame = element('rect', {
    x: 0,
    y: 0,
    width: SIDE,
    height: SIDE,
    fill: 'none',
    stroke: BASEMAP.faint,
    'stroke-width': 1,
  });
  const title = text(name, 0, -10, { 'font-size': 14, 'font-weight': 600, fill: BASEMAP.ink });
  const published = byWeights.find(({ weights }) => weights === 'published')?.scores;
  const others = byWeights.find(({ weights }) => weights === 'other evenings')?.scores;
  if (published === undefined)
    return [
      frame,
      title,
      text(why[0] ?? '', SIDE / 2, SIDE / 2, { 'font-size': 11, fill: BASEMAP.faint, 'text-anchor': 'middle' }),
    ].join('\n');
  return [
    ...axes(isFirst),
    element('path', { d: `M0 ${SIDE}L${SIDE} 0`, stroke: BASEMAP.faint, 'stroke-width': 1 }),
    baseRate(published),
    others === undefined ? '' : lineOf(others.bins),
    ...published.bins.map((bin) => dot(bin, Math.max(...published.bins.map(({ cases }) => cases)))),
    frame,
    title,
    ...counts(published.bins, isFirst),
    ...figures(published, others, best),
  ].join('\n');
}

function axes(isFirst: boolean): string[] {
  return TICKS.flatMap((tick) => [
    element('path', {
      d: `M${x(tick)} 0V${SIDE}M0 ${y(tick)}H${SIDE}`,
      stroke: GRID,
      'stroke-width': 1,
    }),
    text(String(tick), -8, y(tick) + 4, { 'font-size': 11, fill: BASEMAP.faint, 'text-anchor': 'end' }),
  ]).concat(
    isFirst
      ? [
          text('came true', 0, 0, {
            'font-size': 12,
            fill: BASEMAP.ink,
            'text-anchor': 'middle',
            transform: `translate(-40 ${SIDE / 2}) rotate(-90)`,
          }),
        ]
      : [],
  );
}

function baseRate({ base_rate }: Scores): string {
  return (
    element('path', {
      d: `M0 ${y(base_rate)}H${SIDE}`,
      stroke: BASEMAP.faint,
      'stroke-width': 1,
      'stroke-dasharray': '1 4',
    }) + text('base rate', SIDE - 4, y(base_rate) - 4, { 'font-size': 10, fill: BASEMAP.faint, 'text-anchor': 'end' })
  );
}

function lineOf(bins: readonly Bin[]): string {
  const points = bins.map(({ said, came }) => `${x(said).toFixed(1)} ${y(came.value).toFixed(1)}`);
  return element('path', {
    d: `M${points.join('L')}`,
    fill: 'none',
    stroke: OTHERS,
    'stroke-width': 1.6,
    'stroke-dasharray': '4 3',
    'stroke-linejoin': 'round',
  });
}

/** Its area grows with the number of forecasts. */
function dot({ cases, said, came: { value, low, high } }: Bin, most: number): string {
  const r = Math.max(RADIUS_MIN, RADIUS_MAX * Math.sqrt(cases / most));
  const bar =
    low === null || high === null
      ? ''
      : element('path', {
          d: `M${x(said).toFixed(1)} ${y(low).toFixed(1)}V${y(high).toFixed(1)}`,
          stroke: PUBLISHED,
          'stroke-width': 1.6,
          opacity: 0.55,
        });
  return (
    bar + element('circle', { cx: x(said), cy: y(value), r, fill: PUBLISHED, stroke: '#ffffff', 'stroke-width': 1 })
  );
}

/** How many forecasts each bin has, as bars of a logarithmic height. */
function counts(bins: readonly Bin[], isFirst: boolean): string[] {
  const foot = SIDE + STRIP;
  const decades = Math.log10(Math.max(10, ...bins.map(({ cases }) => cases)));
  return [
    ...bins.map(({ cases, said }) => {
      const height = ((STRIP - 14) * Math.log10(1 + cases)) / decades;
      return element('rect', { x: x(said) - 4, y: foot - height, width: 8, height, fill: PUBLISHED, opacity: 0.35 });
    }),
    element('path', { d: `M0 ${foot}H${SIDE}`, stroke: BASEMAP.faint, 'stroke-width': 1 }),
    ...TICKS.map((tick) =>
      text(String(tick), x(tick), foot + 15, { 'font-size': 11, fill: BASEMAP.faint, 'text-anchor': 'middle' }),
    ),
    text('forecast', SIDE / 2, foot + 30, { 'font-size': 12, fill: BASEMAP.ink, 'text-anchor': 'middle' }),
    isFirst ? text('count, log', -8, foot - 4, { 'font-size': 10, fill: BASEMAP.faint, 'text-anchor': 'end' }) : '',
  ];
}

function figures(published: Scores, others: Scores | undefined, best: Rival): string[] {
  const { cases, blocks, brier, skill, slope, intercept, rival_brier } = published;
  const rows = [
    ['points, blocks', `${cases}, ${blocks}`],
    ['Brier score', brier.toFixed(4)],
    ['… of other evenings’ weights', others?.brier.toFixed(4) ?? '-'],
    [`… of the best baseline, ${best}`, (rival_brier[best] as number).toFixed(4)],
    ['skill over it', shown(skill[best] as Interval, 2)],
    ['slope', shown(slope, 2)],
    ['intercept', shown(intercept, 2)],
  ] as const;
  const from = SIDE + STRIP + 50;
  return rows.flatMap(([label, value], n) => [
    text(label, 0, from + 15 * n, { 'font-size': 11.5, fill: BASEMAP.faint }),
    text(value, SIDE, from + 15 * n, { 'font-size': 11.5, fill: BASEMAP.ink, 'text-anchor': 'end' }),
  ]);
}

function x(probability: number): number {
  return SIDE * probability;
}

function y(probability: number): number {
  return SIDE * (1 - probability);
}
