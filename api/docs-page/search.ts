import MiniSearch, { type SearchResult } from 'minisearch';
import { byId, make } from './dom.ts';

/** An entry of `search.json`. */
interface Entry {
  readonly id: string;
  readonly title: string;
  /** Method and path, or the name of the guide. */
  readonly where: string;
  readonly text: string;
  /** Address relative to the folder of the documentation. */
  readonly to: string;
}

const MOST_SHOWN = 8;
const NO_RESULT = 'Nothing found. Try a path such as storms, a field or an error code.';

/** The search of the documentation: its index is loaded when the field is first used. `/` moves to the field. */
export function openSearch(assets: URL): void {
  const field = byId('search-text', HTMLInputElement);
  const list = byId('search-results', HTMLUListElement);
  const note = byId('search-note', HTMLParagraphElement);
  byId('search', HTMLElement).hidden = false;
  let index: Promise<MiniSearch<Entry>> | null = null;
  const load = () => {
    index ??= loadIndex(assets).catch((error: unknown) => {
      index = null;
      throw error;
    });
    return index;
  };
  const show = async () => {
    const words = field.value.trim();
    try {
      const found = words === '' ? [] : (await load()).search(words).slice(0, MOST_SHOWN);
      if (field.value.trim() !== words) return; // a later one is on its way
      list.replaceChildren(...found.map((entry) => resultItem(entry, assets)));
      note.textContent = words === '' ? '' : found.length === 0 ? NO_RESULT : `${found.length} found`;
    } catch {
      note.textContent = 'The search could not be loaded.';
    }
  };
  const clear = () => {
    field.value = '';
    void show();
  };
  field.addEventListener('focus', () => void load().catch(() => {})); // `show` says when it fails
  field.addEventListener('input', () => void show());
  field.addEventListener('keydown', (event) => {
    const first = list.querySelector('a');
    if (event.key === 'Enter' && first !== null) first.click();
    if (event.key === 'ArrowDown' && first !== null) {
      event.preventDefault();
      first.focus();
    }
    if (event.key === 'Escape') clear();
  });
  list.addEventListener('keydown', (event) => moveFocus(event, list, field));
  list.addEventListener('click', clear);
  document.addEventListener('keydown', (event) => {
    const { target } = event;
    const isTyping = target instanceof HTMLElement && target.matches('input, textarea, select');
    if (event.key !== '/' || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    field.focus();
  });
}

async function loadIndex(assets: URL): Promise<MiniSearch<Entry>> {
  const response = await fetch(new URL('search.json', assets));
  if (!response.ok) throw new Error(`search.json answers ${response.status}`);
  const index = new MiniSearch<Entry>({
    fields: ['title', 'where', 'text'],
    storeFields: ['title', 'where', 'to'],
    searchOptions: { boost: { title: 4, where: 3 }, prefix: true, fuzzy: 0.15, combineWith: 'AND' },
    tokenize: (text) => text.split(/[^\p{L}\p{N}]+/u),
  });
  index.addAll(await response.json());
  return index;
}

function resultItem({ title, where, to }: SearchResult, assets: URL): HTMLLIElement {
  const small = make('span', { className: 'where', textContent: where });
  return make('li', {}, make('a', { href: new URL(`../../${to}`, assets).href }, title, small));
}

/** Arrows move through the results; up from the first leads back to the field. */
function moveFocus(event: KeyboardEvent, list: HTMLElement, field: HTMLElement): void {
  const links: Element[] = [...list.querySelectorAll('a')];
  const at = document.activeElement === null ? -1 : links.indexOf(document.activeElement);
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (event.key === 'Escape') field.focus();
  if (step === undefined) return;
  event.preventDefault();
  const next = links[at + step] ?? (step < 0 ? field : null);
  if (next instanceof HTMLElement) next.focus();
}
