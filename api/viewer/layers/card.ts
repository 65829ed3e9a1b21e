import type { Feature } from 'geojson';
import type { Map as MapLibre } from 'maplibre-gl';
import { type Health, type Service, ServiceError } from '../data/service.ts';
import { element, openFold, textElement } from '../page/page.ts';
import { chosenFrame, type State } from '../state.ts';
import {
  type Asked,
  type Facts,
  type KeyMark,
  layersOver,
  type MapLayer,
  putFeatures,
  type Reading,
  type ReadLayer,
  removeSource,
  type Shown,
} from './layer.ts';
import { LAYERS } from './registry.ts';

/** The service's clock and its feeds are asked for again after this time; the call is free. */
const HEALTH_MS = 60_000;
/** A click within this distance of a point picks it. */
const TOUCH_PX = 10;

/** A layer in the card, and what was read for it. */
interface Row {
  readonly layer: MapLayer;
  readonly item: HTMLElement;
  readonly box: HTMLInputElement;
  readonly note: HTMLElement;
  readonly button: HTMLButtonElement | null;
  reading: { readonly content: Reading; readonly asked: Asked; readonly at_ms: number } | null;
  /** Why the service refused the last reading. */
  refusal: string | null;
  busy: boolean;
  /** It may be read without another click: it was just switched on, or the address has it. */
  may_read: boolean;
  drawn: boolean;
  /** Features on the map: the same ones are not put there again with each scan. */
  features: readonly Feature[];
}

export type LayersCard = ReturnType<typeof openLayersCard>;

