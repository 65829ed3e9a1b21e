import { useRef, useState } from 'preact/hooks';
import { pinPlace } from '../display.ts';
import { loadJson } from '../page/page.ts';
import { Icon, opening, Say, Tool } from '../page/parts.tsx';
import { placeInWords } from '../page/words.ts';
import { service } from '../site.ts';
import { change } from '../state.ts';
import { type Found, isZip, openFinder, type Places, type Zips } from './places.ts';

const KINDS = { town: 'town', county: 'county', zip: 'ZIP', coordinates: 'coordinates', address: 'address' };
const ZOOMS = { town: 10, county: 8.5, zip: 10.5, coordinates: 11, address: 14 };
const LOCATION_WAIT_MS = 15_000;
const LOCATION_ERRORS = [
  'This browser may not tell where you are. Allow it for this page, or type a place.',
  'Where you are could not be found out. Type a place instead.',
  'Where you are could not be found out in time. Type a place instead.',
];
/** The service asks a geocoder of the operator for addresses. */
const HAS_ADDRESSES = document.documentElement.dataset.addresses !== undefined;
const nothingInWords = (text: string) =>
  `Nothing is called “${text}”. Try a town, a county, a ZIP code, or coordinates such as ${placeInWords({ lat: 35.2, lng: -97.4 })}${HAS_ADDRESSES ? '; enter looks for an address' : ''}.`;

/** Names and codes are files of their own, and read when they are needed; one that failed is read again. */
const files = new Map<string, Promise<unknown>>();
function file<Content>(name: string): Promise<Content> {
  const asked = files.get(name) ?? loadJson<Content>(name);
  files.set(name, asked);
  asked.catch(() => files.delete(name));
  return asked as Promise<Content>;
}

/** Places of a text; of one that is finished and names none, the addresses that the geocoder of the operator knows. */
async function find(text: string, is_finished: boolean): Promise<Found[]> {
  const [places, zips] = await Promise.all([file<Places>('places.json'), isZip(text) ? file<Zips>('zips.json') : []]);
  const found = openFinder(places, zips).find(text);
  if (found.length > 0 || !is_finished || !HAS_ADDRESSES) return found;
  const addresses = await service.places(text);
  if (!addresses.available) throw new Error('the server for addresses does not answer');
  return addresses.places.map(({ label, lat, lon }: { label: string; lat: number; lon: number }) => {
    return { kind: 'address', label, lat, lng: lon, source: addresses.attribution };
  });
}

/** The search box, a combobox over the places that the service knows, and the tools beside it. */
export function Find() {
  const [found, setFound] = useState<readonly Found[]>([]);
  const [active, setActive] = useState(-1);
  const [note, setNote] = useState('');
  const box = useRef<HTMLInputElement>(null);

  const show = (places: readonly Found[], words = '') => {
    setFound(places);
    setActive(-1);
    setNote(words);
  };
  /** What the text in the box may mean; none where it was changed or the box was left meanwhile. */
  const search = async (is_finished = false): Promise<readonly Found[]> => {
    const text = box.current?.value.trim() ?? '';
    try {
      const places = text === '' ? [] : await find(text, is_finished);
      if (text !== box.current?.value.trim() || box.current !== document.activeElement) return [];
      show(places, text === '' || places.length > 0 || /^\d{1,2}$/.test(text) ? '' : nothingInWords(text));
      return places;
    } catch (error) {
      show([], `Places cannot be looked up: ${error instanceof Error ? error.message : error}`);
      return [];
    }
  };
  /** Goes to a place, and puts its name into the box. */
  const go = ({ kind, label, lat, lng }: Found, name: string | null = label) => {
    if (box.current) box.current.value = label;
    show([]);
    box.current?.blur();
    pinPlace({ lat, lng }, name, ZOOMS[kind]);
  };
  const choose = (place: Found | undefined) => place && go(place, place.kind === 'coordinates' ? null : place.label);
  const locate = () => {
    setNote('Looking where you are …');
    navigator.geolocation.getCurrentPosition(
      ({ coords: { latitude, longitude } }) =>
        go({ kind: 'coordinates', label: '', lat: latitude, lng: longitude }, 'My location'),
      ({ code }) => setNote(LOCATION_ERRORS[code - 1]),
      { timeout: LOCATION_WAIT_MS, maximumAge: 60_000 },
    );
  };
  const leave = () => {
    show([]);
    if (found.length > 0 || box.current === null) return;
    if (box.current.value === '') box.current.blur();
    box.current.value = '';
  };
  // Before the first and after the last is the text itself.
  const move = (by: number) =>
    found.length === 0 ? search() : setActive(((active + 1 + by + found.length + 1) % (found.length + 1)) - 1);
  const acts: Readonly<Record<string, () => unknown>> = {
    ArrowDown: () => move(1),
    ArrowUp: () => move(-1),
    Enter: async () => {
      const place = found[active] ?? (await search(true))[0];
      // Addresses of a text are many: the reader chooses.
      if (active >= 0 || place?.kind !== 'address') choose(place);
    },
    Escape: leave,
  };
  const onKey = (event: KeyboardEvent) => {
    const act = acts[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  };
  const onFocus = () => {
    box.current?.select();
    // Read ahead: the first letters follow at once. A failure is reported by the search for them.
    file('places.json').catch(() => {});
  };
  const combobox = {
    role: 'combobox',
    'aria-label': 'Town, county, ZIP or coordinates',
    'aria-expanded': found.length > 0,
    'aria-controls': 'find-list',
    'aria-autocomplete': 'list',
    ...(active >= 0 && { 'aria-activedescendant': `found-${active}` }),
    ...{ placeholder: 'Town, county or ZIP', autocomplete: 'off', spellcheck: false, enterkeyhint: 'search' },
    ...{ onFocus, onBlur: () => show([]), onInput: () => void search(), onKeyDown: onKey },
  };
  return (
    <section id="find" class="row" aria-label="Find a place">
      <div class="bar card row grow">
        <label id="open-find" for="find-text" title="Find a place (/)">
          <Icon name="find" />
        </label>
        <input id="find-text" class="grow" ref={box} {...(combobox as object)} />
        <Tool id="locate" icon="locate" label="My location" onClick={locate} />
        <div id="find-list" class="card" role="listbox" aria-label="Places found" hidden={found.length === 0}>
          {found.map((place, i) => {
            const is = { id: `found-${i}`, tabIndex: -1, 'aria-selected': i === active };
            const keepFocus = (event: Event) => event.preventDefault();
            return (
              <button
                key={i}
                type="button"
                role="option"
                class="row spread wide"
                onPointerDown={keepFocus}
                onClick={() => choose(place)}
                {...is}
              >
                <span>{place.label}</span>
                <span class="fine">{place.source ?? KINDS[place.kind]}</span>
              </button>
            );
          })}
        </div>
        <Say id="find-note" class="card" role="status" words={note} />
      </div>
      <div id="tools" class="card row">
        <Tool id="open-watch" icon="watch" label="Watch a place" onClick={() => change({ watching: true })} />
        <Tool id="open-share" icon="share" label="Share" onClick={() => change({ dialog: 'share', playing: false })} />
        <Tool id="open-account" icon="account" label="Account" onClick={opening('account')} />
        <Tool id="open-help" icon="help" label="Keys and help" onClick={opening('help')} />
      </div>
    </section>
  );
}
