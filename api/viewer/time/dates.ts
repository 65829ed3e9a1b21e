import { addDays, scanTime } from '../../../schemas/time.ts';
import { addressFault, readAddress } from '../address.ts';
import type { DayIndex, View } from '../data/day.ts';
import { ServiceError } from '../data/service.ts';
import { showDay, showView } from '../display.ts';
import { wait } from '../page/page.ts';
import { SWATH_MIN_MM } from '../page/palette.ts';
import { clockInWords, dateInWords, timeInWords } from '../page/words.ts';
import { askForKey, is_embedded, service, setKey, theMap } from '../site.ts';
import { change, keptId, state } from '../state.ts';
import { hailDays, nextHailDay } from './hail-days.ts';
import { axisOf, nearestScan } from './span.ts';

/** Stepping through dates requests only the date at which the reader stops. */
const STEP_MS = 250;
/** Counts the reader's requests: the answer to an earlier one is dropped. */
let turn = 0;

/** Requests what the state names with these changes, unless another request follows within `wait_ms`, and shows it. */
async function open(chosen: Partial<typeof state> = {}, wait_ms = 0): Promise<void> {
  const own = ++turn;
  change({ ...chosen, playing: false, trouble: null, notice: null, busy: true });
  await wait(wait_ms);
  if (own !== turn) return;
  try {
    await load();
    void look();
  } catch (error) {
    if (own === turn) showError(error);
  } finally {
    if (own === turn) state.busy = false;
  }
}

async function load(): Promise<void> {
  const own = turn;
  const { span, date, scan_id } = state;
  const day = await service.list(state);
  if (own !== turn) return;
  if (span === 'recent' || date === null) state.newest = day.date;
  if (span === 'date' && scan_id !== null) state.scan_id = keptId(day.frames, nearestId(day, scan_id));
  await showDay(day);
}

/** Makes the next request ask for what is shown again: it may have more scans. */
function forget(): void {
  if (state.date !== null) service.forget(state.date);
}

/** Opens a date. */
export const openDate = (date: string, wait_ms?: number) => open({ date, span: 'date', scan_id: null }, wait_ms);

/** Opens the newest date with data. */
export const openNewest = () => open({ date: null, span: 'date', scan_id: null });

/** Requests what is shown again. */
export function refresh(): Promise<void> {
  forget();
  return open();
}

/** Id of this scan, or of the nearest one of a list, which is said in words. */
function nearestId({ frames }: DayIndex, scan_id: string): string {
  if (frames.length === 0 || frames.some((frame) => frame.scan_id === scan_id)) return scan_id;
  const time_ms = scanTime(scan_id);
  const nearest = frames[nearestScan(axisOf(frames), time_ms)];
  const wanted = timeInWords(new Date(time_ms).toISOString());
  state.notice = `No scan of ${wanted} is published. The nearest is shown, of ${clockInWords(nearest.scan_time)}.`;
  return nearest.scan_id;
}

/** Shows the last 24 hours, a whole day or its scans. */
export function chooseView(choice: 'recent' | View): void {
  const span = choice === 'recent' ? 'recent' : 'date';
  if (choice === 'scan') state.view = 'scan';
  else if (span !== state.span) return void open({ span, view: 'day', scan_id: null });
  else change({ view: 'day', playing: false });
  void showView();
}

/** Opens what a link names, and says what of it does not exist. */
export async function openLink(hash: string): Promise<void> {
  const fault = addressFault(hash);
  const { place, pin, ...named } = readAddress(hash);
  if (place) theMap()?.map.jumpTo({ center: [place.lon, place.lat], zoom: place.zoom });
  // A frame of another site has no card of a pin.
  await open({ ...named, place: place ?? state.place, pin: is_embedded ? null : pin, pin_name: null });
  const instead = named.date === null ? 'The newest data are shown.' : 'The newest hail of the date is shown.';
  if (fault !== null && state.day !== null) state.notice = `${fault} ${instead}`;
}