/** The card of layers: switches, what each has, why one cannot be shown; draws the layers that are on. */
export function openLayersCard({
  state,
  map,
  service,
  onChange,
}: {
  state: State;
  map: MapLibre;
  service: Service;
  /** Called when the reader switches a layer. */
  onChange: () => void;
}) {
  const rows = LAYERS.map((layer) => makeRow(layer));
  const count = element('layers-count');
  let health: Health | null = null;
  let health_at_ms = Number.NEGATIVE_INFINITY;
  let asking: Promise<void> | null = null;

  const fold = openFold('layers', false);
  element('layers-list').replaceChildren(...rows.map(({ item }) => item));
  element('layers-fold').addEventListener('click', () => void sync());
  for (const row of rows) {
    row.may_read = state.layers.includes(row.layer.id);
    row.box.addEventListener('change', () => choose(row, row.box.checked));
    row.button?.addEventListener('click', () =>
      service.hasKey() ? void read(row, row.layer as ReadLayer) : askForKey(),
    );
  }

  function choose(row: Row, on: boolean): void {
    state.layers = LAYERS.map(({ id }) => id).filter((id) => (id === row.layer.id ? on : state.layers.includes(id)));
    row.may_read = on;
    row.refusal = null;
    onChange();
    void sync();
  }

  let askForKey = () => {};

  /** Asks for the clock and the feeds of the service, where a layer needs them and they are old. */
  async function askHealth(): Promise<void> {
    const isNeeded = fold.isOpen() || rows.some(({ layer }) => layer.kind === 'read' && isOn(layer));
    if (!isNeeded || !service.hasKey() || state.day === null || performance.now() - health_at_ms < HEALTH_MS) return;
    asking ??= service
      .health()
      .then((found) => {
        health = found;
      })
      .catch((error: unknown) => {
        if (!(error instanceof ServiceError)) throw error;
        health = null;
      })
      .finally(() => {
        health_at_ms = performance.now();
        asking = null;
      });
    await asking;
  }

  const isOn = ({ id }: MapLayer) => state.layers.includes(id);

  function shown(): Shown {
    const { day, view } = state;
    const frames = day?.frames ?? [];
    const frame = view === 'scan' ? chosenFrame(state) : undefined;
    const times = (frame ? [frame] : frames).map(({ scan_time }) => Date.parse(scan_time));
    const last = frames.at(-1)?.scan_time;
    const { lat, lng } = map.getCenter();
    return {
      view,
      date: frames.length > 0 ? (day?.date ?? null) : null,
      first_date: frames.length > 0 ? ((day?.before?.scans ? day.before.date : day?.date) ?? null) : null,
      is_recent: day?.before !== undefined,
      span: times.length === 0 ? null : [Math.min(...times), Math.max(...times)],
      is_newest: last !== undefined && last === health?.scan_time,
      now_ms: health === null ? null : service.now_ms(),
      middle: { lat, lon: lng },
      never_collected: health?.never_collected ?? new Set(),
    };
  }

  /** Draws and words every layer by what is shown now. Reads a layer at most once without another click. */
  async function sync(): Promise<void> {
    await askHealth();
    const now = shown();
    for (const row of rows) show(row, now);
    const on = rows.filter(({ layer, drawn }) => isOn(layer) && drawn).length;
    count.textContent = String(on);
    count.setAttribute('aria-label', `${on} shown`);
    for (const row of rows) {
      const { layer } = row;
      if (layer.kind !== 'read' || !service.hasKey() || !row.may_read || row.busy || !isOn(layer) || state.day === null)
        continue;
      row.may_read = false;
      if (!layer.only_on_request && layer.unavailable(now) === null && !serves(row, layer, now)) void read(row, layer);
    }
  }

  /** True while the last reading is of what is shown, and not old. */
  function serves(row: Row, layer: ReadLayer, now: Shown): boolean {
    const { reading } = row;
    return reading !== null && layer.serves(reading.asked, now) && Date.now() - reading.at_ms < layer.fresh_ms;
  }

  async function read(row: Row, layer: ReadLayer): Promise<void> {
    if (row.busy) return;
    const asked = shown();
    row.busy = true;
    row.refusal = null;
    show(row, asked);
    try {
      const content = await layer.read(service, asked);
      row.reading = {
        content,
        asked: { date: asked.date, first_date: asked.first_date, middle: asked.middle },
        at_ms: Date.now(),
      };
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      row.refusal = error.code === 'insufficient_scope' ? `This key lacks the scope ${layer.scope}.` : error.message;
    } finally {
      row.busy = false;
      await sync();
    }
  }

  function show(row: Row, now: Shown): void {
    const { layer, box } = row;
    const content = row.reading?.content ?? null;
    const needsKey = layer.kind === 'read' && !service.hasKey();
    const reason = needsKey ? 'Needs a key of this service.' : (layer.unavailable(now) ?? content?.absent ?? null);
    const on = isOn(layer);
    box.checked = on;
    box.disabled = reason !== null && !on;
    row.item.classList.toggle('unavailable', reason !== null);
    row.item.classList.toggle('refused', row.refusal !== null);
    row.item.classList.toggle('busy', row.busy);
    row.item.classList.toggle('on', on && reason === null);
    if (layer.kind === 'free') {
      row.drawn = on && reason === null;
      if (row.drawn) layer.draw(map, now);
      else layer.remove(map);
      row.note.textContent = reason ?? (on ? layer.inWords(map, now) : '');
      return;
    }
    const source = sourceOf(layer);
    const isOfThis = row.reading !== null && layer.serves(row.reading.asked, now);
    const visible = on && reason === null && isOfThis && content ? layer.visible(content, now) : [];
    row.drawn = on && reason === null && isOfThis && !row.busy;
    const isSame = visible.length === row.features.length && visible.every((one, i) => one === row.features[i]);
    row.features = visible;
    if (on && reason === null && isOfThis) {
      if (!isSame || !map.getSource(source)) putFeatures(map, source, visible, layer.marks);
    } else removeSource(map, source);
    const offers = on && reason === null && !row.busy && !serves(row, layer, now);
    if (row.button) {
      row.button.hidden = !offers && !needsKey;
      row.button.textContent = needsKey ? 'Enter a key' : isOfThis ? 'Read again' : 'Read for what is shown';
      if (!needsKey) row.button.append(textElement('span', ` · ${layer.price}`, 'price'));
    }
    const is_price = reason === null && row.refusal === null && !row.busy && !on;
    row.note.classList.toggle('price', is_price);
    row.note.textContent =
      reason ??
      row.refusal ??
      (row.busy
        ? 'Reading…'
        : on && isOfThis && content
          ? layer.inWords(visible, content, now)
          : on && row.reading !== null
            ? 'What was read is of another date or place.'
            : on
              ? ''
              : `Costs ${layer.price}`);
  }

  return {
    sync: () => void sync(),
    /** Lets the layers of a link be read once, as at the start of the page. */
    mayRead(): void {
      for (const row of rows) row.may_read = state.layers.includes(row.layer.id);
    },
    /** Calls `act` when the reader wants to enter a key. */
    onKeyNeeded(act: () => void): void {
      askForKey = act;
    },
    /** Another key was given: refusals and the state of the service are those of the last one. */
    useKey(): void {
      health_at_ms = Number.NEGATIVE_INFINITY;
      for (const row of rows) row.refusal = null;
      void sync();
    },
    /** Facts of all items of layers at a place, those drawn last first. */
    factsAt(at: { readonly lng: number; readonly lat: number }): Facts[] {
      const { x, y } = map.project(at);
      const near: [[number, number], [number, number]] = [
        [x - TOUCH_PX, y - TOUCH_PX],
        [x + TOUCH_PX, y + TOUCH_PX],
      ];
      return rows
        .filter(({ drawn }) => drawn)
        .flatMap(({ layer }) => {
          const { facts } = layer;
          if (facts === undefined) return [];
          const layers = (layer.kind === 'read' ? layersOver(map, sourceOf(layer)) : (layer.picks ?? [])).filter((id) =>
            map.getLayer(id),
          );
          const points = map
            .queryRenderedFeatures(near, { layers })
            .filter(({ geometry }) => geometry.type === 'Point');
          const areas = map.queryRenderedFeatures([x, y], { layers }).filter(({ layer }) => layer.type === 'fill');
          const items = new Map(
            [...points, ...areas].map(({ properties }) => [JSON.stringify(properties), properties]),
          );
          return [...items.values()].map((properties) => facts(properties));
        });
    },
  };
}

