import timeZoneName from '@photostructure/tz-lookup';
import type { Position } from '../../schemas/geo/position.ts';

const DATE = { weekday: 'short', month: 'short', day: 'numeric', year: 'numeric' } as const;
const CLOCK = { hour: 'numeric', minute: '2-digit', timeZoneName: 'short' } as const;
const FORMS = {
  /** `Fri, Nov 27, 2026` */
  date: DATE,
  /** `Friday, November 27, 2026, 9:29 – 9:52 PM CST` */
  long: { ...DATE, weekday: 'long', month: 'long', ...CLOCK },
  /** `Fri, Nov 27, 2026, 9:29 – 9:52 PM CST` */
  medium: { ...DATE, ...CLOCK },
  /** `Nov 27, 9:29 – 9:52 PM CST` */
  short: { month: 'short', day: 'numeric', ...CLOCK },
} as const;

/** Zones of the open sea, without civil time: `Etc/GMT+9`. */
const AT_SEA = /^Etc\//;

/** Civil time at a place, daylight saving time included; far out at sea UTC. */
export function localTimeAt({ lat, lon }: Position) {
  const found = timeZoneName(lat, lon);
  /** IANA name of the zone. */
  const zone = AT_SEA.test(found) ? 'UTC' : found;
  return {
    zone,
    /** An instant, or a span of time, in words; of a longer span both dates, and both abbreviations of the zone. */
    words: (form: keyof typeof FORMS, first_ms: number, last_ms = first_ms): string => {
      const format = new Intl.DateTimeFormat('en-US', { timeZone: zone, ...FORMS[form] });
      const abbreviation = (time_ms: number) =>
        format.formatToParts(time_ms).find(({ type }) => type === 'timeZoneName')?.value;
      // A range has one abbreviation even where summer time ends within it.
      const isOneZone = abbreviation(first_ms) === abbreviation(last_ms);
      const text = isOneZone
        ? format.formatRange(first_ms, last_ms)
        : `${format.format(first_ms)} – ${format.format(last_ms)}`;
      // A line does not break within the clock.
      return text.replaceAll(/[\u2009\u202f]|(?<=[AP]M) /g, '\u00a0');
    },
  };
}
export type LocalTime = ReturnType<typeof localTimeAt>;
