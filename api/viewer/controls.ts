import { readAddress, type View } from './address.ts';
import { forgetKey } from './api-key.ts';
import type { LngLat } from './coverage.ts';
import type { Dates } from './dates.ts';
import type { Display } from './display.ts';
import { listenToKeys } from './keyboard.ts';
import type { HailMap } from './map.ts';
import { element, onClick } from './page.ts';
import { setTrouble } from './panel.ts';
import type { State } from './state.ts';

const PAN_PX = 120;

/** Connects keys, buttons, clicks on the map and the address of the page with what they do. */
export function connectControls({
  state,
  map: hailMap,
  display,
  dates,
}: {
  state: State;
  map: HailMap;
  display: Display;
  dates: Dates;
}): void {
  const { map } = hailMap;
  const { timeline, spot } = display;

  const chooseView = (view: View) => {
    if (view === state.view) return;
    state.view = view;
    void display.showView();
  };
  /** Reflectivity belongs to single scans: switching it on shows a scan. */
  const switchReflectivity = () => {
    state.reflectivity = !state.reflectivity;
    if (state.reflectivity) state.view = 'scan';
    void display.showView();
  };
  const pick = (at: LngLat) => {
    if (!state.measuring) spot.pick(at, state.view);
  };
  const fitHail = () => void display.fitHail(true);

  listenToKeys({
    ArrowLeft: () => dates.step(-1),
    ArrowRight: () => dates.step(1),
    ',': () => timeline.step(-1),
    '.': () => timeline.step(1),
    ' ': timeline.toggle,
    v: () => chooseView(state.view === 'day' ? 'scan' : 'day'),
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
  onClick('earlier', () => dates.step(-1));
  onClick('later', () => dates.step(1));
  onClick('refresh', dates.refresh);
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
  map.on('moveend', display.updateAddress);
  map.on('error', ({ error }) =>
    setTrouble(`Part of the map cannot be drawn: ${error.message}`, 'Try again', dates.refresh),
  );
  addEventListener('hashchange', () => {
    const { date, view, frame, reflectivity, place, pin } = readAddress(location.hash);
    if (place) map.jumpTo({ center: [place.lon, place.lat], zoom: place.zoom });
    state.view = view;
    state.reflectivity = reflectivity;
    state.pin = pin;
    if (date) void dates.openDate(date, frame);
  });
}
