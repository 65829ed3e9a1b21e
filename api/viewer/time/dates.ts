import { addressFault, readAddress } from '../address.ts';
import type { View } from '../data/day.ts';
import { ServiceError } from '../data/service.ts';
import { showDay, showView, updateDay } from '../display.ts';
import { SWATH_MIN_MM } from '../page/palette.ts';
import { addDays, dateInWords } from '../page/words.ts';
import { archives, askForKey, service, setKey, theMap } from '../site.ts';
import { change, chosenFrame, newestWithHail, setAddress, state } from '../state.ts';
import { hailDays, nearestWithData, nextHailDay } from './hail-days.ts';

/** Stepping through dates requests only the date at which the reader stops. */
const STEP_MS = 250;
let stepping: ReturnType<typeof setTimeout> | undefined;

/** Opens a date, with this scan. */
export function openDate(date: string, scan_id: string | null = null): Promise<void> {
  change({ date, span: 'date' });
  return open(scan_id);
}

/** Opens the newest date with data. */
function openNewest(): Promise<void> {
  change({ date: null, span: 'date' });
  return open();
}

/** Opens the last 24 hours until the newest scan. */
function openRecent(): Promise<void> {
  change({ span: 'recent', view: 'day' });
  return open(null);
}

/** Requests what the state names, and shows it, with this scan. */
async function open(wanted: string | null = state.wanted): Promise<void> {
  const { span, date } = state;
  const turn = state.turn + 1;
  clearTimeout(stepping);
  change({ turn, wanted, playing: false, trouble: null, notice: null, busy: true });
  const ofDate = () => (date === null ? service.newest() : service.day(date));
  try {
    const day = await (span === 'recent' ? service.recent() : ofDate());
    if (turn !== state.turn) return;
    if (span === 'recent' || date === null) state.newest = day.date;
    await showDay(day, wanted);
    void look();
  } catch (error) {
    if (turn === state.turn) showError(error);
  } finally {
    if (turn === state.turn) state.busy = false;
  }
}

/** Shows the last 24 hours, a whole day or its scans. */
export function chooseView(choice: 'recent' | View): void {
  const { span, view, date } = state;
  if (choice !== 'scan') state.playing = false;
  if (choice === 'recent' && span !== 'recent') return void openRecent();
  if (choice === 'day' && span === 'recent' && date !== null) {
    state.view = 'day';
    return void openDate(date);
  }
  if (choice === view) return;
  state.view = choice === 'scan' ? 'scan' : 'day';
  void showView();
}

/** Opens what a link names; of a date without scans the nearest one with scans, and says so. */
export async function openLink(hash: string): Promise<void> {
  const fault = addressFault(hash);
  const address = readAddress(hash);
  setAddress(address);
  const { date, place } = address;
  if (place) theMap()?.map.jumpTo({ center: [place.lon, place.lat], zoom: place.zoom });
  await open();
  if (fault !== null && state.day !== null)
    state.notice = `${fault} ${date === null ? 'The newest data are shown.' : 'The newest hail of the date is shown.'}`;
  if (date === null || state.date !== date || state.day?.frames.length !== 0) return;
  const { turn } = state;
  // Without an answer the newest date is shown, and the notice says so.
  const nearest = await nearestWithData(date).catch(() => null);
  if (turn !== state.turn) return;
  await (nearest === null ? openNewest() : openDate(nearest));
  const shown = state.day?.date;
  if (shown)
    state.notice = `Nothing is published for ${dateInWords(date)}. ${dateInWords(shown)} is shown, ${nearest === null ? 'the newest date' : 'the nearest date with scans'}.`;
}

function showError(error: unknown): void {
  state.day = null;
  void showView();
  const words = error instanceof Error ? error.message : String(error);
  if (!(error instanceof ServiceError) || !error.needs_key) {
    state.trouble = { words, label: 'Try again', act: () => void open() };
    return;
  }
  askForKey(state.key === null ? null : words);
  state.trouble = { words, label: 'Enter a key', act: askForKey };
}

/** Uses another key, or none. What is shown stays, and is not paid for again. */
export function enterKey(key: string | null): void {
  setKey(key);
  if (key === null) return;
  if (state.dialog === 'key-dialog') state.dialog = null;
  if (state.day === null) return void open();
  state.trouble = null;
  void look();
}

/** Removes the day from the map; its daily archive changes under one address and is read again. */
function dropDay(): void {
  if (state.day?.daily_url) archives.forget(state.day.daily_url);
  state.day = null;
  theMap()?.clear();
}

/** Shows another date in the field at once, and requests it when the reader stops stepping. */
function stepTo(date: string): void {
  change({ date, span: 'date', busy: true });
  clearTimeout(stepping);
  stepping = setTimeout(() => void openDate(date), STEP_MS);
}