const lacksKey = (words: string) => ({ words, label: 'Enter a key', act: askForKey });

function showError(error: unknown): void {
  state.day = null;
  void showView();
  const words = error instanceof Error ? error.message : String(error);
  const needs_key = error instanceof ServiceError && error.needs_key;
  if (needs_key) askForKey(state.key === null ? null : words);
  state.trouble = needs_key ? lacksKey(words) : { words, label: 'Try again', act: () => void open() };
}

/** Uses another key, or none. What is shown stays, and is not paid for again. */
export function enterKey(key: string | null): void {
  setKey(key);
  if (key === null) return;
  if (state.dialog === 'key-dialog') state.dialog = null;
  if (state.day === null) return void open();
  state.trouble = null;
  next_look_ms = 0;
}

/** Opens the date a day earlier or later, with hail or without. */
export function stepDay(by: number): void {
  if (state.date !== null) void openDate(addDays(state.date, by), STEP_MS);
}

/** Opens the last date with hail before the current one, or the next after it. */
export async function step(by: number): Promise<void> {
  const { date } = state;
  if (date === null) return;
  const found = await nextHailDay(date, by).catch(() => addDays(date, by));
  if (state.date !== date) return;
  if (found !== null) return openDate(found, STEP_MS);
  const start = dateInWords(hailDays.range?.start ?? date);
  state.notice =
    by > 0
      ? `No hail of ${SWATH_MIN_MM} mm or more is known after ${dateInWords(date)}.`
      : `No hail of ${SWATH_MIN_MM} mm or more between ${start} and ${dateInWords(date)}. The list of hail days can be continued with earlier years.`;
}

/** The service is asked for its newest scan this often: free of credits. After an error the pause doubles, up to the other. */
const [LOOK_EVERY_MS, LOOK_AT_LEAST_EVERY_MS] = [20_000, 300_000];
let pause_ms = LOOK_EVERY_MS;
let next_look_ms = 0;

/** The newest scan for which the list was requested again: the list may be behind, and is charged. */
let loaded_for: string | null = null;

/** The newest date is shown: of an older one there will be no further scans. */
export const isNewest = () => state.day !== null && state.date === state.newest;
/** Further scans are not wanted, or there will be none. */
const isResting = () => document.hidden || !state.live || state.day === null || !(state.newest === null || isNewest());

/** Looks for a newer scan when it is time to, while the newest date is seen. A newer scan is loaded, which is charged. */
export async function look(): Promise<void> {
  state.now_ms = service.now_ms();
  if (isResting() || performance.now() < next_look_ms) return;
  next_look_ms = Number.POSITIVE_INFINITY;
  try {
    const { scan_time, never_collected } = await service.look();
    change({ looked: true, never_collected, now_ms: service.now_ms() });
    const isFurther = () => scan_time !== null && scan_time > (state.day?.frames.at(-1)?.scan_time ?? '');
    if (isResting()) return;
    if (isFurther() && isNewest() && scan_time !== loaded_for) {
      forget();
      await load();
      loaded_for = scan_time;
    }
    const begun = isFurther() ? scan_time?.slice(0, 10) : null;
    if (begun && begun !== state.date && isNewest())
      state.trouble = { words: `${dateInWords(begun)} has begun.`, label: 'Show it', act: () => void openNewest() };
    state.newest = begun ?? state.day?.date ?? null;
    pause_ms = LOOK_EVERY_MS;
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    if (error.needs_key) state.trouble = lacksKey(error.message);
    pause_ms = Math.min(LOOK_AT_LEAST_EVERY_MS, Math.max(2 * pause_ms, 1000 * error.retry_s));
  } finally {
    // Pages that were opened together do not ask together.
    next_look_ms = performance.now() + pause_ms * (0.9 + 0.2 * Math.random());
  }
}
