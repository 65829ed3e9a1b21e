import type { Content, Style, StyleDictionary } from 'pdfmake/interfaces.js';
import { BASEMAP } from '../../schemas/palette.ts';
import type { Verdict } from '../../schemas/resources/verification.ts';

/** Width of a page's text, points: US Letter with margins of 54. */
export const TEXT_WIDTH = 504;
export const INK = BASEMAP.ink;
export const WARNING = BASEMAP.warning;
export const RULE = BASEMAP.border;
/** Darker than the map's own faint text: small print must read on paper. */
const FAINT = '#55636e';

/** Height of a line of Arimo without leading, in sizes. */
const LINE = 1.117;

/** Styles of text; sizes and distances of baselines in points. */
export const STYLES = {
  title: style(21, 26, { bold: true }),
  place: style(12, 15),
  lead: style(13, 17, { bold: true }),
  heading: style(12, 17, { bold: true }),
  body: style(9, 12.5),
  /** Method, limits and the like, which few read and all may. */
  back: style(8.2, 10.3),
  small: style(7.5, 10.2, { color: FAINT }),
  cell: style(8, 10.5),
  cell_strong: style(8, 10.5, { bold: true }),
  cell_faint: style(7, 9.5, { color: FAINT }),
  column_head: style(7, 9, { bold: true, color: FAINT }),
  figure: style(26, 30, { bold: true }),
  code: style(8.4, 11.5, { font: 'Cousine' }),
  code_small: style(7.5, 9.6, { font: 'Cousine' }),
} satisfies StyleDictionary;

function style(fontSize: number, leading: number, more: Style = {}): Style {
  return { fontSize, lineHeight: leading / (fontSize * LINE), ...more };
}

export function paragraph(text: string, name: keyof typeof STYLES, after = 5): Content {
  return { text, style: name, margin: [0, 0, 0, after] };
}

export function rule(lineWidth: number, above: number, below: number, lineColor: string = RULE): Content {
  const line = { type: 'line' as const, x1: 0, y1: 0, x2: TEXT_WIDTH, y2: 0, lineWidth, lineColor };
  return { canvas: [line], margin: [0, above, 0, below] };
}

/** Title of a section below a rule, also a bookmark. */
export function heading(text: string): Content[] {
  return [rule(0.8, 7, 4), { text, style: 'heading', outline: true, margin: [0, 0, 0, 2] }];
}

/** A section that stays on one page. */
export function section(title: string, content: readonly Content[]): Content {
  return { stack: [...heading(title), ...content], unbreakable: true };
}

/** Word, colour and meaning of a verdict; the colour only repeats the word. */
export const VERDICT_LOOKS: Readonly<Record<Verdict, { word: string; color: string; means: string }>> = {
  hit: {
    word: 'Hit',
    color: '#8f2317',
    means: 'A radar detection that a ground report corroborates, or a strong one alone.',
  },
  marginal: {
    word: 'Marginal',
    color: '#94610f',
    means: 'Any other radar detection, or a ground report without one.',
  },
  miss: {
    word: 'Miss',
    color: '#4d6475',
    means: 'A weak radar echo only, below the detection limit, and no report.',
  },
};
