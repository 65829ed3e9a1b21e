import { addDays } from '../../../schemas/time.ts';
import { MM_PER_INCH, stepOf } from './palette.ts';
import { dateInWords, sizeInWords } from './words.ts';

/** A bar of this size fills the height. */
const FULL_MM = 3 * MM_PER_INCH;

export const percent = (share: number) => `${(100 * share).toFixed(3)}%`;

interface BarProps {
  readonly mm: number | null;
  /** Place on the axis, and width, as shares of it. */
  readonly left: number;
  readonly width?: number;
  readonly class?: string;
  readonly title?: string;
}

/** A size as a bar in the colour of its step. */
export function Bar({ mm, left, width = 0, ...rest }: BarProps) {
  const height = percent(Math.min(1, (mm ?? 0) / FULL_MM));
  const style = { left: percent(left), width: percent(width), height, background: stepOf(mm ?? 0).color };
  return mm === null ? null : <i style={style} {...rest} />;
}

/** Hail days as bars over the year until a date: when, and how large. */
export function YearChart({ sizes, last }: { sizes: readonly (readonly [date: string, mm: number])[]; last: string }) {
  const dates = Array.from({ length: 365 }, (_, i) => addDays(last, i - 364));
  const left = (date: string) => dates.indexOf(date) / dates.length;
  const months = dates.filter((date) => date.endsWith('-01'));
  return (
    <div class="chart" role="img" aria-label={`Largest hail of each hail day of the year until ${dateInWords(last)}`}>
      <div class="bars">
        {sizes.map(([date, mm]) => (
          <Bar key={date} class="dot" mm={mm} left={left(date)} title={`${dateInWords(date)}: ${sizeInWords(mm)}`} />
        ))}
        {months.map((date) => (
          <time key={date} style={{ left: percent(left(date)) }}>
            {dateInWords(date).split(' ')[1]}
          </time>
        ))}
      </div>
    </div>
  );
}