/** Opens the date a day earlier or later, with hail or without. */
export function stepDay(by: number): void {
  if (state.date !== null) stepTo(addDays(state.date, by));
}

/** Opens the last date with hail before the current one, or the next after it; every date where the reader wants so. */
export async function step(by: number): Promise<void> {
  const { date } = state;
  if (date === null) return;
  if (!hailDays.skips_dry) return stepDay(by);
  const found = await nextHailDay(date, by).catch(() => addDays(date, by));
  if (state.date !== date) return;
  if (found !== null) return stepTo(found);
  const start = dateInWords(hailDays.range?.start ?? date);
  state.notice =
    by > 0
      ? `No hail of ${SWATH_MIN_MM} mm or more is known after ${dateInWords(date)}.`
      : `No hail of ${SWATH_MIN_MM} mm or more between ${start} and ${dateInWords(date)}. The list of hail days can be continued with earlier years.`;
}

/** Requests what is shown again: it may have more scans. */
export function refresh(): void {
  const { day, date, frame } = state;
  const isAtEnd = day !== null && frame === newestWithHail(day.frames);
  const scan_id = isAtEnd ? null : (chosenFrame()?.scan_id ?? null);
  dropDay();
  if (date !== null) service.forget(date);
  void open(scan_id);
}

/** Requests the newest date again. */
export function reopenNewest(): void {
  dropDay();
  void openNewest();
}

/*
 * Newer scans, while the newest date is open and the page is visible.
 */

/** The service is asked for its newest scan this often: free of credits, and far below any rate limit. */
const LOOK_EVERY_MS = 20_000;
/** Pages that were opened together do not ask together. */
const SPREAD = 0.2;
/** After an error the pause doubles, up to this. */
const LOOK_AT_LEAST_EVERY_MS = 300_000;
let timer: ReturnType<typeof setTimeout> | undefined;
let looking = false;
let pause_ms = LOOK_EVERY_MS;

/** The newest date is shown: of an older one there will be no further scans. */
export const isNewest = () => state.newest !== null && state.date === state.newest && state.day !== null;
const isLooking = () => state.newest === null || isNewest();
const isResting = () => document.hidden || !state.live || !isLooking();

/** Looks for a newer scan once; calls that come meanwhile are dropped. A newer scan is loaded, which is charged. */
async function look(): Promise<void> {
  if (looking || !isLooking()) return;
  looking = true;
  clearTimeout(timer);
  try {
    const { scan_time, never_collected } = await service.look();
    change({ looked: true, never_collected, now_ms: service.now_ms() });
    pause_ms = LOOK_EVERY_MS;
    const last = state.day?.frames.at(-1)?.scan_time ?? null;
    if (last !== null && scan_time !== null && scan_time <= last) state.newest = state.day?.date ?? null;
    else if (state.newest === null) state.newest = scan_time?.slice(0, 10) ?? null;
    else if (isNewest() && scan_time !== null && !isResting()) await reloadNewest();
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    if (error.needs_key && error.code !== 'insufficient_scope')
      state.trouble = { words: error.message, label: 'Enter a key', act: askForKey };
    pause_ms = Math.min(LOOK_AT_LEAST_EVERY_MS, Math.max(2 * pause_ms, 1000 * (error.retry_s ?? 0)));
  } finally {
    looking = false;
    planLook();
  }
}

function planLook(): void {
  clearTimeout(timer);
  if (!isResting()) timer = setTimeout(() => void look(), pause_ms * (1 + SPREAD * (Math.random() - 0.5)));
}

/** Looks at once, or rests: the page was shown or hidden, or the reader switched it. */
export function wake(): void {
  if (isResting() || pause_ms !== LOOK_EVERY_MS) planLook();
  else void look();
}

/** Loads the newest date again, of which there is a further scan, and keeps what the reader looks at. */
async function reloadNewest(): Promise<void> {
  const { day: shown, turn, span } = state;
  if (shown?.date == null) return;
  const newest = await service.newest();
  // The date that ended may have got scans after it was loaded.
  if (newest.date !== shown.date) service.forget(shown.date);
  const isSame = newest.date === shown.date;
  const day = span === 'recent' ? await service.recent(newest) : isSame ? newest : await service.day(shown.date);
  if (turn !== state.turn) return;
  state.newest = newest.date;
  if (shown.daily_url) archives.forget(shown.daily_url);
  await updateDay(day);
  if (newest.date !== null && newest.date !== day.date)
    state.trouble = { words: `${dateInWords(newest.date)} has begun.`, label: 'Show it', act: () => void openNewest() };
}
