import type { LngLat } from '../data/day.ts';
import { element, loadJson, onClick, textElement } from '../page/page.ts';
import { placeInWords } from '../page/words.ts';
import { type Finder, type Found, isZip, openFinder, type Places, type Zips } from './places.ts';

const KINDS: Readonly<Record<Found['kind'], string>> = {
  town: 'town',
  county: 'county',
  zip: 'ZIP',
  coordinates: 'coordinates',
};
const ZOOMS: Readonly<Record<Found['kind'], number>> = { town: 10, county: 8.5, zip: 10.5, coordinates: 11 };
const LOCATION_WAIT_MS = 15_000;
const LOCATION_ERRORS: Readonly<Record<number, string>> = {
  1: 'This browser may not tell where you are. Allow it for this page, or type a place.',
  2: 'Where you are could not be found out. Type a place instead.',
  3: 'Where you are could not be found out in time. Type a place instead.',
};

/** Goes to a place that was found. */
type Go = (at: LngLat, zoom: number, label: string | null) => void;

/** The search box: a combobox over the places that the service knows, and the button for one's own location. */
export function openFind(go: Go) {
  const box = element('find');
  const field = element<HTMLInputElement>('find-text');
  const list = element('find-list');
  const note = element('find-note');
  let found: Found[] = [];
  let active = -1;
  /** Counts the texts: places for an earlier one are dropped. */
  let turn = 0;
  let places: Promise<Places> | null = null;
  let zips: Promise<Zips> | null = null;

  const say = (words: string) => {
    note.textContent = words;
    note.hidden = words === '';
  };

  /** Names and codes are files of their own, and read when they are needed. */
  async function finderFor(text: string): Promise<Finder> {
    places ??= loadJson<Places>('places.json').catch(forgetPlaces);
    if (isZip(text)) zips ??= loadJson<Zips>('zips.json').catch(forgetPlaces);
    return openFinder(await places, (await zips) ?? []);
  }

  function forgetPlaces(error: unknown): never {
    places = null;
    zips = null;
    throw error;
  }

  async function search(): Promise<Found[]> {
    const asked = ++turn;
    const text = field.value.trim();
    try {
      const answer = text === '' ? [] : (await finderFor(text)).find(text);
      if (asked !== turn) return found;
      show(answer);
      const isShort = /^\d{1,2}$/.test(text);
      say(text !== '' && answer.length === 0 && !isShort ? nothingInWords(text) : '');
    } catch (error) {
      if (asked === turn) say(`Places cannot be looked up: ${error instanceof Error ? error.message : error}`);
    }
    return found;
  }

  function show(answer: Found[]): void {
    found = answer;
    list.replaceChildren(
      ...answer.map((place, i) => {
        const option = document.createElement('div');
        option.id = `found-${i}`;
        option.setAttribute('role', 'option');
        option.append(textElement('span', place.label), textElement('span', KINDS[place.kind], 'kind'));
        option.addEventListener('pointerdown', (event) => event.preventDefault());
        option.addEventListener('click', () => choose(place));
        return option;
      }),
    );
    list.hidden = answer.length === 0;
    field.setAttribute('aria-expanded', String(answer.length > 0));
    point(-1);
  }

  function point(index: number): void {
    active = index;
    for (const [i, option] of [...list.children].entries()) option.setAttribute('aria-selected', String(i === index));
    if (index < 0) field.removeAttribute('aria-activedescendant');
    else {
      field.setAttribute('aria-activedescendant', `found-${index}`);
      list.children[index].scrollIntoView({ block: 'nearest' });
    }
  }

  function choose({ kind, label, lat, lng }: Found): void {
    turn++;
    field.value = label;
    show([]);
    close();
    go({ lat, lng }, ZOOMS[kind], kind === 'coordinates' ? null : label);
  }

  function open(): void {
    box.classList.add('open');
    field.focus();
  }

  function close(): void {
    box.classList.remove('open');
    say('');
    field.blur();
  }

  async function enter(): Promise<void> {
    const places = await search();
    const place = places[Math.max(0, active)];
    if (place) choose(place);
  }

  function locate(): void {
    if (!('geolocation' in navigator)) {
      say(LOCATION_ERRORS[2]);
      return;
    }
    say('Looking where you are …');
    navigator.geolocation.getCurrentPosition(
      ({ coords }) => {
        say('');
        field.value = '';
        const at = { lat: coords.latitude, lng: coords.longitude };
        close();
        go(at, ZOOMS.coordinates, 'My location');
      },
      ({ code }) => say(LOCATION_ERRORS[code] ?? LOCATION_ERRORS[2]),
      { timeout: LOCATION_WAIT_MS, maximumAge: 60_000 },
    );
  }

  field.addEventListener('input', () => void search());
  field.addEventListener('focus', () => {
    field.select();
    // Read ahead: the first letters follow at once. A failure is reported by the search for them.
    void finderFor('').catch(() => {});
  });
  field.addEventListener('blur', ({ relatedTarget }) => {
    show([]);
    if (!box.contains(relatedTarget as Node | null)) box.classList.remove('open');
  });
  field.addEventListener('keydown', (event) => {
    const { key } = event;
    if (key === 'ArrowDown' || key === 'ArrowUp') {
      event.preventDefault();
      if (found.length === 0) return void search();
      const step = key === 'ArrowDown' ? 1 : -1;
      // Before the first and after the last is the text itself.
      point(((active + 1 + step + found.length + 1) % (found.length + 1)) - 1);
    } else if (key === 'Enter') {
      event.preventDefault();
      if (active >= 0) choose(found[active]);
      else void enter();
    } else if (key === 'Escape') {
      event.preventDefault();
      if (found.length > 0) show([]);
      else if (field.value !== '') {
        field.value = '';
        say('');
      } else close();
    }
  });
  // On phones the buttons lie under the panel, whose height follows its text.
  const panel = element('panel');
  new ResizeObserver(() =>
    document.documentElement.style.setProperty(
      '--panel-bottom',
      `${Math.round(panel.getBoundingClientRect().bottom)}px`,
    ),
  ).observe(panel);
  onClick('open-find', open);
  onClick('locate', locate);
  return { open };
}

function nothingInWords(text: string): string {
  return `Nothing is called “${text}”. Try a town, a county, a ZIP code, or coordinates such as ${placeInWords({ lat: 35.2, lng: -97.4 })}.`;
}
