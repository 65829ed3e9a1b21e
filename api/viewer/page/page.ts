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
