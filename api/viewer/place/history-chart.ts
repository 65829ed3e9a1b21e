import { emptyChart, label, part } from '../page/chart.ts';
import { stepOf } from '../page/palette.ts';
import { addDays, dateInWords, MM_PER_INCH, sizeInWords } from '../page/words.ts';
import type { HailDay } from './pin-calls.ts';

const SIZE = { width: 320, height: 132 };
const EDGE = { left: 26, right: 8, top: 8, bottom: 20 };
const DAY_MS = 86_400_000;
/** The axis reaches this size at least, inches. */
const AXIS_MIN_IN = 2;
const DOT_RADIUS = 4;

/** Hail days as stems over a year: when, and how large. */
export function historyChart(events: readonly HailDay[], last: string, days: number): SVGElement {
  const first = addDays(last, 1 - days);
  const largest = Math.max(AXIS_MIN_IN, ...events.map(({ hail }) => hail.estimated_size_mm / MM_PER_INCH));
  const top = Math.ceil(largest);
  const x = (date: string) =>
    EDGE.left + ((Date.parse(date) - Date.parse(first)) / DAY_MS / (days - 1)) * (SIZE.width - EDGE.left - EDGE.right);
  const y = (inches: number) => SIZE.height - EDGE.bottom - (inches / top) * (SIZE.height - EDGE.top - EDGE.bottom);

  const words = `Hail days from ${dateInWords(first)} to ${dateInWords(last)}, largest of each day`;
  const chart = emptyChart(SIZE, words, 'chart');
  for (let inches = 0; inches <= top; inches += top > 3 ? 2 : 1) {
    chart.append(
      part('line', { x1: EDGE.left, x2: SIZE.width - EDGE.right, y1: y(inches), y2: y(inches), class: 'rule' }),
    );
    chart.append(label(`${inches} in`, { x: EDGE.left - 4, y: y(inches) + 3, 'text-anchor': 'end' }));
  }
  for (const month of monthsBetween(first, last)) {
    const isYear = month.endsWith('-01-01');
    chart.append(part('line', { x1: x(month), x2: x(month), y1: y(0), y2: y(0) + (isYear ? 6 : 3), class: 'tick' }));
    const name = isYear ? month.slice(0, 4) : dateInWords(month).split(' ')[1];
    if (Number(month.slice(5, 7)) % 2 === 1)
      chart.append(label(name, { x: x(month), y: SIZE.height - 6, 'text-anchor': 'middle' }));
  }
  for (const { storm_date, hail } of [...events].reverse()) {
    const mm = hail.estimated_size_mm;
    const [at, height] = [x(storm_date), y(mm / MM_PER_INCH)];
    chart.append(part('line', { x1: at, x2: at, y1: y(0), y2: height, class: 'stem' }));
    const dot = { cx: at, cy: height, r: DOT_RADIUS, fill: stepOf(mm).color, class: 'dot' };
    chart.append(part('circle', dot, `${dateInWords(storm_date)}: ${sizeInWords(mm)}`));
  }
  return chart;
}

/** First days of the months of a period. */
function monthsBetween(first: string, last: string): string[] {
  const months: string[] = [];
  const month = new Date(`${first.slice(0, 7)}-01T00:00:00Z`);
  for (;;) {
    const date = month.toISOString().slice(0, 10);
    if (date > last) return months;
    if (date >= first) months.push(date);
    month.setUTCMonth(month.getUTCMonth() + 1);
  }
}
