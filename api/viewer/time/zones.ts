import timeZoneName from '@photostructure/tz-lookup';

/** Zones of the open sea, without civil time: `Etc/GMT+9`. */
const AT_SEA = /^Etc\//;

/** IANA name of the zone at a place; null at sea. */
export function zoneAt({ lat, lon }: { lat: number; lon: number }): string | null {
  const zone = timeZoneName(lat, lon);
  return AT_SEA.test(zone) ? null : zone;
}

/** Zone of this browser. */
export const ownZone = (): string => Intl.DateTimeFormat().resolvedOptions().timeZone;

const clocks = new Map<string, Intl.DateTimeFormat>();

/** `Fri 19:10 CDT`: the instant on the clocks of a zone; empty where they show UTC. */
export function clockOfZone(time: string | number, zone: string): string {
  const instant = new Date(time);
  const words = formatOf(zone, { weekday: 'short', hour: '2-digit', minute: '2-digit', timeZoneName: 'short' })
    .format(instant)
    .replace(',', '');
  return /\b(UTC|GMT)$/.test(words) ? '' : words;
}

/** `7 pm`, `7:30 pm`: the time on the clocks of a zone. */
export function hourOfZone(time_ms: number, zone: string): string {
  return formatOf(zone, { hour: 'numeric', minute: '2-digit', hour12: true })
    .format(time_ms)
    .toLowerCase()
    .replace(':00', '');
}

/** Making a format takes far longer than using it. */
function formatOf(timeZone: string, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const name = `${timeZone} ${Object.keys(options)}`;
  const found =
    clocks.get(name) ??
    new Intl.DateTimeFormat('en-US', { ...(options.hour12 ? {} : { hourCycle: 'h23' }), ...options, timeZone });
  clocks.set(name, found);
  return found;
}
