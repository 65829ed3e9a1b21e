/*
 * Entry of the map page. `make install` bundles these modules, their packages and the style sheet (viewer.css). They may import each
 * other, packages that run in browsers, and what in schemas/ imports nothing.
 *
 *   state, address   what the page shows: one object of signals, which everybody reads and changes; the address is its text
 *   site, display    the service, the archives and the map of this page; draws the state on the map
 *   data/     the API (service) and PMTiles over HTTP ranges, cached in pieces (archives)
 *   map/      MapLibre: all that is drawn is one style (style.json), whose sources get archives and features (map); street map of the
 *             operator (streets); joined and smoothed tiles (smooth); content at a place (pick); shapes that a reader draws (draw)
 *   layers/   further layers: one declaration each in registry; switches and reasons in one card
 *   time/     dates and newer scans, list of hail days, player, timeline
 *   place/    search (find), picked place (spot), pinned place (pin) with what fell, history and verification
 *   page/     panel, legend, dialogs, places that are watched (watch), keys; words; what cards are made of (parts)
 */
import { effect } from '@preact/signals';
import { AttributionControl } from 'maplibre-gl';
import { render } from 'preact';
import { stateAddress } from './address.ts';
import { Layers } from './layers/card.tsx';
import { Dialog } from './page/dialogs.tsx';
import { onKey, pick } from './page/keys.ts';
import { Legend } from './page/legend.tsx';
import { BASEMAP } from './page/palette.ts';
import { isSimulated, Panel } from './page/panel.tsx';
import { folded } from './page/parts.tsx';
import { Watch } from './page/watch.tsx';
import { dateInWords } from './page/words.ts';
import { Find } from './place/find.tsx';
import { Pin } from './place/pin.tsx';
import { Picked } from './place/spot.tsx';
import { hidePrices, mapOpened, ownKey } from './site.ts';
import { state } from './state.ts';
import { enterKey, look, openLink, refresh } from './time/dates.ts';
import { Dock } from './time/dock.tsx';

/** A look for newer scans is due at one of these. */
const TICK_MS = 2000;
/** While it plays, the address is written this often. */
const ADDRESS_EVERY_MS = 1000;

const fail = (words: string) => {
  state.trouble = { words: `This page met an error: ${words}` };
};
addEventListener('error', ({ message }) => fail(message));
addEventListener('unhandledrejection', ({ reason }) => fail(reason?.message ?? reason));

function Page() {
  return (
    <div id="cards" class={state.unlimited ? 'unlimited' : ''}>
      <img id="printed" alt="" />
      <Panel />
      <Find />
      <Pin />
      <div id="side">
        <Layers />
        <Watch />
      </div>
      <div id="foot">
        <Legend />
        <Dock />
      </div>
      <Picked />
      <Dialog />
    </div>
  );
}

for (const [name, color] of Object.entries(BASEMAP)) document.documentElement.style.setProperty(`--${name}`, color);
render(<Page />, document.getElementById('page') as HTMLElement);

// The address keeps what is shown.
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => location.reload());
document.addEventListener('keydown', onKey);
document.addEventListener('visibilitychange', () => void look());
setInterval(() => void look(), TICK_MS);
addEventListener('storage', () => {
  // Another page of this service was given a key, or forgot it.
  const key = ownKey();
  if (key !== state.key) enterKey(key);
});
addEventListener('hashchange', () => void openLink(location.hash));

const link = openLink(location.hash);
let written_ms = 0;
effect(() => {
  const next = stateAddress();
  // Browsers refuse many changes of an address in a row.
  if (state.playing && performance.now() - written_ms < ADDRESS_EVERY_MS) return;
  written_ms = performance.now();
  if (next !== location.hash) history.replaceState(null, '', next);
});
effect(() => {
  // What has prices is opened.
  const { dialog, pin, watching } = state;
  if (dialog || pin || watching || !folded.layers) void hidePrices();
});
effect(() => {
  const { day } = state;
  const when = day?.before ? 'last 24 hours' : day?.date && dateInWords(day.date);
  document.title = `Hail map${when ? `: ${when}` : ''}${isSimulated(day) ? ' (simulated)' : ''}`;
});

const { map, place } = await mapOpened;
// What the style of a street map asks for, where it is seen on every screen and on paper.
document.getElementById('caution')?.append(new AttributionControl({ compact: false }).onAdd(map));
Object.assign(globalThis, { hailMap: map }); // for the console of the browser, and for tests
map.on('click', ({ lngLat }) => pick(lngLat));
map.on('idle', () => state.drawn++);
map.on('moveend', () => {
  // Before a date is shown the map stands where the page put it.
  if (state.shown || state.place !== null) state.place = place();
});
map.on('error', ({ error }) => {
  state.trouble = { words: `Part of the map cannot be drawn: ${error.message}`, label: 'Try again', act: refresh };
});
addEventListener('beforeprint', () => {
  // A picture of this moment: the drawing of the map is gone from its canvas when this task ends.
  map.redraw();
  const image = document.getElementById('printed') as HTMLImageElement;
  image.src = map.getCanvas().toDataURL('image/png');
  image.alt = document.title;
});
addEventListener('afterprint', () => document.getElementById('printed')?.removeAttribute('src'));

await link;
document.documentElement.dataset.ready = 'true';
