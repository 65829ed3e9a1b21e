import { readAddress, writeAddress } from './address.js';
import { openArchives } from './archives.js';
import { forgetKey, openKeyDialog, readKey } from './key.js';
import { listenToKeys } from './keyboard.js';
import { drawLegend, drawReflectivityLegend } from './legend.js';
import { openMap } from './map.js';
import { openService, ServiceError } from './service.js';
import { openSpot } from './spot.js';
import { openTimeline } from './timeline.js';
import {
  addDays,
  clockInWords,
  counted,
  dateInWords,
  localInWords,
  sizeInWords,
  sourceInWords,
  timeInWords,
} from './words.js';

/**
 * @typedef {import('./service.js').DayIndex} DayIndex
 * @typedef {import('./service.js').Frame} Frame
 */

/** Scans fetched before they are shown. */
const AHEAD = 6;
/** Leafing through dates asks for the one it comes to rest on. */
const LEAF_MS = 250;
const PAN_PX = 120;

const element = (/** @type {string} */ id) => /** @type {HTMLElement} */ (document.getElementById(id));
const meta = (/** @type {string} */ name) =>
  /** @type {HTMLMetaElement} */ (document.querySelector(`meta[name="${name}"]`)).content;
const asset = async (/** @type {string} */ name) => {
  const response = await fetch(`${meta('hail-assets')}/${name}`);
  if (!response.ok) throw new Error(`${name} answered ${response.status}, expected 200`);
  return response.json();
};

addEventListener('error', ({ message }) => setTrouble(`This page met an error: ${message}`));
addEventListener('unhandledrejection', ({ reason }) =>
  setTrouble(`This page met an error: ${reason?.message ?? reason}`),
);

const dateField = /** @type {HTMLInputElement} */ (element('date'));
const palette = await asset('palette.json');
for (const [name, color] of Object.entries(palette.basemap))
  document.documentElement.style.setProperty(`--${name}`, color);
drawLegend(element('legend'), palette);
drawReflectivityLegend(element('reflectivity-legend'), palette);

const start = readAddress(location.hash);
const archives = openArchives();
const service = openService(meta('hail-api'), readKey);
const keyDialog = openKeyDialog(retry);
const map = await openMap(element('map'), {
  palette,
  states: await asset('states.json'),
  archives,
  place: start.place,
});
const timeline = openTimeline(palette, showFrame);
const spot = openSpot(map, palette);

/** What is looked at. `turn` counts requests of the reader: what an older one brings is dropped. */
const state = {
  turn: 0,
  /** @type {string | null} */
  date: start.date,
  /** @type {'day' | 'scan'} */
  view: start.view,
  reflectivity: start.reflectivity,
  /** @type {number | null} */
  frame: null,
  /** @type {DayIndex | null} */
  day: null,
  /** @type {string | null} scan that was asked for and is not shown yet: a refusal on the way does not lose it */
  wanted: start.frame,
  placed: start.place !== null,
  /** Some date was shown; the first is shown where the address says. */
  shown: false,
};

/** The newest date with data: where everybody begins who names none. */
async function openNewest() {
  await open(service.newest(), state.wanted);
}

/**
 * @param {string} date
 * @param {string | null} [scan_id]
 */
async function openDate(date, scan_id = null) {
  state.date = date;
  dateField.value = date;
  await open(service.day(date), scan_id);
}

/**
 * Shows a date once its list is there.
 * @param {Promise<DayIndex>} asked
 * @param {string | null} scan_id
 */
async function open(asked, scan_id) {
  const turn = ++state.turn;
  state.wanted = scan_id;
  timeline.pause();
  setTrouble(null);
  element('panel').classList.add('busy');
  try {
    const day = await asked;
    if (turn !== state.turn) return;
    await showDay(day, scan_id);
  } catch (error) {
    if (turn === state.turn) blame(error);
  } finally {
    if (turn === state.turn) element('panel').classList.remove('busy');
  }
}

