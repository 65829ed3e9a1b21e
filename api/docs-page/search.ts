import { byId, make } from './dom.ts';

/** Pause after the last key before a search is sent, milliseconds. */
const PAUSE_MS = 150;
const SHORTEST = 2;

/** Results of the search while one types. `/` moves to the field, arrows through the results. */
export function openSearch(): void {
  const field = byId('q', HTMLInputElement);
  const list = byId('found', HTMLDivElement);
  let asked = '';
  let waiting: ReturnType<typeof setTimeout> | undefined;
  const show = async () => {
    const words = field.value.trim();
    asked = words;
    try {
      const results = words.length < SHORTEST ? [] : await searchFor(words, field.form?.action ?? '');
      if (words === asked) list.replaceChildren(...results); // a later search may be answered first
    } catch {
      list.replaceChildren(make('p', { className: 'lead', textContent: 'The search did not answer.' }));
    }
  };
  const clear = () => {
    field.value = '';
    list.replaceChildren();
  };
  field.addEventListener('input', () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => void show(), PAUSE_MS);
  });
  field.addEventListener('keydown', (event) => {
    const first = list.querySelector('a');
    if (event.key === 'Escape') clear();
    if (event.key !== 'ArrowDown' || first === null) return;
    event.preventDefault();
    first.focus();
  });
  list.addEventListener('keydown', (event) => moveFocus(event, list, field));
  list.addEventListener('click', (event) => {
    if (event.target instanceof Element && event.target.closest('a') !== null) clear();
  });
  document.addEventListener('keydown', (event) => {
    const { target } = event;
    const isTyping = target instanceof HTMLElement && target.matches('input:not([type=radio]), textarea, select');
    if (event.key !== '/' || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    field.focus();
  });
}

/** The results of the page of the search, with their addresses made absolute. */
async function searchFor(words: string, action: string): Promise<readonly Element[]> {
  const url = new URL(action);
  url.searchParams.set('q', words);
  const response = await fetch(url);
  if (!response.ok) throw new Error(`the search answers ${response.status}`);
  const page = new DOMParser().parseFromString(await response.text(), 'text/html');
  const results = page.getElementById('results');
  for (const link of results?.querySelectorAll('a') ?? [])
    link.setAttribute('href', new URL(link.getAttribute('href') ?? '', url).href);
  return results === null ? [] : [results];
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
