import { stepOf } from './palette.ts';
import { addDays, dateInWords, MM_PER_INCH, sizeInWords } from './words.ts';

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

const DAYS = 365;

/** Hail days as bars over a year: when, and how large. */
export function YearChart({ sizes, last }: { sizes: readonly (readonly [date: string, mm: number])[]; last: string }) {
  const dates = Array.from({ length: DAYS }, (_, i) => addDays(last, i + 1 - DAYS));
  const words = `Hail days from ${dateInWords(dates[0])} to ${dateInWords(last)}, largest of each day`;
  return (
    <div class="chart" role="img" aria-label={words}>
      <div class="bars">
        {sizes.map(([date, mm]) => {
          const title = `${dateInWords(date)}: ${sizeInWords(mm)}`;
          return <Bar key={date} class="dot" mm={mm} left={dates.indexOf(date) / DAYS} title={title} />;
        })}
        {dates.map((date, i) =>
          /-(01|03|05|07|09|11)-01$/.test(date) ? (
            <time key={date} style={{ left: percent(i / DAYS) }}>
              {dateInWords(date).split(' ')[1]}
            </time>
          ) : null,
        )}
      </div>
    </div>
  );
}