/** @param {DayIndex} day @param {string | null} scan_id */
async function showDay(day, scan_id) {
  const isOther = day.date !== state.day?.date;
  state.day = day;
  state.date = day.date;
  state.wanted = null;
  dateField.value = day.date ?? '';
  const asked = day.frames.findIndex((frame) => frame.scan_id === scan_id);
  state.frame =
    asked >= 0
      ? asked
      : isOther || state.frame === null
        ? newestWithHail(day.frames)
        : Math.min(state.frame, day.frames.length - 1);
  if (isOther) map.clear();
  timeline.load(day.frames);
  tellDay(day);
  const hail = day.frames.flatMap(({ storms }) => storms);
  // A date whose hail lies elsewhere would leave the reader before an empty map.
  if (!state.placed || (isOther && state.shown && hail.length > 0 && !map.shows(hail))) await fitHail(false);
  state.placed = true;
  state.shown = true;
  await showView();
}

/** Index of the scan to begin with: the newest that has hail, else the newest; null without scans. */
function newestWithHail(/** @type {readonly Frame[]} */ frames) {
  const found = frames.findLastIndex(({ storms }) => storms.length > 0);
  return found >= 0 ? found : frames.length > 0 ? frames.length - 1 : null;
}

/** Draws the day or the scan, as chosen; nothing on a date without scans. */
async function showView() {
  const { day, view } = state;
  tellReflectivity();
  for (const choice of ['day', 'scan']) element(`view-${choice}`).setAttribute('aria-pressed', String(choice === view));
  if (!day || day.frames.length === 0) return showNothing();
  if (view === 'scan' && state.frame !== null) return showFrame(state.frame);
  timeline.pause();
  timeline.point(null);
  const last = day.frames[day.frames.length - 1];
  setClock(dateInWords(day.date ?? ''), `until ${clockInWords(last.scan_time)}`);
  remember();
  map.underlay(null);
  if (day.daily_url === null) return map.clear();
  await draw('day', day.daily_url);
}

function showNothing() {
  tellReflectivity();
  map.clear();
  spot.close();
  timeline.point(null);
  setClock('–', '');
  remember();
}

/**
 * Shows a scan of the date.
 * @param {number} index
 */
async function showFrame(index) {
  const frames = state.day?.frames ?? [];
  const frame = frames[index];
  if (!frame) return;
  if (state.view !== 'scan') {
    state.view = 'scan';
    element('view-day').setAttribute('aria-pressed', 'false');
    element('view-scan').setAttribute('aria-pressed', 'true');
  }
  state.frame = index;
  timeline.point(index);
  setClock(clockInWords(frame.scan_time), localInWords(frame.scan_time) || dateInWords(frame.scan_time.slice(0, 10)));
  remember();
  tellReflectivity();
  map.underlay(state.reflectivity ? frame.reflectivity_url : null);
  const drawing = draw('scan', frame.url);
  for (const other of [...frames.slice(index + 1, index + 1 + AHEAD), ...frames.slice(Math.max(0, index - 1), index)]) {
    archives.ahead(other.url);
    if (state.reflectivity && other.reflectivity_url !== null) archives.ahead(other.reflectivity_url);
  }
  await drawing;
}

/** @param {'day' | 'scan'} view @param {string} url */
async function draw(view, url) {
  element('clock').classList.add('loading');
  await map.show(view, url);
  const { day, frame } = state;
  const wanted = state.view === 'day' ? day?.daily_url : frame === null ? null : day?.frames[frame]?.url;
  if (wanted !== url) return;
  await hatchUncovered();
  element('clock').classList.remove('loading');
  spot.tell(state.view);
}

/** Hatches what no radar looked at: in the scan that is shown, of a whole day in its newest. */
async function hatchUncovered() {
  const { day, view, frame } = state;
  const url = day?.frames[view === 'day' ? day.frames.length - 1 : (frame ?? 0)]?.url;
  const note = url === undefined ? null : await archives.describe(url);
  if (day === state.day && view === state.view && frame === state.frame) map.hatch(note?.uncovered ?? null);
}

/** @param {'day' | 'scan'} view */
function choose(view) {
  if (view === state.view) return;
  state.view = view;
  void showView();
}

/** Switches the reflectivity under the hail; it is of single scans, so that switching it on shows one. */
function switchReflectivity() {
  state.reflectivity = !state.reflectivity;
  if (state.reflectivity) state.view = 'scan';
  void showView();
}

