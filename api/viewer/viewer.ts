/*
 * Entry of the map page. `make install` bundles these modules, their packages and the style sheets (viewer.css). They may import each
 * other, packages that run in browsers, and the palette and sizes in schemas/, which import nothing.
 *
 *   state, views, address  what the page shows: one object, passed to the modules that read or change it; its link
 *   display, controls       draws the state; keys, buttons, clicks, changes of the address
 *   data/     the API (service, api-key) and PMTiles over HTTP ranges, cached in pieces (archives)
 *   map/      MapLibre: base map, hail, images, coverage; content at a place (pick); shapes that a reader draws (draw)
 *   layers/   further layers: one module each, listed in registry; switches and reasons in one card
 *   time/     timeline, dates, list of hail days, newer scans while the newest date is open (live)
 *   place/    search (find), pinned place (pin) with what fell, history and verification
 *   page/     panel, legend, words; link and print (share); places that are watched (watch); credits and keys (account)
 *   style/    one sheet for each part
 *
 * A new layer: a module in layers/ of the kind that layers/layer.ts describes, and a line in layers/registry.ts.
 */
import { setWorkerUrl } from 'maplibre-gl';
import { readAddress } from './address.ts';
import { connectControls } from './controls.ts';
import { readKey } from './data/api-key.ts';
import { openArchives } from './data/archives.ts';
import { openService } from './data/service.ts';
import { openDisplay } from './display.ts';
import { openLayersCard } from './layers/card.ts';
import { openGround } from './map/ground.ts';
import { openMap } from './map/map.ts';
import { connectAccount, hidePrices } from './page/account.ts';
import { drawLegend, drawReflectivityLegend } from './page/legend.ts';
import { element, listenToKeys, meta, openFold } from './page/page.ts';
import { BASEMAP } from './page/palette.ts';
import { setTrouble } from './page/panel.ts';
import { connectSharing } from './page/share.ts';
import { connectWatching } from './page/watch.ts';
import { openFind } from './place/find.ts';
import { openPin } from './place/pin.ts';
import { setAddress, state } from './state.ts';
import { openDates } from './time/dates.ts';

addEventListener('error', ({ message }) => setTrouble(`This page met an error: ${message}`));
addEventListener('unhandledrejection', ({ reason }) =>
  setTrouble(`This page met an error: ${reason?.message ?? reason}`),
);

/** Screens on which open cards would leave little of the map: they are folded at first. */
const LITTLE_ROOM = '(max-width: 699px), (max-height: 520px)';

setWorkerUrl(`${meta('hail-assets')}/maplibre-gl-worker.mjs`);
// The address keeps what is shown.
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => location.reload());
for (const [name, color] of Object.entries(BASEMAP)) document.documentElement.style.setProperty(`--${name}`, color);
drawLegend(element('legend'));
drawReflectivityLegend(element('reflectivity-legend'));

const start = readAddress(location.hash);
setAddress(start);
const archives = openArchives();
const service = openService(meta('hail-api'), readKey, meta('hail-access') === 'public');
const ground = await openGround(archives);
const map = await openMap(element('map'), { ground, archives, place: start.place });
Object.assign(globalThis, { hailMap: map.map }); // for the console of the browser, and for tests
const layers = openLayersCard({
  state,
  map: map.map,
  service,
  onChange: () => display.updateAddress(),
});
const display = openDisplay({ state, map, archives, layers });
const dates = openDates({ state, service, archives, map, display });
connectControls({ state, map, display, dates, layers });
layers.onKeyNeeded(dates.askForKey);
dates.onKey(() => {
  layers.useKey();
  void hidePrices(service);
});
if (service.hasKey()) void hidePrices(service);
connectSharing(map);
connectAccount(service, dates.askForKey);
const watch = connectWatching({ state, map, service, askForKey: dates.askForKey });
const has_room = !matchMedia(LITTLE_ROOM).matches;
openFold('panel', has_room);
openFold('legend', has_room);
const pin = openPin({ state, map, display, dates, service });
const find = openFind(pin.show);
listenToKeys({
  '/': find.open,
  p: () => pin.put(map.map.getCenter()),
  // One thing at a time, the topmost first. A shape in the making has the key: it starts again.
  Escape: () => void (watch.isDrawing() || display.spot.close() || watch.closeIdle()),
});
pin.update();

await dates.openLink(location.hash, start);
document.documentElement.dataset.ready = 'true';
