import timeZoneName from '@photostructure/tz-lookup';
import type { Position } from '../../schemas/geo/position.ts';

/** An instant as clocks at a place show it. */
interface LocalInstant {
  /** YYYY-MM-DD. */
  readonly date: string;
  /** `7:31 p.m.` */
  readonly clock: string;
  /** Abbreviation of the time in force: `CDT`, or `GMT-7` where English has none. */
  readonly abbreviation: string;
}

/** Civil time at a place. */
export interface LocalTime {
  /** IANA name of the zone. */
  readonly zone: string;
  readonly at: (time_ms: number) => LocalInstant;
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
