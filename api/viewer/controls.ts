import { readAddress } from './address.ts';
import { forgetKey } from './data/api-key.ts';
import type { LngLat, View } from './data/day.ts';
import type { Display } from './display.ts';
import type { LayersCard } from './layers/card.ts';
import type { HailMap } from './map/map.ts';
import { element, listenToKeys, onClick } from './page/page.ts';
import { setTrouble } from './page/panel.ts';
import { type State, setAddress } from './state.ts';
import type { Dates } from './time/dates.ts';

const PAN_PX = 120;

/** Connects keys, buttons, clicks on the map and the address of the page with what they do. */
export function connectControls({
  state,
  map: hailMap,
  display,
  dates,
  layers,
}: {
  state: State;
  map: HailMap;
  display: Display;
  dates: Dates;
  layers: LayersCard;
}): void {
  const { map } = hailMap;
  const { timeline, spot } = display;

  const chooseView = (view: View) => {
    if (view === 'day' && state.span === 'recent' && state.date !== null) {
      state.view = 'day';
      return void dates.openDate(state.date);
    }
    if (view === state.view) return;
    state.view = view;
    void display.showView();
  };
  const chooseRecent = () => {
    if (state.span !== 'recent') return void dates.openRecent();
    state.view = 'day';
    void display.showView();
  };
  /** With the shift key every date, else dates with hail. */
  const step = (by: number, event: MouseEvent) => (event.shiftKey ? dates.stepDay(by) : void dates.step(by));
  /** Reflectivity belongs to single scans: switching it on shows a scan. */
  const switchReflectivity = () => {
    state.reflectivity = !state.reflectivity;
    if (state.reflectivity) state.view = 'scan';
    void display.showView();
  };
  const pick = (at: LngLat) => {
    if (!state.drawing) spot.pick(at, state.view);
  };
  const fitHail = () => void display.fitHail(true);

  listenToKeys({
    ArrowLeft: () => void dates.step(-1),
    ArrowRight: () => void dates.step(1),
    '[': () => dates.stepDay(-1),
    ']': () => dates.stepDay(1),
    h: chooseRecent,
    c: dates.openHailDays,
    s: timeline.quicken,
    ',': () => timeline.step(-1),
    '.': () => timeline.step(1),
    ' ': timeline.toggle,
    v: () => (state.view === 'day' ? chooseView('scan') : state.span === 'recent' ? chooseRecent() : chooseView('day')),
    e: switchReflectivity,
    f: fitHail,
    r: dates.refresh,
    '+': () => map.zoomIn(),
    '=': () => map.zoomIn(),
    '-': () => map.zoomOut(),
    'shift ArrowLeft': () => map.panBy([-PAN_PX, 0]),
    'shift ArrowRight': () => map.panBy([PAN_PX, 0]),
    'shift ArrowUp': () => map.panBy([0, -PAN_PX]),
    'shift ArrowDown': () => map.panBy([0, PAN_PX]),
    'map Enter': () => pick(map.getCenter()),
  });

  const dateField = element<HTMLInputElement>('date');
  dateField.addEventListener('change', () => {
    if (dateField.value) void dates.openDate(dateField.value);
  });
  element('reflectivity').addEventListener('change', switchReflectivity);
  element('earlier').addEventListener('click', (event) => step(-1, event));
  element('later').addEventListener('click', (event) => step(1, event));
  onClick('open-days', dates.openHailDays);
  onClick('refresh', dates.refresh);
  onClick('view-recent', chooseRecent);
  onClick('view-day', () => chooseView('day'));
  onClick('view-scan', () => chooseView('scan'));
  onClick('newest', dates.reopenNewest);
  onClick('fit', fitHail);

  const help = element<HTMLDialogElement>('help');
  onClick('open-help', () => help.showModal());
  onClick('close-help', () => help.close());
  onClick('change-key', () => {
    help.close();
    dates.askForKey();
  });
  onClick('forget-key', () => {
    forgetKey();
    help.close();
    dates.askForKey();
  });

  map.on('click', ({ lngLat }) => pick(lngLat));
  map.on('moveend', () => {
    // Before a date is shown the map stands where the page put it.
    if (state.shown || state.place !== null) state.place = hailMap.place();
    display.updateAddress();
    display.updateZone();
  });
  map.on('error', ({ error }) =>
    setTrouble(`Part of the map cannot be drawn: ${error.message}`, 'Try again', dates.refresh),
  );
  addEventListener('hashchange', () => {
    const address = readAddress(location.hash);
    const { place } = address;
    setAddress({ ...address, place: place ?? state.place });
    if (place) map.jumpTo({ center: [place.lon, place.lat], zoom: place.zoom });
    layers.mayRead();
    void dates.openLink(location.hash, address);
  });
}
