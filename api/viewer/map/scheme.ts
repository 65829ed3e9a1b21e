import type { Palette } from '../page/words.ts';

const DARK = matchMedia('(prefers-color-scheme: dark)');

/** Content of `palette.json`: the colours for light screens, and those for dark ones. */
export interface Palettes extends Palette {
  readonly dark: Palette;
}

/** Light or dark, as the reader's device prefers. */
export function scheme(): 'light' | 'dark' {
  return DARK.matches ? 'dark' : 'light';
}

/** The colours of the scheme; the address keeps what is shown when the reader changes it. */
export function schemePalette(palettes: Palettes): Palette {
  DARK.addEventListener('change', () => location.reload());
  return scheme() === 'dark' ? palettes.dark : palettes;
}
