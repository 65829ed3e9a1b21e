import { effect, signal, untracked } from '@preact/signals';
import { LAYER_IDS } from '../address.ts';
import type { LngLat } from '../data/day.ts';
import { type Health, ServiceError } from '../data/service.ts';
import { Button, Card, Fold, folded, Icon, Spot, Toggle } from '../page/parts.tsx';
import { askForKey, service, theMap } from '../site.ts';
import { chosenFrame, reactive, state } from '../state.ts';
import {
  type Asked,
  type Facts,
  factsOf,
  lines,
  type MapLayer,
  type Reading,
  type ReadLayer,
  type Shown,
} from './layer.ts';
import { LAYERS } from './registry.ts';

/** The service's clock and its feeds are asked for again after this time; the call is free. */
const HEALTH_MS = 60_000;
/** Middle of the contiguous states, while the map has none. */
const MIDDLE = { lat: 38, lon: -96 };

/** What was read for a layer. */
interface Row {
  reading: { readonly content: Reading; readonly asked: Asked; readonly at_ms: number } | null;
  /** Why the service refused the last reading. */
  refusal: string | null;
  busy: boolean;
}

const rows = new Map(
  LAYERS.map(({ id }) => [id, reactive<Row>({ reading: null, refusal: null, busy: false })] as const),
);
const rowOf = ({ id }: MapLayer) => rows.get(id) as Row;
/** Layers that may be read without another click: they were just switched on, or a link may have them. */
const mayRead = new Set<string>(LAYER_IDS);
const health = signal<Health | null>(null);
let health_at_ms = Number.NEGATIVE_INFINITY;
let asking: Promise<void> | null = null;

/** Lets the layers of a link be read once, as at the start of the page. */
export function letLinkRead(): void {
  for (const id of LAYER_IDS) mayRead.add(id);
}

const isOn = ({ id }: MapLayer) => state.layers.includes(id);
/** The map once it has drawn something; who asks it is run again whenever it has drawn. */
const drawnMap = () => (state.drawn > 0 ? theMap() : null);
/** A layer that is free has nothing to say of a reading. */
const NOTHING: Reading = { features: [], note: null };

/** What the map shows, as far as layers depend on it. */
function shown(): Shown {
  const { day, view, place } = state;
  const frames = day?.frames ?? [];
  const frame = view === 'scan' ? chosenFrame() : undefined;
  const times = (frame ? [frame] : frames).map(({ scan_time }) => Date.parse(scan_time));
  const date = frames.length > 0 ? (day?.date ?? null) : null;
  return {
    view,
    date,
    first_date: date !== null && day?.before?.scans ? day.before.date : date,
    is_recent: day?.before !== undefined,
    span: times.length === 0 ? null : [Math.min(...times), Math.max(...times)],
    is_newest: frames.length > 0 && frames.at(-1)?.scan_time === health.value?.scan_time,
    now_ms: health.value === null ? null : service.now_ms(),
    middle: place ?? MIDDLE,
    never_collected: health.value?.never_collected ?? new Set(),
  };
}

/** Whether a layer is drawn, with which features, and why it is not. */
function statusOf(layer: MapLayer, now: Shown) {
  const { reading, busy } = rowOf(layer);
  const needs_key = layer.kind === 'read' && state.key === null;
  const absent = layer.unavailable(now) ?? reading?.content.absent ?? null;
  const reason = needs_key ? 'Needs a key of this service.' : absent;
  const isShown = isOn(layer) && reason === null;
  if (layer.kind === 'free') {
    const map = isShown ? drawnMap() : null;
    return {
      reason,
      needs_key,
      drawn: isShown,
      visible: map ? layer.features(map.map) : [],
      isOfThis: true,
      isFresh: true,
    };
  }
  const isOfThis = reading !== null && layer.serves(reading.asked, now);
  const visible = isShown && isOfThis ? layer.visible(reading.content, now) : [];
  const isFresh = isOfThis && Date.now() - reading.at_ms < layer.fresh_ms;
  return { reason, needs_key, drawn: isShown && isOfThis && !busy, visible, isOfThis, isFresh };
}

effect(() => {
  health_at_ms = state.key === null ? Number.POSITIVE_INFINITY : Number.NEGATIVE_INFINITY;
  for (const row of rows.values()) row.refusal = null;
});
effect(() => {
  const { day, view, scan_id, layers, place, key, shown, drawn } = state;
  const isNeeded = !folded.layers || LAYERS.some((layer) => layer.kind === 'read' && layers.includes(layer.id));
  if (theMap() && [day, view, scan_id, place, key, shown, drawn].length > 0) untracked(() => void sync(isNeeded));
});

