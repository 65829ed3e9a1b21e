import { MS_PER_MIN, timestamp, utcDate } from '../../schemas/time.ts';
import { MM_PER_INCH, MS_PER_KNOT } from '../../schemas/units.ts';
import { LARGEST_OF_CORE } from './outlooks.ts';
import type { TextFile } from './reports.ts';
import { type Storm, stormAt, stormsBetween } from './storms.ts';
import { isInWindow, type Scenario, shifted } from './weather.ts';

const STEP_MS = 2 * MS_PER_MIN;
/** Hail size from which on a warning is issued. */
const WARNED_MM = MM_PER_INCH;
/** Delay from the first sign to the warning. */
const DELAY_MS = 4 * MS_PER_MIN;
const WARNING_MS = 45 * MS_PER_MIN;
/** Interval of updates while the storm lasts. */
const UPDATE_MS = 20 * MS_PER_MIN;
/** The file keeps the warnings of the last day, as the archive does. */
const REACH_MS = 24 * 60 * MS_PER_MIN;
/** Half width of a warning polygon at its start, and its growth to the end, km. */
const HALF_WIDTH_KM = 8;
const WIDENS_KM = 6;

/** One message about a storm. */
interface Message {
  readonly id: string;
  readonly storm: Storm;
  readonly number: number;
  readonly sent_ms: number;
  readonly ends_ms: number;
  readonly action: 'NEW' | 'CON' | 'CAN';
  readonly replaces: string | null;
}

/** Alerts file at `to_ms` with the messages of the last day: a warning polygon ahead of each storm with hail >= 1 inch. */
export function alertFile(scenario: Scenario, to_ms: number): TextFile {
  const from_ms = to_ms - REACH_MS;
  const features = stormsBetween(scenario, from_ms, to_ms)
    .flatMap(messagesOf)
    .filter(({ sent_ms }) => sent_ms >= from_ms && sent_ms <= to_ms)
    .filter(({ storm, sent_ms }) => isInWindow(scenario, stormAt(storm, sent_ms)))
    .sort((a, b) => b.sent_ms - a.sent_ms || (a.id < b.id ? -1 : 1))
    .map(featureOf);
  return { path: 'alerts/alerts.json', text: `${JSON.stringify({ type: 'FeatureCollection', features })}\n` };
}

/** Messages over the life of a storm: the first warning, updates, and a cancellation when the storm ends early. */
function messagesOf(storm: Storm): Message[] {
  const dangerous = dangerousSpan(storm);
  if (dangerous === null) return [];
  const messages: Message[] = [];
  const number = 1 + (storm.key % 9999);
  const add = (sent_ms: number, ends_ms: number, action: Message['action']) => {
    const id = `urn:oid:simulated.${storm.storm_id}.${utcDate(sent_ms).replaceAll('-', '')}.${messages.length + 1}`;
    messages.push({ id, storm, number, sent_ms, ends_ms, action, replaces: messages.at(-1)?.id ?? null });
  };
  const first_ms = Math.ceil((dangerous.from_ms + DELAY_MS) / MS_PER_MIN) * MS_PER_MIN;
  for (let sent_ms = first_ms; sent_ms < dangerous.to_ms || messages.length === 0; sent_ms += UPDATE_MS)
    add(sent_ms, sent_ms + WARNING_MS, messages.length === 0 ? 'NEW' : 'CON');
  const last = messages.at(-1);
  const ended_ms = Math.ceil(Math.max(dangerous.to_ms, (last?.sent_ms ?? 0) + STEP_MS) / MS_PER_MIN) * MS_PER_MIN;
  if (last !== undefined && ended_ms < last.ends_ms - 10 * MS_PER_MIN) add(ended_ms, last.ends_ms, 'CAN');
  return messages;
}

