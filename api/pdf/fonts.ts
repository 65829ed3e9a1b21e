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
