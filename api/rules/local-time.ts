import timeZoneName from '@photostructure/tz-lookup';
import type { Position } from '../../schemas/geo/position.ts';

export interface LocalTime {
  /** IANA name of the zone. */
  readonly zone: string;
  /** An instant as clocks show it: YYYY-MM-DD, `7:31 p.m.`, and `CDT`, or `GMT-7` where English has no abbreviation. */
  readonly at: (time_ms: number) => Readonly<Record<'date' | 'clock' | 'abbreviation', string>>;
}

/** Zones of the open sea, without civil time: `Etc/GMT+9`. */
const AT_SEA = /^Etc\//;

/** Civil time at a place, daylight saving time included; null far out at sea, which has UTC alone. */
export function localTimeAt({ lat, lon }: Position): LocalTime | null {
  const zone = timeZoneName(lat, lon);
  if (AT_SEA.test(zone)) return null;
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone: zone,
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: 'numeric',
    minute: '2-digit',
    hour12: true,
    timeZoneName: 'short',
  });
  return {
    zone,
    at: (time_ms) => {
      const parts = new Map(format.formatToParts(time_ms).map(({ type, value }) => [type, value]));
      const part = (type: Intl.DateTimeFormatPartTypes) => parts.get(type) ?? '';
      return {
        date: `${part('year')}-${part('month')}-${part('day')}`,
        clock: `${part('hour')}:${part('minute')} ${part('dayPeriod') === 'AM' ? 'a.m.' : 'p.m.'}`,
        abbreviation: part('timeZoneName'),
      };
    },
  };
}