/** How the switch stands, and why nothing is to be seen of it where that is so. */
function tellReflectivity() {
  const { day, view, frame, reflectivity } = state;
  const shown = frame === null ? undefined : day?.frames[frame];
  const toggle = /** @type {HTMLInputElement} */ (element('reflectivity'));
  toggle.checked = reflectivity;
  toggle.disabled = shown === undefined;
  const isAbsent = view === 'scan' && shown?.reflectivity_url === null;
  const isDrawn = reflectivity && view === 'scan' && shown !== undefined && !isAbsent;
  element('reflectivity-legend').hidden = !isDrawn;
  const note = isAbsent ? 'none kept for this scan' : isDrawn ? 'dBZ, this much or more' : '';
  element('reflectivity-note').textContent = reflectivity && view === 'day' ? 'shown scan by scan' : note;
}

/** What the date holds, in a sentence; when the data are of, and whether they are real. */
function tellDay(/** @type {DayIndex} */ day) {
  if (day.date === null) return tellNothing();
  const { date, frames, data_as_of, source } = day;
  const largest = frames.reduce(
    (/** @type {Frame | null} */ a, b) => ((b.max_size_mm ?? 0) > (a?.max_size_mm ?? 0) ? b : a),
    null,
  );
  const smallest = palette.sizes.find(
    (/** @type {{ category: string | null }} */ { category }) => category !== null,
  ).mm_min;
  const words =
    frames.length === 0
      ? `Nothing is published for ${dateInWords(date)}: no scans, so hail or none is not known.`
      : largest?.max_size_mm && largest.max_size_mm >= smallest
        ? `Largest ${sizeInWords(largest.max_size_mm, palette)} at ${clockInWords(largest.scan_time)}, ${counted(frames.length, 'scan')}.`
        : `${counted(frames.length, 'scan')}, and no hail of ${smallest} mm or more seen.`;
  element('summary').textContent = words;
  element('panel').classList.toggle('empty', frames.length === 0);
  element('data-time').textContent = data_as_of
    ? `${frames.length === 0 ? 'Newest data' : 'Data until'} ${timeInWords(data_as_of)}`
    : 'no data yet';
  const simulated = source !== null && source !== 'observed';
  element('source').textContent = sourceInWords(source);
  element('simulated').hidden = !simulated;
  document.title = `Hail of ${dateInWords(date)}${simulated ? ' (simulated)' : ''}`;
}

/** Before the first scan is published there is no date to name. */
function tellNothing() {
  element('summary').textContent =
    'Nothing is published yet. Once the pipeline has published a scan, it can be seen here.';
  element('panel').classList.add('empty');
  element('data-time').textContent = 'no data yet';
  element('source').textContent = '';
  element('simulated').hidden = true;
  document.title = 'Hail map: nothing published yet';
}

/** @param {string} utc @param {string} local */
function setClock(utc, local) {
  element('clock-utc').textContent = utc;
  element('clock-local').textContent = local;
}

/**
 * Says what went wrong and offers what may help; what was on the map goes, because it is of another date.
 * @param {unknown} error
 */
function blame(error) {
  state.day = null;
  timeline.load([]);
  element('summary').textContent = '';
  element('panel').classList.remove('empty');
  element('data-time').textContent = 'nothing shown';
  showNothing();
  const words = error instanceof Error ? error.message : String(error);
  if (!(error instanceof ServiceError) || !error.needs_key) return setTrouble(words, 'Try again', retry);
  keyDialog.ask(readKey() === null ? null : words);
  setTrouble(words, 'Enter a key', () => keyDialog.ask(null));
}

function retry() {
  void (state.date ? openDate(state.date, state.wanted) : openNewest());
}

/** @param {string | null} words @param {string} [label] @param {() => void} [act] */
function setTrouble(words, label = '', act = () => {}) {
  element('trouble').hidden = words === null;
  element('trouble-words').textContent = words;
  element('trouble-action').hidden = label === '';
  element('trouble-action').textContent = label;
  element('trouble-action').onclick = act;
}

/** Keeps the address such that it shows the same to whoever gets it. */
function remember() {
  const { date, view, frame, day, reflectivity } = state;
  const shown = frame === null || day?.date !== date ? null : (day?.frames[frame]?.scan_id ?? null);
  const scan_id = state.wanted ?? shown;
  history.replaceState(null, '', writeAddress({ date, view, frame: scan_id, reflectivity, place: map.place() }));
}