function sourceOf({ id }: MapLayer): string {
  return `layer-${id}`;
}

/** A row of the card: switch, note, button for reading, key of its marks. */
function makeRow(layer: MapLayer): Row {
  const item = document.createElement('li');
  item.className = 'layer';
  const label = document.createElement('label');
  const box = document.createElement('input');
  box.type = 'checkbox';
  box.className = 'switch';
  box.id = `layer-${layer.id}`;
  box.setAttribute('aria-describedby', `layer-${layer.id}-note`);
  label.append(box, textElement('span', layer.label));
  const note = textElement('p', '', 'layer-note');
  note.id = `layer-${layer.id}-note`;
  note.setAttribute('aria-live', 'polite');
  item.append(label, note);
  let button: HTMLButtonElement | null = null;
  if (layer.kind === 'read') {
    button = document.createElement('button');
    button.type = 'button';
    button.className = 'layer-read';
    button.hidden = true;
    item.append(button);
  }
  if (layer.key.length > 0) item.append(keyOf(layer.key));
  return {
    layer,
    item,
    box,
    note,
    button,
    reading: null,
    refusal: null,
    busy: false,
    may_read: false,
    drawn: false,
    features: [],
  };
}

/** Key of a layer's marks; shown while the layer is on. */
function keyOf(marks: readonly KeyMark[]): HTMLElement {
  const list = document.createElement('ul');
  list.className = 'layer-key';
  list.append(
    ...marks.map(({ color, words, shape }) => {
      const item = document.createElement('li');
      const swatch = textElement('span', '', `mark ${shape}`);
      swatch.style.color = color;
      item.append(swatch, words);
      return item;
    }),
  );
  return list;
}
