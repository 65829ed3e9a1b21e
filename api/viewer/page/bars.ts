import { emptyChart, label as labelled, part } from './chart.ts';

const SIZE = { width: 960, height: 170, left: 52, bottom: 22, top: 10 };
const GAP_SHARE = 0.25;
const LINES = 3;

/** One bar of a chart. */
export interface Bar {
  readonly name: string;
  readonly value: number;
  /** Written under the bar; null for none. */
  readonly label: string | null;
}

/** A bar chart with a scale from zero, as an image whose bars say their value when pointed at; `words` say the whole. */
export function barChart(bars: readonly Bar[], unit: string, words: string): SVGElement {
  const chart = emptyChart(SIZE, words, 'bars');
  const most = Math.max(1, ...bars.map(({ value }) => value));
  const step = niceStep(most / LINES);
  const top_value = Math.ceil(most / step) * step;
  const y = (value: number) => SIZE.top + (SIZE.height - SIZE.bottom - SIZE.top) * (1 - value / top_value);
  for (let value = 0; value <= top_value; value += step) {
    chart.append(part('line', { x1: SIZE.left, x2: SIZE.width, y1: y(value), y2: y(value) }));
    chart.append(labelled(value.toLocaleString('en-US'), { x: SIZE.left - 8, y: y(value) + 4, 'text-anchor': 'end' }));
  }
  const slot = (SIZE.width - SIZE.left) / Math.max(1, bars.length);
  for (const [index, { name, value, label }] of bars.entries()) {
    const x = SIZE.left + index * slot;
    const width = slot * (1 - GAP_SHARE);
    const words = `${name}: ${value.toLocaleString('en-US')} ${unit}`;
    const box = { x: x + (slot - width) / 2, width, y: y(value), height: y(0) - y(value), rx: 2 };
    chart.append(part('rect', box, words));
    if (label !== null) chart.append(labelled(label, { x: x + slot / 2, y: SIZE.height - 6, 'text-anchor': 'middle' }));
  }
  return chart;
}

/** 1, 2 or 5 times a power of ten, at least `least` and at least 1. */
export function niceStep(least: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, least)));
  return ([1, 2, 5, 10].find((factor) => factor * power >= least) as number) * power;
}
