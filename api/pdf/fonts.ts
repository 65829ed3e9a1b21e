import { readFileSync } from 'node:fs';
import { create, type Font } from 'fontkit';

/** Files of the fonts. Arimo and Cousine have the widths of Helvetica and Courier, and the Latin, Greek and Cyrillic letters. */
const FILES = {
  Arimo: '@expo-google-fonts/arimo/400Regular/Arimo_400Regular.ttf',
  'Arimo-Bold': '@expo-google-fonts/arimo/700Bold/Arimo_700Bold.ttf',
  Cousine: '@expo-google-fonts/cousine/400Regular/Cousine_400Regular.ttf',
} as const;

/** Name of a font of the document. */
export type FontName = keyof typeof FILES;
export const FONT_NAMES = Object.keys(FILES) as readonly FontName[];

/** The fonts, parsed once: every document embeds the glyphs that it uses. */
export const FONTS: Readonly<Record<FontName, Font>> = {
  Arimo: read('Arimo'),
  'Arimo-Bold': read('Arimo-Bold'),
  Cousine: read('Cousine'),
};

function read(name: FontName): Font {
  const font = create(readFileSync(new URL(import.meta.resolve(FILES[name]))));
  if (font.type === 'TTF') return font;
  throw new Error(`${FILES[name]} holds ${font.type}, expected one TrueType font`);
}

/** Code points that both text fonts have a glyph for. */
export const GLYPHS: ReadonlySet<number> = new Set(
  FONTS.Arimo.characterSet.filter((code) => FONTS['Arimo-Bold'].hasGlyphForCodePoint(code)),
);

declare global {
  namespace PDFKit.Mixins {
    interface PDFFont {
      /** Version 0.20 takes parsed fonts as well: parsing them for each document would take it 100 ms. */
      registerFont(name: string, font: Font): this;
    }
  }
}
