const SVG = 'http://www.w3.org/2000/svg';
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

/**
 * A bar chart with a scale from zero, as an image whose bars say their value when pointed at. `words` say the whole for readers who do
 * not see it. Drawn here, since charting libraries write style sheets into the page, which its security policy forbids.
 */
export function barChart(bars: readonly Bar[], unit: string, words: string): SVGElement {
  const chart = node('svg', {
    viewBox: `0 0 ${SIZE.width} ${SIZE.height}`,
    class: 'bars',
    role: 'img',
    'aria-label': words,
  });
  const most = Math.max(1, ...bars.map(({ value }) => value));
  const step = niceStep(most / LINES);
  const top_value = Math.ceil(most / step) * step;
  const y = (value: number) => SIZE.top + (SIZE.height - SIZE.bottom - SIZE.top) * (1 - value / top_value);
  for (let value = 0; value <= top_value; value += step) {
    chart.append(node('line', { x1: SIZE.left, x2: SIZE.width, y1: y(value), y2: y(value) }));
    chart.append(text(value.toLocaleString('en-US'), { x: SIZE.left - 8, y: y(value) + 4, 'text-anchor': 'end' }));
  }
  const slot = (SIZE.width - SIZE.left) / Math.max(1, bars.length);
  for (const [index, { name, value, label }] of bars.entries()) {
    const x = SIZE.left + index * slot;
    const width = slot * (1 - GAP_SHARE);
    const bar = node('rect', { x: x + (slot - width) / 2, width, y: y(value), height: y(0) - y(value), rx: 2 });
    const title = node('title', {});
    title.textContent = `${name}: ${value.toLocaleString('en-US')} ${unit}`;
    bar.append(title);
    chart.append(bar);
    if (label !== null) chart.append(text(label, { x: x + slot / 2, y: SIZE.height - 6, 'text-anchor': 'middle' }));
  }
  return chart;
}

/** 1, 2 or 5 times a power of ten, at least `least` and at least 1. */
export function niceStep(least: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, least)));
  return ([1, 2, 5, 10].find((factor) => factor * power >= least) as number) * power;
}

function text(content: string, attributes: Readonly<Record<string, string | number>>): SVGElement {
  const made = node('text', attributes);
  made.textContent = content;
  return made;
}

function node(name: string, attributes: Readonly<Record<string, string | number>>): SVGElement {
  const made = document.createElementNS(SVG, name) as SVGElement;
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value));
  return made;
}