/** Time span in which a storm has hail >= WARNED_MM; null without any. */
function dangerousSpan(storm: Storm): { from_ms: number; to_ms: number } | null {
  const times: number[] = [];
  for (let time_ms = storm.birth_ms; time_ms < storm.birth_ms + storm.life_ms; time_ms += STEP_MS)
    if (sizeAt(storm, time_ms) >= WARNED_MM) times.push(time_ms);
  const [from_ms] = times;
  return from_ms === undefined ? null : { from_ms, to_ms: times.at(-1) ?? from_ms };
}

function sizeAt(storm: Storm, time_ms: number): number {
  return LARGEST_OF_CORE * stormAt(storm, time_ms).peak_mm;
}

function featureOf({ id, storm, number, sent_ms, ends_ms, action, replaces }: Message): object {
  const state = stormAt(storm, sent_ms);
  const size_in = Math.max(1, Math.round((4 * sizeAt(storm, sent_ms)) / MM_PER_INCH) / 4);
  const from_deg = Math.round(state.direction_deg + 180) % 360;
  const event = 'Severe Thunderstorm Warning';
  const messageType = { NEW: 'Alert', CON: 'Update', CAN: 'Cancel' }[action];
  const motion = `${timestamp(sent_ms)}...storm...${String(from_deg).padStart(3, '0')}DEG...${Math.round(state.speed_ms / MS_PER_KNOT)}KT...${state.lat.toFixed(2)},${state.lon.toFixed(2)}`;
  return {
    type: 'Feature',
    geometry: { type: 'Polygon', coordinates: [warningRing(storm, sent_ms, ends_ms)] },
    properties: {
      id,
      areaDesc: 'Simulated',
      references: replaces === null ? [] : [{ identifier: replaces, sender: 'simulated' }],
      sent: timestamp(sent_ms),
      effective: timestamp(sent_ms),
      onset: timestamp(sent_ms),
      expires: timestamp(ends_ms),
      ends: timestamp(ends_ms),
      status: 'Actual',
      messageType,
      category: 'Met',
      severity: 'Severe',
      certainty: 'Observed',
      urgency: 'Immediate',
      event,
      sender: 'simulated',
      senderName: 'Simulated',
      headline: `${event} (simulated) issued ${timestamp(sent_ms)} until ${timestamp(ends_ms)}`,
      parameters: {
        eventMotionDescription: [motion],
        maxWindGust: ['60 MPH'],
        maxHailSize: [size_in.toFixed(2)],
        VTEC: [`/O.${action}.KSIM.SV.W.${String(number).padStart(4, '0')}.${vtecTime(sent_ms)}-${vtecTime(ends_ms)}/`],
        eventEndingTime: [timestamp(ends_ms)],
      },
    },
  };
}

/** `260501T2012Z`. */
function vtecTime(time_ms: number): string {
  return `${timestamp(time_ms).slice(2, 16).replaceAll(/[-:]/g, '')}Z`;
}

/** Warning polygon: ring around the path extrapolated from the motion at `sent_ms`. */
function warningRing(storm: Storm, sent_ms: number, ends_ms: number): number[][] {
  const { lat, lon, direction_deg, speed_ms } = stormAt(storm, sent_ms);
  const length_km = Math.max(10, (speed_ms * (ends_ms - sent_ms)) / 1e6);
  const start = shifted({ lat, lon }, direction_deg + 180, HALF_WIDTH_KM);
  const end = shifted({ lat, lon }, direction_deg, length_km + HALF_WIDTH_KM);
  const wide_km = HALF_WIDTH_KM + WIDENS_KM;
  const ring = [
    shifted(start, direction_deg + 90, HALF_WIDTH_KM),
    shifted(end, direction_deg + 90, wide_km),
    shifted(end, direction_deg - 90, wide_km),
    shifted(start, direction_deg - 90, HALF_WIDTH_KM),
  ].map((position) => [Math.round(position.lon * 100) / 100, Math.round(position.lat * 100) / 100]);
  return [...ring, ring[0]];
}
