import { useRef, useState } from 'preact/hooks';
import { pinPlace } from '../display.ts';
import { loadJson } from '../page/page.ts';
import { Icon, opening, Say, Tool } from '../page/parts.tsx';
import { placeInWords } from '../page/words.ts';
import { service } from '../site.ts';
import { change } from '../state.ts';
import { type Found, openFinder } from './places.ts';

const ZOOMS = { town: 10, county: 8.5, ZIP: 10.5, coordinates: 11, address: 14 };
const LOCATION_WAIT_MS = 15_000;
const NOT_LOCATED = 'This browser may not tell where you are, or cannot. Allow it for this page, or type a place.';
/** The service asks a geocoder of the operator for addresses. */
const HAS_ADDRESSES = document.documentElement.dataset.addresses !== undefined;
const nothingInWords = (text: string) =>
  `Nothing is called “${text}”. Try a town, a county, a ZIP code, or coordinates such as ${placeInWords({ lat: 35.2, lng: -97.4 })}${HAS_ADDRESSES ? '; enter looks for an address' : ''}.`;

const NOTHING = { found: [] as readonly Found[], note: '' };
const find = openFinder(loadJson);

/** The addresses of a text that the geocoder of the operator knows. */
async function findAddresses(text: string): Promise<Found[]> {
  const addresses = await service.places(text);
  if (!addresses.available) throw new Error('the server for addresses does not answer');
  return addresses.places.map(({ label, lat, lon }: { label: string; lat: number; lon: number }) => {
    return { kind: 'address', label, lat, lng: lon, source: addresses.attribution };
  });
}

/** The search box over the places that the service knows, and the tools beside it. */
export function Find() {
  const [{ found, note }, show] = useState(NOTHING);
  const box = useRef<HTMLInputElement>(null);
  /** Shows what the text in the box may mean, unless it was changed or the box was left meanwhile; the likeliest place. */
  const search = async (is_finished = false): Promise<Found | undefined> => {
    const text = box.current?.value.trim() ?? '';
    try {
      let places = await find(text);
      if (places.length === 0 && is_finished && HAS_ADDRESSES) places = await findAddresses(text);
      if (text !== box.current?.value.trim() || box.current !== document.activeElement) return undefined;
      show({ found: places, note: text === '' || places.length > 0 ? '' : nothingInWords(text) });
      return places[0];
    } catch (error) {
      show({ ...NOTHING, note: `Places cannot be looked up: ${error instanceof Error ? error.message : error}` });
      return undefined;
    }
  };
  /** Goes to a place, and puts its name into the box. */
  const go = ({ kind, label, lat, lng }: Found, name = kind === 'coordinates' ? null : label) => {
    if (box.current) box.current.value = label;
    show(NOTHING);
    (document.activeElement as HTMLElement).blur();
    pinPlace({ lat, lng }, name, ZOOMS[kind]);
  };
  const submit = async (event: Event) => {
    event.preventDefault();
    const place = await search(true);
    // Addresses of a text are many: the reader chooses.
    if (place && place.kind !== 'address') go(place);
  };
  const locate = () => {
    show({ ...NOTHING, note: 'Looking where you are …' });
    navigator.geolocation.getCurrentPosition(
      ({ coords: { latitude, longitude } }) =>
        go({ kind: 'coordinates', label: '', lat: latitude, lng: longitude }, 'My location'),
      () => show({ ...NOTHING, note: NOT_LOCATED }),
      { timeout: LOCATION_WAIT_MS, maximumAge: 60_000 },
    );
  };
  const onFocus = () => {
    box.current?.select();
    void search();
  };
  const onFocusOut = ({ currentTarget, relatedTarget }: FocusEvent) => {
    if (!(currentTarget as HTMLElement).contains(relatedTarget as Node | null)) show(NOTHING);
  };
  return (
    <section id="find" class="row" aria-label="Find a place">
      <form class="bar card row grow" onSubmit={submit} onFocusOut={onFocusOut}>
        <label id="open-find" for="find-text" title="Find a place (/)">
          <Icon name="find" />
        </label>
        <input
          id="find-text"
          type="search"
          class="grow"
          ref={box}
          placeholder="Town, county or ZIP"
          autocomplete="off"
          aria-label="Town, county, ZIP or coordinates"
          onFocus={onFocus}
          onInput={() => void search()}
          onKeyDown={({ key, currentTarget }) => key === 'Escape' && currentTarget.blur()}
        />
        <ul id="find-list" class="card" hidden={found.length === 0} onMouseDown={(event) => event.preventDefault()}>
          {found.map((place, i) => (
            <li key={i}>
              <button type="button" class="row spread wide" onClick={() => go(place)}>
                <span>{place.label}</span>
                <span class="fine">{place.source ?? place.kind}</span>
              </button>
            </li>
          ))}
        </ul>
        <Say id="find-note" class="card" role="status" words={note} />
        <Tool id="locate" icon="locate" label="My location" onClick={locate} />
      </form>
      <div id="tools" class="card row">
        <Tool id="open-watch" icon="watch" label="Watch a place" onClick={() => change({ watching: true })} />
        <Tool id="open-share" icon="share" label="Share" onClick={() => change({ dialog: 'share', playing: false })} />
        <Tool id="open-account" icon="account" label="Account" onClick={opening('account')} />
        <Tool id="open-help" icon="help" label="Keys and help" onClick={opening('help')} />
      </div>
    </section>
  );
}
