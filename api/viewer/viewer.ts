/*
 * Entry of the map page. Browsers load these modules as they are, without their types and without a bundle
 * (api/files/viewer-assets.ts removes the types). They may import each other, maplibre-gl and pmtiles, and nothing else.
 *
 *   state     what the page shows: one object, passed to the modules that read or change it
 *   service   the API: lists of archives by date            archives  PMTiles over HTTP ranges, cached in pieces
 *   map       MapLibre: base-style, layers, images, coverage; content at a place (pick)
 *   display   draws the state: map, panel, timeline, spot (card of the picked place), address
 *   dates     requests a date, shows it or the error, asks for the key
 *   share     link, print and picture (picture) of what is shown
 *   find      search box                                    pin       pinned place: what fell, history, verification
 *   measure   distance and area by clicks
 *   controls  keys, buttons, clicks, changes of the address
 *
 * A new layer: its MapLibre layers in `layers`, its place on the map in `map`, its field in `state`, its switch in `controls`.
 */
import { readAddress } from './address.ts';
import { readKey } from './api-key.ts';
import { openArchives } from './archives.ts';
import type { States } from './base-style.ts';
import { connectControls } from './controls.ts';
import { openDates } from './dates.ts';
import { openDisplay } from './display.ts';
import { openFind } from './find.ts';
import { listenToKeys } from './keyboard.ts';
import { drawLegend, drawReflectivityLegend } from './legend.ts';
import { openMap } from './map.ts';
import { openMeasure } from './measure.ts';
import { element, loadJson, meta } from './page.ts';
import { setTrouble } from './panel.ts';
import { openPin } from './pin.ts';
import { openService } from './service.ts';
import { connectSharing } from './share.ts';
import { openState } from './state.ts';
import type { Palette } from './words.ts';

addEventListener('error', ({ message }) => setTrouble(`This page met an error: ${message}`));
addEventListener('unhandledrejection', ({ reason }) =>
  setTrouble(`This page met an error: ${reason?.message ?? reason}`),
);

const palette = await loadJson<Palette>('palette.json');
for (const [name, color] of Object.entries(palette.basemap))
  document.documentElement.style.setProperty(`--${name}`, color);
drawLegend(element('legend'), palette);
drawReflectivityLegend(element('reflectivity-legend'), palette);

const start = readAddress(location.hash);
const state = openState(start);
const archives = openArchives();
const service = openService(meta('hail-api'), readKey, meta('hail-access') === 'public');
const states = await loadJson<States>('states.json');
const map = await openMap(element('map'), { palette, states, archives, place: start.place });
const display = openDisplay({ state, map, archives, palette });
const dates = openDates({ state, service, archives, map, display });
connectControls({ state, map, display, dates });
connectSharing(map, palette);
const pin = openPin({ state, map, display, dates, service, palette });
const find = openFind(pin.show);
const measure = openMeasure(state, map, palette.basemap.ink);
listenToKeys({ '/': find.open, m: measure.toggle, p: () => pin.put(map.map.getCenter()) });
pin.update();

if (start.date) await dates.openDate(start.date, start.frame);
else await dates.openNewest();
document.documentElement.dataset.ready = 'true';
