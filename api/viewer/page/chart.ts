/*
 * Parts of a chart as SVG. Charts are drawn here, since charting libraries write style sheets into the page, which its security policy
 * forbids.
 */
const SVG = 'http://www.w3.org/2000/svg';

type Attributes = Readonly<Record<string, string | number>>;

/** An empty chart; `words` say the whole for readers who do not see it. */
export function emptyChart({ width, height }: { width: number; height: number }, words: string, name: string) {
  return part('svg', { viewBox: `0 0 ${width} ${height}`, class: name, role: 'img', 'aria-label': words });
}

/** A shape of a chart; `words` appear when it is pointed at. */
export function part(name: string, attributes: Attributes, words?: string): SVGElement {
  const made = document.createElementNS(SVG, name) as SVGElement;
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value));
  if (words !== undefined) made.append(label(words, {}, 'title'));
  return made;
}

/** A text of a chart. */
export function label(words: string, attributes: Attributes, name: 'text' | 'title' = 'text'): SVGElement {
  const made = part(name, attributes);
  made.textContent = words;
  return made;
}
