import { effect, signal } from '@preact/signals';
import { LngLat } from 'maplibre-gl';
import { LAYER_IDS } from '../address.ts';
import { Button, Card, Fold, Icon, Spot, Toggle } from '../page/parts.tsx';
import { dateInWords, placeInWords } from '../page/words.ts';
import { askForKey, theMap } from '../site.ts';
import { state } from '../state.ts';
import { LAYERS, lines, type MapLayer, type Reading, type Shown, shown } from './registry.ts';

/** What was read for a layer, and what was shown then; why the service refused the last reading. */
interface Row extends Partial<Reading> {
  readonly asked?: Shown;
  readonly refusal?: string | null;
  readonly busy?: boolean;
}
const rows = signal<Readonly<Record<string, Row>>>({});
/** Name of a row: what was read with one key is not shown with another. */
const nameOf = ({ id }: MapLayer) => `${id} ${state.key}`;
const put = (name: string, row: Row) => {
  rows.value = { ...rows.value, [name]: row };
};

/** Whether what was read while `asked` was shown serves what is shown now: its dates, and the middle of the map. */
function serves({ is_undated, radius_km }: MapLayer, asked: Shown, now: Shown): boolean {
  if (!is_undated && (now.first_date < asked.first_date || now.date > asked.date)) return false;
  const [from, to] = [asked, now].map(({ middle: { lat, lon } }) => new LngLat(lon, lat));
  return radius_km === undefined || from.distanceTo(to) / 1000 < radius_km / 2;
}

/** Why a layer cannot be shown; null where it can. */
function reasonOf({ price, is_undated, unavailable }: MapLayer, now: Shown): string | null {
  if (price && state.key === null) return 'Needs a key of this service.';
  if (!is_undated && !state.day?.frames.length) return 'No scans are published for this date.';
  return unavailable?.(now) ?? null;
}

/** What was read for a layer, whether it can be shown, and the features that are drawn of it; null while nothing is. */
function statusOf(layer: MapLayer, now: Shown) {
  const row: Row = rows.value[nameOf(layer)] ?? {};
  const on = state.layers.includes(layer.id);
  const reason = reasonOf(layer, now);
  const isRead = !layer.price || (row.asked !== undefined && serves(layer, row.asked, now));
  const read = row.features ?? [];
  const drawn = on && reason === null && isRead ? (layer.visible?.(read, now) ?? read) : null;
  return { ...row, on, reason, isRead, drawn };
}

effect(() => {
  const map = theMap();
  const now = shown();
  for (const layer of LAYERS) map?.draw(layer.id, statusOf(layer, now).drawn ?? []);
});

async function read(layer: MapLayer): Promise<void> {
  const [name, asked] = [nameOf(layer), shown()];
  const before = rows.value[name];
  if (before?.busy) return;
  put(name, { ...before, refusal: null, busy: true });
  try {
    put(name, { asked, ...(await layer.read?.(asked)) });
  } catch (error) {
    put(name, { ...before, refusal: error instanceof Error ? error.message : String(error) });
  }
}

/** Switches a layer on or off; what is switched on is read, unless what was read serves. */
export function switchLayer(id: string, on: boolean): void {
  state.layers = LAYER_IDS.filter((one) => (one === id ? on : state.layers.includes(one)));
  const layer = LAYERS.find((one) => one.id === id);
  if (!on || !layer) return;
  put(nameOf(layer), { ...rows.value[nameOf(layer)], refusal: null });
  if (!statusOf(layer, shown()).isRead) void read(layer);
}

/** What is said of all items of layers at a place, those drawn last first. */
export function factsAt(at: { readonly lng: number; readonly lat: number }) {
  const map = state.drawn > 0 ? theMap() : null;
  const found = LAYERS.flatMap(({ id, key }) => {
    const drawn = Object.values(map?.drawnAt(at, id) ?? {}).flat();
    return drawn.map(({ properties }) => JSON.stringify({ color: key?.[0][1], ...properties }));
  });
  // An item may lie in two tiles.
  const items: Record<'title' | 'color' | 'said', string>[] = [...new Set(found)].map((item) => JSON.parse(item));
  return items.filter(({ said }) => said);
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
        <p class="fine">A layer is read when you switch it on or press “Read”, never by opening a link.</p>
      </div>
    </Card>
  );
}

function LayerRow({ layer, now }: { layer: MapLayer; now: Shown }) {
  const { id, label, price, key } = layer;
  const status = statusOf(layer, now);
  const { on, reason, drawn, asked, refusal, busy } = status;
  const isOn = on && reason === null;
  const is = lines('layer', isOn && 'on', reason && 'unavailable', on && refusal && 'refused', busy && 'busy');
  return (
    <li class={is.join(' ')}>
      <Toggle
        id={`layer-${id}`}
        label={label}
        aria-describedby={`layer-${id}-note`}
        checked={on}
        disabled={reason !== null && !on}
        onChange={({ currentTarget }) => switchLayer(id, currentTarget.checked)}
      />
      <p id={`layer-${id}-note`} class="fine" aria-live="polite">
        {reason ?? (on ? noteOf(layer, status) : price && <span class="price">Costs {price}</span>)}
      </p>
      {price && state.key === null && <Button class="layer-read" onClick={() => askForKey()} children="Enter a key" />}
      {price && isOn && !busy && (
        <Button class="layer-read" price={price} onClick={() => void read(layer)}>
          {asked ? 'Read again' : 'Read'}
        </Button>
      )}
      <ul class="row layer-key" hidden={!drawn}>
        {key?.map(([words, color]) => (
          <li key={words}>
            <Spot color={color} />
            {words}
          </li>
        ))}
      </ul>
    </li>
  );
}

/** What is drawn of a layer that is on, or why nothing is. */
function noteOf({ price, radius_km, inWords }: MapLayer, status: ReturnType<typeof statusOf>): string {
  const { asked, features, note, refusal, busy, drawn } = status;
  if (busy) return 'Reading…';
  if (refusal) return refusal;
  if (!price) return inWords(drawn ?? [], []);
  if (!asked) return 'Not read yet.';
  const { lat, lon } = asked.middle;
  const around = radius_km ? ` around ${placeInWords({ lat, lng: lon })}` : '';
  if (!drawn) return `Read for ${dateInWords(asked.date)}${around}; not drawn for what is shown.`;
  return lines(features && inWords(drawn, features), note).join(' ');
}