/** Room that the cards take from the map; on phones the panel is over it, else beside it. */
function padding() {
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

/**
 * Brings all hail of the date into view: that of storms, and what the archives shown say of the rest.
 * @param {boolean} animate
 */
async function fitHail(animate) {
  const { day, frame } = state;
  const urls = [day?.daily_url ?? null, frame === null ? null : (day?.frames[frame]?.url ?? null)];
  const notes = await Promise.all(urls.map((url) => (url === null ? null : archives.describe(url))));
  const corners = notes.flatMap((note) => {
    if (!note?.hail_bounds) return [];
    const [west, south, east, north] = note.hail_bounds;
    return [
      { lat: south, lon: west },
      { lat: north, lon: east },
    ];
  });
  if (day === state.day)
    map.fit([...(day?.frames.flatMap(({ storms }) => storms) ?? []), ...corners], padding(), animate);
}

/** @type {ReturnType<typeof setTimeout> | undefined} */
let leafing;
/** @param {number} days */
function leaf(days) {
  if (state.date === null) return;
  const date = addDays(state.date, days);
  state.date = date;
  dateField.value = date;
  clearTimeout(leafing);
  leafing = setTimeout(() => void openDate(date), LEAF_MS);
}

/** Takes the day off the map; its daily archive changes under its address, and is read anew. */
function dropDay() {
  if (state.day?.daily_url) archives.forget(state.day.daily_url);
  state.day = null;
  map.clear();
}

/** Asks again for the date, whose day may have grown. */
function refresh() {
  const { day, date } = state;
  if (date === null) return void openNewest();
  const isAtEnd = day !== null && state.frame === newestWithHail(day.frames);
  dropDay();
  service.forget(date);
  void openDate(date, isAtEnd ? null : (day?.frames[state.frame ?? -1]?.scan_id ?? null));
}

listenToKeys({
  ArrowLeft: () => leaf(-1),
  ArrowRight: () => leaf(1),
  ',': () => timeline.step(-1),
  '.': () => timeline.step(1),
  ' ': () => timeline.toggle(),
  v: () => choose(state.view === 'day' ? 'scan' : 'day'),
  e: switchReflectivity,
  f: () => void fitHail(true),
  r: refresh,
  '+': () => map.map.zoomIn(),
  '=': () => map.map.zoomIn(),
  '-': () => map.map.zoomOut(),
  'shift ArrowLeft': () => map.map.panBy([-PAN_PX, 0]),
  'shift ArrowRight': () => map.map.panBy([PAN_PX, 0]),
  'shift ArrowUp': () => map.map.panBy([0, -PAN_PX]),
  'shift ArrowDown': () => map.map.panBy([0, PAN_PX]),
  'map Enter': () => spot.pick(map.map.getCenter(), state.view),
});

dateField.addEventListener('change', () => {
  if (dateField.value) void openDate(dateField.value);
});
const onClick = (/** @type {string} */ id, /** @type {() => void} */ act) => element(id).addEventListener('click', act);
const help = /** @type {HTMLDialogElement} */ (element('help'));
onClick('earlier', () => leaf(-1));
onClick('later', () => leaf(1));
onClick('refresh', refresh);
onClick('view-day', () => choose('day'));
onClick('view-scan', () => choose('scan'));
element('reflectivity').addEventListener('change', switchReflectivity);
onClick('newest', () => {
  dropDay();
  void openNewest();
});
onClick('fit', () => void fitHail(true));
onClick('open-help', () => help.showModal());
onClick('close-help', () => help.close());
onClick('change-key', () => {
  help.close();
  keyDialog.ask(null);
});
onClick('forget-key', () => {
  forgetKey();
  help.close();
  keyDialog.ask(null);
});
map.map.on('click', ({ lngLat }) => spot.pick(lngLat, state.view));
map.map.on('moveend', remember);
map.map.on('error', ({ error }) =>
  setTrouble(`Part of the map cannot be drawn: ${error.message}`, 'Try again', refresh),
);
addEventListener('hashchange', () => {
  const { date, view, frame, reflectivity, place } = readAddress(location.hash);
  if (place) map.map.jumpTo({ center: [place.lon, place.lat], zoom: place.zoom });
  state.view = view;
  state.reflectivity = reflectivity;
  if (date) void openDate(date, frame);
});

timeline.load([]);
timeline.point(null);
if (start.date) await openDate(start.date, start.frame);
else await openNewest();
document.documentElement.dataset.ready = 'true';
