/** The element with this id. Throws when the page has none. */
export function element<Type extends HTMLElement = HTMLElement>(id: string): Type {
  const found = document.getElementById(id);
  if (found === null) throw new Error(`the page has no element '${id}'`);
  return found as Type;
}

/** Content of a `meta` element of the page. Throws when the page has none of this name. */
export function meta(name: string): string {
  const found = document.querySelector<HTMLMetaElement>(`meta[name="${name}"]`);
  if (found === null) throw new Error(`the page has no meta '${name}'`);
  return found.content;
}

/** A JSON file of the page. */
export async function loadJson<Value>(name: string): Promise<Value> {
  const response = await fetch(`${meta('hail-assets')}/${name}`);
  if (!response.ok) throw new Error(`${name} answered ${response.status}, expected 200`);
  return response.json();
}

/** Calls `act` on each click on the element with this id. */
export function onClick(id: string, act: () => void): void {
  element(id).addEventListener('click', act);
}

/** An element with text. */
export function textElement(tag: 'p' | 'span', text: string, className = ''): HTMLElement {
  const made = document.createElement(tag);
  made.textContent = text;
  made.className = className;
  return made;
}

/** Replaces the text of an element by words and a price, which is hidden where the plan has no limit. */
export function setPriced(id: string, words: string, price: string): void {
  element(id).replaceChildren(words, textElement('span', ` · ${price}`, 'price'));
}

/** A button with text. */
export function button(text: string, act: () => void, className = ''): HTMLButtonElement {
  const made = document.createElement('button');
  made.type = 'button';
  made.textContent = text;
  made.className = className;
  made.addEventListener('click', act);
  return made;
}

/** Drawing context of a canvas. */
export function penOf(canvas: HTMLCanvasElement): CanvasRenderingContext2D {
  return canvas.getContext('2d') as CanvasRenderingContext2D;
}

const FOLDED = 'hail.folded.';

/** A part of the page that its button folds and unfolds. */
export interface Fold {
  set(open: boolean): void;
  readonly isOpen: () => boolean;
}

/**
 * Makes a button fold and unfold the card around it; the browser remembers the choice.
 *
 * `id`: of the card; its button is `<id>-fold`.
 */
export function openFold(id: string, is_open_at_first: boolean): Fold {
  const card = element(id);
  const button = element<HTMLButtonElement>(`${id}-fold`);
  const isOpen = () => button.getAttribute('aria-expanded') === 'true';
  const show = (open: boolean) => {
    button.setAttribute('aria-expanded', String(open));
    card.classList.toggle('folded', !open);
  };
  const set = (open: boolean) => {
    show(open);
    localStorage.setItem(FOLDED + id, open ? 'no' : 'yes');
    dispatchEvent(new Event('resize'));
  };
  const kept = localStorage.getItem(FOLDED + id);
  show(kept === null ? is_open_at_first : kept === 'no');
  button.addEventListener('click', () => set(!isOpen()));
  return { set, isOpen };
}

/**
 * Keys for the whole page, by name: `v`, `ArrowLeft`, `shift ArrowLeft`; `map Enter` counts only while the map has the focus.
 * Fields, open dialogs and what handled a key itself keep their keys, buttons keep space and enter.
 */
export function listenToKeys(acts: Readonly<Record<string, () => void>>): void {
  document.addEventListener('keydown', (event) => {
    const target = event.target as HTMLElement;
    if (
      event.defaultPrevented ||
      event.ctrlKey ||
      event.metaKey ||
      event.altKey ||
      document.querySelector('dialog[open]')
    )
      return;
    if (target.matches('input:not([type="checkbox"]), select, textarea')) return;
    if (target.matches('button, input') && [' ', 'Enter'].includes(event.key)) return;
    const act = acts[keyName(event, target)];
    if (!act) return;
    event.preventDefault();
    act();
  });
}

function keyName({ key, shiftKey }: KeyboardEvent, target: HTMLElement): string {
  if (key.length === 1) return key.toLowerCase();
  if (shiftKey) return `shift ${key}`;
  return key === 'Enter' && target.matches('canvas') ? `map ${key}` : key;
}
