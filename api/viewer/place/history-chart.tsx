import { stepOf } from '../page/palette.ts';
import { addDays, dateInWords, MM_PER_INCH, sizeInWords } from '../page/words.ts';
import type { HailDay } from './pin-calls.ts';

const SIZE = { width: 320, height: 132 };
const EDGE = { left: 26, right: 8, top: 8, bottom: 20 };
const DAY_MS = 86_400_000;
/** The axis reaches this size at least, inches. */
const AXIS_MIN_IN = 2;

/** Hail days as stems over a year: when, and how large. */
export function HistoryChart({ events, last, days }: { events: readonly HailDay[]; last: string; days: number }) {
  const first = addDays(last, 1 - days);
  const inchesOf = ({ hail }: HailDay) => hail.estimated_size_mm / MM_PER_INCH;
  const top = Math.ceil(Math.max(AXIS_MIN_IN, ...events.map(inchesOf)));
  const right = SIZE.width - EDGE.right;
  const x = (date: string) =>
    EDGE.left + ((Date.parse(date) - Date.parse(first)) / DAY_MS / (days - 1)) * (right - EDGE.left);
  const y = (inches: number) => SIZE.height - EDGE.bottom - (inches / top) * (SIZE.height - EDGE.top - EDGE.bottom);
  const rules = Array.from({ length: top + 1 }, (_, inches) => inches).filter((inches) => top <= 3 || inches % 2 === 0);
  const months = Array.from({ length: days }, (_, i) => addDays(first, i)).filter((date) => date.endsWith('-01'));
  return (
    <svg
      viewBox={`0 0 ${SIZE.width} ${SIZE.height}`}
      class="chart"
      role="img"
      aria-label={`Hail days from ${dateInWords(first)} to ${dateInWords(last)}, largest of each day`}
    >
      {rules.map((inches) => (
        <g key={inches}>
          <path d={`M${EDGE.left} ${y(inches)}H${right}`} class="rule" />
          <text x={EDGE.left - 4} y={y(inches) + 3} text-anchor="end">{`${inches} in`}</text>
        </g>
      ))}
      {months.map((date) => (
        <g key={date}>
          <path d={`M${x(date)} ${y(0)}v${date.endsWith('-01-01') ? 6 : 3}`} />
          {Number(date.slice(5, 7)) % 2 === 1 && (
            <text x={x(date)} y={SIZE.height - 6} text-anchor="middle">
              {date.endsWith('-01-01') ? date.slice(0, 4) : dateInWords(date).split(' ')[1]}
            </text>
          )}
        </g>
      ))}
      {events.toReversed().map((event) => (
        <g key={event.storm_date}>
          <path d={`M${x(event.storm_date)} ${y(0)}V${y(inchesOf(event))}`} />
          <circle
            class="dot"
            cx={x(event.storm_date)}
            cy={y(inchesOf(event))}
            r="4"
            fill={stepOf(event.hail.estimated_size_mm).color}
          >
            <title>{`${dateInWords(event.storm_date)}: ${sizeInWords(event.hail.estimated_size_mm)}`}</title>
          </circle>
        </g>
      ))}
    </svg>
  );
}
