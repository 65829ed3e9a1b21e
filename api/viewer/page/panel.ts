import type { PaddingOptions } from 'maplibre-gl';
import type { DayIndex } from '../data/day.ts';
import { chosenFrame, type State } from '../state.ts';
import { axisOf, OUTAGE_MS } from '../time/span.ts';
import { element } from './page.ts';
import { SWATH_MIN_MM } from './palette.ts';
import { clockInWords, counted, dateInWords, sizeInWords, sourceInWords, timeInWords } from './words.ts';

/** More outages are counted, not named. */
const OUTAGES_NAMED = 2;

/** Shows an error with a button that may help; null hides both. */
export function setTrouble(words: string | null, label = '', act: () => void = () => {}): void {
  element('trouble').hidden = words === null;
  element('trouble-words').textContent = words;
  const button = element('trouble-action');
  button.hidden = label === '';
  button.textContent = label;
  button.onclick = act;
}

/** Says what of a link or a request could not be shown as it was asked for; null removes it. */
export function setNotice(words: string | null): void {
  element('notice').hidden = words === null;
  element('notice').textContent = words;
}

export function setDateField(date: string | null): void {
  element<HTMLInputElement>('date').value = date ?? '';
}

export function setBusy(busy: boolean): void {
  element('panel').classList.toggle('busy', busy);
}

export function setLoading(loading: boolean): void {
  element('clock').classList.toggle('loading', loading);
}

/** `local`: time at the middle of the map; `own`: on the clock of the reader, where it differs. */
export function setClock(utc: string, local: string, own: string): void {
  element('clock-utc').textContent = utc;
  element('clock-local').textContent = local;
  element('clock-own').textContent = own;
}

export function pressView(view: 'recent' | 'day' | 'scan'): void {
  for (const choice of ['recent', 'day', 'scan'])
    element(`view-${choice}`).setAttribute('aria-pressed', String(choice === view));
}

/** Switch and legend of reflectivity, and the reason where none is drawn. */
export function describeReflectivity(state: State): void {
  const { view, reflectivity } = state;
  const frame = chosenFrame(state);
  const toggle = element<HTMLInputElement>('reflectivity');
  toggle.checked = reflectivity;
  toggle.disabled = frame === undefined;
  const isAbsent = view === 'scan' && frame?.reflectivity_url === null;
  const isDrawn = reflectivity && view === 'scan' && frame !== undefined && !isAbsent;
  element('reflectivity-legend').hidden = !isDrawn;
  const note = isAbsent ? 'none kept for this scan' : isDrawn ? 'dBZ, this much or more' : '';
  element('reflectivity-note').textContent = reflectivity && view === 'day' ? 'shown scan by scan' : note;
}

/** Largest hail of the date or of the last 24 hours, time of the data, outages, and whether they are simulated. */
export function describeDay(day: DayIndex) {
  const { date, frames, data_as_of, source, before } = day;
  if (date === null)
    return describe({
      summary: 'Nothing is published yet. Once the pipeline has published a scan, it can be seen here.',
      empty: true,
      title: 'Hail map: nothing published yet',
    });
  const simulated = source !== null && source !== 'observed';
  const label = frames.length === 0 ? 'Newest data' : 'Data until';
  describe({
    summary: [daySummary(day), ...recentWords(day)].join(' '),
    outages: outageWords(day),
    empty: frames.length === 0,
    ...(data_as_of === null ? {} : { data_time: `${label} ${timeInWords(data_as_of)}` }),
    source: sourceInWords(source),
    simulated,
    title: `Hail of ${before ? 'the last 24 hours' : dateInWords(date)}${simulated ? ' (simulated)' : ''}`,
  });
}

/** Removes the texts of the day that could not be loaded. */
export function describeFailure(): void {
  element('summary').textContent = '';
  element('panel').classList.remove('empty');
  element('data-time').textContent = 'nothing shown';
  element('outages').textContent = '';
}

function describe(texts: {
  summary: string;
  outages?: string;
  empty: boolean;
  data_time?: string;
  source?: string;
  simulated?: boolean;
  title: string;
}): void {
  element('summary').textContent = texts.summary;
  element('panel').classList.toggle('empty', texts.empty);
  element('data-time').textContent = texts.data_time ?? 'no data yet';
  element('source').textContent = texts.source ?? '';
  element('outages').textContent = texts.outages ?? '';
  element('simulated').hidden = !texts.simulated;
  document.title = texts.title;
}

function daySummary({ date, frames, before }: DayIndex): string {
  if (frames.length === 0)
    return `Nothing is published for ${dateInWords(date ?? '')}: no scans, so hail or none is not known.`;
  const largest = frames.reduce((a, b) => ((b.max_size_mm ?? 0) > (a.max_size_mm ?? 0) ? b : a));
  const scans = `${counted(frames.length, 'scan')}${before ? ' in 24 hours' : ''}`;
  return largest.max_size_mm !== null && largest.max_size_mm >= SWATH_MIN_MM
    ? `Largest ${sizeInWords(largest.max_size_mm)} at ${clockInWords(largest.scan_time)}, ${scans}.`
    : `${scans}, and no hail of ${SWATH_MIN_MM} mm or more seen.`;
}

/** What the swaths of the last 24 hours hold beyond them. */
function recentWords({ before }: DayIndex): string[] {
  return before?.daily_url && before.shows_earlier
    ? [
        `Swaths are of whole dates: those of ${dateInWords(before.date)} also show hail before ${clockInWords(before.from)}.`,
      ]
    : [];
}

/** `No scans 02:10–03:40 UTC.`: outages between scans, and hours without scans at the begin of the last 24. */
function outageWords({ frames, before }: DayIndex): string {
  if (frames.length === 0) return '';
  const { outages, from_ms } = axisOf(frames);
  const clock = (ms: number) => new Date(ms).toISOString().slice(11, 16);
  const isLate = before !== undefined && from_ms - Date.parse(before.from) > OUTAGE_MS;
  const stretches = outages.map((one) => `${clock(one.from_ms)}–${clock(one.to_ms)}`);
  const named = stretches.length > OUTAGES_NAMED ? [`${stretches.length} times for more than 10 min`] : stretches;
  const all = [...(isLate ? [`before ${clock(from_ms)}`] : []), ...named];
  return all.length === 0 ? '' : `No scans ${all.join(', ')} UTC`;
}

/** Part of the map that the cards cover: on phones the panel covers the top, elsewhere the left side. */
export function cardPadding(): PaddingOptions {
  const panel = element('panel').getBoundingClientRect();
  const legend = element('legend').getBoundingClientRect();
  if (panel.width < innerWidth / 2) {
    const bottom = innerHeight - legend.top + 30;
    return {
      top: Math.min(70, innerHeight / 8),
      bottom: Math.min(bottom, innerHeight / 2),
      left: panel.right + 44,
      right: 90,
    };
  }
  const margin = Math.min(30, Math.max(0, legend.top - panel.bottom) / 6);
  return { top: panel.bottom + margin, bottom: innerHeight - legend.top + margin, left: 30, right: 30 };
}
