import { spawnSync } from 'node:child_process';

/** A word on a page, and one on a map, whose place is relative to the map. */
const SHOWN =
  /(?:1 0 0 1 [-\d.]+ ([-\d.]+) Tm\n\/(F\d+) [\d.]+ Tf|\/(F\d+) [\d.]+ Tf\n0 Tr\n1 0 0 -1 [-\d. ]+ Tm)\n\[((?:<[0-9a-f]*>|[-\d. ])*)\] TJ/g;

/** Texts of a font by the number of its glyph in the document. */
type Glyphs = readonly string[];

/** The object of a number, from its dictionary to its end. */
function objectOf(file: string, id: string): string {
  const from = file.indexOf(`\n${id} 0 obj\n`);
  return file.slice(from, file.indexOf('\nendobj', from));
}

/** What the glyphs of each font of a document stand for, by the name of the font on the pages. */
function fontsIn(file: string): Map<string, Glyphs> {
  const names = new Map([...file.matchAll(/\/(F\d+) (\d+) 0 R/g)].map(([, name = '', id = '']) => [name, id]));
  return new Map(
    [...names].map(([name, id]) => {
      const cmap = /\/ToUnicode (\d+) 0 R/.exec(objectOf(file, id))?.[1];
      if (cmap === undefined) throw new Error(`font ${name} says for none of its glyphs which character it is`);
      const ranges = objectOf(file, cmap).matchAll(/<[0-9a-f]{4}> <[0-9a-f]{4}> \[([^\]]*)\]/g);
      const glyphs = [...ranges].flatMap(([, values = '']) =>
        [...values.matchAll(/<([^>]*)>/g)].map(([, hex = '']) =>
          hex
            .split(' ')
            .map((unit) => String.fromCharCode(Number.parseInt(unit, 16)))
            .join(''),
        ),
      );
      return [name, glyphs];
    }),
  );
}

function shownIn(page: string, fonts: ReadonlyMap<string, Glyphs>): Placed[] {
  return [...page.matchAll(SHOWN)].map(([, above, page_font, map_font = '', parts = '']) => {
    const font = page_font ?? map_font;
    const glyphs = [...parts.matchAll(/<([0-9a-f]*)>/g)].flatMap(([, hex = '']) => hex.match(/.{4}/g) ?? []);
    const text = glyphs
      .map((glyph) => fonts.get(font)?.[Number.parseInt(glyph, 16)] ?? '\ufffd')
      .join('')
      .replaceAll('\u00a0', ' ');
    return { text, above: Number(above), font };
  });
}

interface Placed {
  readonly text: string;
  readonly above: number;
  /** Name of the font on the pages. */
  readonly font: string;
}

/** Joins the words of a text, each of which the writer draws by itself with the space or dash after it. */
function joined(words: readonly Placed[], over_lines: boolean): Placed[] {
  const texts: Placed[] = [];
  for (const word of words) {
    const last = texts.at(-1);
    if (last !== undefined && /[ /-]$|.–$/.test(last.text) && (over_lines || last.above === word.above))
      texts[texts.length - 1] = { ...last, text: last.text + word.text };
    else texts.push(word);
  }
  return texts;
}

/** Texts of a document whose pages are not compressed, in the order in which they were drawn. */
export function textsIn(pdf: Buffer): string[] {
  const file = pdf.toString('latin1');
  return joined(shownIn(file, fontsIn(file)), true).map(({ text }) => text);
}

/** Texts of each page of such a document outside its maps with the height of their baselines above its lower edge, points. */
export function placedTexts(pdf: Buffer): Placed[][] {
  const file = pdf.toString('latin1');
  const fonts = fontsIn(file);
  return [...file.matchAll(/\/Type \/Page\n[^>]*\/Contents (\d+) 0 R/g)].map(([, id]) => {
    const from = file.indexOf('stream\n', file.indexOf(`\n${id} 0 obj\n`));
    const words = shownIn(file.slice(from, file.indexOf('\nendstream', from)), fonts);
    return joined(
      words.filter(({ above }) => !Number.isNaN(above)),
      false,
    );
  });
}

/** Pages of a document. */
export function pagesIn(pdf: Buffer): number {
  return pdf.toString('latin1').match(/\/Type \/Page\n/g)?.length ?? 0;
}

export const hasPdftotext = spawnSync('pdftotext', ['-v']).status === 0;

/** Text of a document as poppler reads it, page by page, white space made single spaces. */
export function pagesByPoppler(pdf: Buffer): string[] {
  const { status, stdout, stderr } = spawnSync('pdftotext', ['-raw', '-enc', 'UTF-8', '-', '-'], {
    input: pdf,
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`pdftotext ended with ${status}: ${stderr}`);
  return stdout
    .split('\f')
    .slice(0, -1)
    .map((page) => page.replace(/\s+/g, ' '));
}