/** Draws the layers that are on, and reads those that may be read without another click. */
async function sync(isHealthNeeded = true): Promise<void> {
  if (isHealthNeeded && state.shown && performance.now() - health_at_ms >= HEALTH_MS) {
    health_at_ms = performance.now();
    asking = askHealth();
  }
  await asking;
  const now = shown();
  for (const layer of LAYERS) {
    const { drawn, visible, needs_key, reason, isFresh } = statusOf(layer, now);
    theMap()?.draw(layer.id, drawn ? visible : []);
    if (layer.kind === 'free' || needs_key || !isOn(layer) || !state.shown || !mayRead.delete(layer.id)) continue;
    if (!layer.only_on_request && reason === null && !isFresh) void read(layer);
  }
}

async function askHealth(): Promise<void> {
  health.value = await service.health().catch((error: unknown) => {
    if (error instanceof ServiceError) return null;
    throw error;
  });
}

async function read(layer: ReadLayer): Promise<void> {
  const row = rowOf(layer);
  if (row.busy) return;
  const asked = shown();
  Object.assign(row, { busy: true, refusal: null });
  try {
    row.reading = { content: await layer.read(service, asked), asked, at_ms: Date.now() };
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    row.refusal = error.code === 'insufficient_scope' ? `This key lacks the scope ${layer.scope}.` : error.message;
  } finally {
    row.busy = false;
    await sync();
  }
}

/** Switches a layer on or off. */
export function switchLayer(id: string, on: boolean): void {
  if (on) mayRead.add(id);
  const row = rows.get(id);
  if (row) row.refusal = null;
  state.layers = LAYER_IDS.filter((one) => (one === id ? on : state.layers.includes(one)));
}

/** Facts of all items of layers at a place, those drawn last first. */
export function factsAt(at: LngLat): Facts[] {
  const map = drawnMap();
  const items = LAYERS.flatMap((layer) => {
    const { points, areas } = map?.drawnAt(at, layer.id) ?? { points: [], areas: [] };
    return [...points, ...areas].map(({ properties }) => properties);
  });
  const facts = [...new Map(items.map((properties) => [JSON.stringify(properties), properties])).values()].map(factsOf);
  return facts.filter((one) => one !== null);
}

/** The card of layers: switches, what each has, why one cannot be shown. */
export function Layers() {
  const now = shown();
  const count = LAYERS.filter((layer) => statusOf(layer, now).drawn).length;
  return (
    <Card id="layers" label="Layers">
      <Fold card="layers">
        <Icon name="layers" />
        <span>Layers</span>
        <span id="layers-count">{count}</span>
      </Fold>
      <div id="layers-body">
        <ul id="layers-list">
          {LAYERS.map((layer) => (
            <LayerRow key={layer.id} layer={layer} now={now} />
          ))}
        </ul>
        <p class="fine">
          A layer is read once when you switch it on or open a link that has it. For another date or place you are asked
          first.
        </p>
      </div>
    </Card>
  );
}

function LayerRow({ layer, now }: { layer: MapLayer; now: Shown }) {
  const { reading, refusal, busy } = rowOf(layer);
  const status = statusOf(layer, now);
  const { reason, needs_key, drawn, isOfThis, isFresh } = status;
  const on = isOn(layer);
  const isOffered = layer.kind === 'read' && (needs_key || (on && reason === null && !busy && !isFresh));
  const isPrice = layer.kind === 'read' && reason === null && refusal === null && !busy && !on;
  const note = `layer-${layer.id}-note`;
  const is = { unavailable: reason !== null, refused: refusal !== null, busy, on: on && reason === null };
  const classes = Object.entries(is).filter(([, holds]) => holds);
  return (
    <li class={['layer', ...classes.map(([name]) => name)].join(' ')}>
      <Toggle
        id={`layer-${layer.id}`}
        label={layer.label}
        aria-describedby={note}
        checked={on}
        disabled={reason !== null && !on}
        onChange={({ currentTarget }) => switchLayer(layer.id, currentTarget.checked)}
      />
      <p id={note} class={isPrice ? 'fine price' : 'fine'} aria-live="polite">
        {reason ?? refusal ?? (busy ? 'Reading…' : noteOf(layer, status, now, reading?.content))}
      </p>
      {isOffered && needs_key && <Button class="layer-read" onClick={() => askForKey()} children="Enter a key" />}
      {isOffered && !needs_key && (
        <Button class="layer-read" price={layer.price} onClick={() => void read(layer)}>
          {isOfThis ? 'Read again' : 'Read for what is shown'}
        </Button>
      )}
      <ul class="row wrap layer-key" hidden={!drawn}>
        {layer.key.map(({ color, words }) => (
          <li key={words}>
            <Spot color={color} />
            {words}
          </li>
        ))}
      </ul>
    </li>
  );
}

/** What is drawn of a layer that can be shown, or what it costs. */
function noteOf(layer: MapLayer, { visible, isOfThis }: ReturnType<typeof statusOf>, now: Shown, content = NOTHING) {
  if (!isOn(layer)) return layer.kind === 'read' ? `Costs ${layer.price}` : '';
  if (content === NOTHING && layer.kind === 'read') return '';
  if (!isOfThis) return 'What was read is of another date or place.';
  return lines(layer.inWords(visible, now, content), content.note).join(' ');
}
