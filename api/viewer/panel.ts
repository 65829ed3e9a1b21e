import type { PaddingOptions } from 'maplibre-gl';
import type { View } from './address.ts';
import { element } from './page.ts';
import type { DayIndex, Frame } from './service.ts';
import { chosenFrame, type State } from './state.ts';
import { clockInWords, counted, dateInWords, type Palette, sizeInWords, sourceInWords, timeInWords } from './words.ts';

/** Shows an error with a button that may help; null hides both. */
export function setTrouble(words: string | null, label = '', act: () => void = () => {}): void {
  element('trouble').hidden = words === null;
  element('trouble-words').textContent = words;
  const button = element('trouble-action');
  button.hidden = label === '';
  button.textContent = label;
  button.onclick = act;
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

export function setClock(utc: string, local: string): void {
  element('clock-utc').textContent = utc;
  element('clock-local').textContent = local;
}

export function pressView(view: View): void {
  for (const choice of ['day', 'scan']) element(`view-${choice}`).setAttribute('aria-pressed', String(choice === view));
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

/** Largest hail of the date, time of the data, and whether they are simulated. */
export function describeDay({ date, frames, data_as_of, source }: DayIndex, palette: Palette) {
  if (date === null)
    return describe({
      summary: 'Nothing is published yet. Once the pipeline has published a scan, it can be seen here.',
      empty: true,
      title: 'Hail map: nothing published yet',
    });
  const simulated = source !== null && source !== 'observed';
  const label = frames.length === 0 ? 'Newest data' : 'Data until';
  describe({
    summary: daySummary(date, frames, palette),
    empty: frames.length === 0,
    ...(data_as_of === null ? {} : { data_time: `${label} ${timeInWords(data_as_of)}` }),
    source: sourceInWords(source),
    simulated,
    title: `Hail of ${dateInWords(date)}${simulated ? ' (simulated)' : ''}`,
  });
}

/** Removes the texts of the day that could not be loaded. */
export function describeFailure(): void {
  element('summary').textContent = '';
  element('panel').classList.remove('empty');
  element('data-time').textContent = 'nothing shown';
}

function describe(texts: {
  summary: string;
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
  element('simulated').hidden = !texts.simulated;
  document.title = texts.title;
}

function daySummary(date: string, frames: readonly Frame[], palette: Palette): string {
  if (frames.length === 0)
    return `Nothing is published for ${dateInWords(date)}: no scans, so hail or none is not known.`;
  const largest = frames.reduce((a, b) => ((b.max_size_mm ?? 0) > (a.max_size_mm ?? 0) ? b : a));
  const smallest_mm = palette.sizes.find(({ category }) => category !== null)?.mm_min ?? 0;
  return largest.max_size_mm !== null && largest.max_size_mm >= smallest_mm
    ? `Largest ${sizeInWords(largest.max_size_mm, palette)} at ${clockInWords(largest.scan_time)}, ${counted(frames.length, 'scan')}.`
    : `${counted(frames.length, 'scan')}, and no hail of ${smallest_mm} mm or more seen.`;
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
