import timeZoneName from '@photostructure/tz-lookup';

/** IANA name of the zone at a place; null at sea. */
export function zoneAt({ lat, lon }: { lat: number; lon: number }): string | null {
  const zone = timeZoneName(lat, lon);
  // The open sea has no civil time: `Etc/GMT+9`.
  return zone.startsWith('Etc/') ? null : zone;
}

/** `Fri 19:10 CDT`: the instant on the clocks of a zone, or on that of this browser; empty where they show UTC. */
export function clockOfZone(time: string, timeZone?: string): string {
  const parts = { weekday: 'short', hour: '2-digit', minute: '2-digit', timeZoneName: 'short' } as const;
  const words = new Date(time).toLocaleString('en-US', { ...parts, hourCycle: 'h23', timeZone }).replace(',', '');
  return /\b(UTC|GMT)$/.test(words) ? '' : words;
}

/** `7 pm`, `7:30 pm`: the time on the clocks of a zone. */
export function hourOfZone(time_ms: number, timeZone: string): string {
  const parts = { hour: 'numeric', minute: '2-digit', hour12: true, timeZone } as const;
  return new Date(time_ms).toLocaleString('en-US', parts).toLowerCase().replace(':00', '');
}
