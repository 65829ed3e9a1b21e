import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { create, type Font } from 'fontkit';

/** Files of the fonts. Arimo and Cousine have the widths of Helvetica and Courier, and the Latin, Greek and Cyrillic letters. */
export const FONT_FILES = {
  Arimo: {
    normal: fileOf('@expo-google-fonts/arimo/400Regular/Arimo_400Regular.ttf'),
    bold: fileOf('@expo-google-fonts/arimo/700Bold/Arimo_700Bold.ttf'),
  },
  Cousine: { normal: fileOf('@expo-google-fonts/cousine/400Regular/Cousine_400Regular.ttf') },
};

const BOLD = read(FONT_FILES.Arimo.bold);

/** Code points that both text fonts have a glyph for. */
export const GLYPHS: ReadonlySet<number> = new Set(
  read(FONT_FILES.Arimo.normal).characterSet.filter((code) => BOLD.hasGlyphForCodePoint(code)),
);

function fileOf(name: string): string {
  return fileURLToPath(import.meta.resolve(name));
}

function read(file: string): Font {
  const font = create(readFileSync(file));
  if (font.type === 'TTF') return font;
  throw new Error(`${file} holds ${font.type}, expected one TrueType font`);
}

/** Control, format and unpaired surrogate characters, but no blanks: invisible, or they change the direction of the text. */
const INVISIBLE = /(?!\s)[\p{Cc}\p{Cf}\p{Cs}]/gu;

/** Characters that are drawn where the fonts have them: left-to-right letters, figures, signs; no combining marks alone. */
const DRAWN = /^(?![\p{M}\ufff9-\ufffd])[\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}\p{Script=Common}]$/u;

/**
 * Text that the fonts can draw: of what they lack, letters lose unusual marks, and any other character is written as its number,
 * `U+6771`. A text longer than `longest` characters is cut and ends in `…`.
 */
export function printable(text: string, longest: number): string {
  // The cut bounds the work: the rest would not be shown.
  const shown = Array.from(visible(text.slice(0, 4 * longest)), (character) =>
    isDrawn(character) ? character : withoutGlyph(character),
  )
    .join('')
    .replace(/ +/g, ' ')
    .trim();
  return shown.length > longest ? `${shown.slice(0, longest - 1)}…` : shown;
}

/** Text with single spaces, except no-break spaces, and without invisible characters. */
export function visible(text: string): string {
  return text
    .replace(INVISIBLE, '')
    .replace(/[^\S\u00a0]+/gu, ' ')
    .normalize('NFC')
    .trim();
}

function isDrawn(character: string): boolean {
  return DRAWN.test(character) && GLYPHS.has(character.codePointAt(0) ?? 0);
}

function withoutGlyph(character: string): string {
  const plain = Array.from(character.normalize('NFKD')).filter(isDrawn).join('').trim();
  return plain === '' ? `U+${character.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0')} ` : plain;
}
