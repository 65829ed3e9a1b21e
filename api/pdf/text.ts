import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import anyAscii from 'any-ascii';
import { create, type Font } from 'fontkit';

/** Files of the fonts. Arimo and Cousine have the widths of Helvetica and Courier, and the Latin, Greek and Cyrillic letters. */
export const FONT_FILES = {
  Arimo: {
    normal: fileOf('@expo-google-fonts/arimo/400Regular/Arimo_400Regular.ttf'),
    bold: fileOf('@expo-google-fonts/arimo/700Bold/Arimo_700Bold.ttf'),
  },
  Cousine: { normal: fileOf('@expo-google-fonts/cousine/400Regular/Cousine_400Regular.ttf') },
};

const REGULAR = read(FONT_FILES.Arimo.normal);
const BOLD = read(FONT_FILES.Arimo.bold);

/** Code points that both text fonts have a glyph for. */
export const GLYPHS: ReadonlySet<number> = new Set(
  REGULAR.characterSet.filter((code) => BOLD.hasGlyphForCodePoint(code)),
);

/** Width of a text in Arimo, points. */
export function textWidth(text: string, size: number, weight: 'normal' | 'bold' = 'normal'): number {
  const font = weight === 'bold' ? BOLD : REGULAR;
  return (font.layout(text).advanceWidth * size) / font.unitsPerEm;
}

function fileOf(name: string): string {
  return fileURLToPath(import.meta.resolve(name));
}

function read(file: string): Font {
  const font = create(readFileSync(file));
  if (font.type === 'TTF') return font;
  throw new Error(`${file} holds ${font.type}, expected one TrueType font`);
}

/** Control, format and unpaired surrogate characters: invisible, or they change the direction of the text. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Cs}]/gu;

/** Characters that are drawn where the fonts have them: left-to-right letters, figures, signs; no combining marks alone. */
const DRAWN = /^(?![\p{M}\ufff9-\ufffd])[\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}\p{Script=Common}]$/u;

/**
 * Text that the fonts can draw. White space becomes single spaces, except no-break spaces; invisible characters are removed.
 * Characters that the fonts lack are written in Latin letters: unusual marks are dropped, other scripts transliterated, an emoji
 * becomes its name; characters without such a form are removed. A text longer than `longest` characters is cut and ends in `…`.
 */
export function printable(text: string, longest: number): string {
  // The cut bounds the work: the rest would not be shown.
  const head = visible(text.slice(0, 4 * longest));
  const shown = Array.from(head, (character) => (isDrawn(character) ? character : inLatinLetters(character)))
    .join('')
    .trim();
  return shown.length > longest ? `${shown.slice(0, longest - 1)}…` : shown;
}

/** Whether `printable` transliterates any character of a text. */
export function isTransliterated(text: string): boolean {
  return !Array.from(visible(text)).every(isDrawn);
}

function visible(text: string): string {
  return text
    .normalize('NFC')
    .replace(/[^\S\u00a0]+/gu, ' ')
    .replace(INVISIBLE, '')
    .trim();
}

function isDrawn(character: string): boolean {
  return DRAWN.test(character) && GLYPHS.has(character.codePointAt(0) ?? 0);
}

function inLatinLetters(character: string): string {
  const parts = character.normalize('NFKD');
  const plain = Array.from(parts).filter(isDrawn).join('');
  return plain.trim() === '' ? anyAscii(character) || anyAscii(parts) : plain;
}
