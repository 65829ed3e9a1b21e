type Attributes = Readonly<Record<string, string | number>>;

/** One SVG element; numbers are rounded to a hundredth. `content` is markup. */
export function element(name: string, attributes: Attributes, content = ''): string {
  const written = Object.entries(attributes)
    .map(([key, value]) => ` ${key}="${typeof value === 'number' ? number(value) : escaped(value)}"`)
    .join('');
  return content === '' ? `<${name}${written}/>` : `<${name}${written}>${content}</${name}>`;
}

/** A line of text at a position. */
export function text(content: string, x: number, y: number, attributes: Attributes): string {
  return element('text', { x, y, ...attributes }, escaped(content));
}

function number(value: number): string {
  return String(Math.round(value * 100) / 100);
}

/** Text with the special characters of XML escaped. */
function escaped(value: string): string {
  return value.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}
