import { buffer } from 'node:stream/consumers';
import PDFDocument from 'pdfkit';
import { FONT_NAMES, FONTS } from './fonts.ts';
import { printable } from './printable.ts';
import { HEADING, RULE, type TextStyle } from './styles.ts';

/** US Letter, in points from the upper left corner; blocks stand between `top` and `bottom`, page frames outside. */
export const PAGE = { width: 612, height: 792, left: 54, right: 558, top: 60, bottom: 739 } as const;
export const TEXT_WIDTH = PAGE.right - PAGE.left;

/** The first page has no line above its title. */
const FIRST_TOP = 50;
/** Keeps a figure and its unit on one line; written as a common space, so that searching finds it. */
export const NO_BREAK = '\u00a0';
/** Space between a block and the heading below it. */
const HEADING_GAP = 9;
const HEADING_HEIGHT = 23;
/** Tolerance, points: sums of the same heights in another order differ by less. */
const ROUNDING = 1e-6;
/** Limit of cached text widths. */
const WIDTHS_MAX = 20_000;

export type Doc = PDFKit.PDFDocument;
type Part = PDFKit.PDFStructureElement;

/**
 * The document being written. Every block places its own text: pdfkit's tables repeat no head on the next page and keep no rows
 * together, and its wrapping cannot keep `NO_BREAK` and still write a common space.
 */
export interface Sheet {
  readonly doc: Doc;
  /** Structure element that blocks are added to, for screen readers. */
  part: Part;
  /** Cached widths of texts at size 1: most words occur many times. */
  readonly widths: Map<string, number>;
  /** Top of the next block on the current page. */
  y: number;
}

/** Metadata of a document, and whether it is compressed. */
interface SheetOptions {
  readonly info: Readonly<PDFKit.DocumentInfo>;
  readonly compress: boolean;
}

/** An empty document with its first page. */
export function openSheet({ info, compress }: SheetOptions): Sheet {
  const doc = new PDFDocument({
    size: [PAGE.width, PAGE.height],
    // With margins of zero the library breaks no page by itself.
    margin: 0,
    bufferPages: true,
    pdfVersion: '1.7',
    tagged: true,
    displayTitle: true,
    lang: 'en-US',
    // XMP metadata and the output intent of sRGB.
    subset: 'PDF/A-2b',
    compress,
    info: { ...info },
    // Without this the library loads its own Helvetica.
    font: '',
  });
  claimLevelU(doc);
  for (const name of FONT_NAMES) doc.registerFont(name, FONTS[name]);
  const part = doc.struct('Document');
  doc.addStructure(part);
  return { doc, part, widths: new Map(), y: FIRST_TOP };
}

/**
 * Makes the document say that it is PDF/A-2u, whose text all has Unicode values. The library's option names levels A and B only;
 * the method behind it takes any level.
 */
function claimLevelU(doc: Doc): void {
  if (!('initPDFA' in doc) || typeof doc.initPDFA !== 'function')
    throw new Error('pdfkit has no method initPDFA, expected that of version 0.20');
  doc.initPDFA('PDF/A-2u');
}

/** Begins a new page when less than `height` points are left; true when it did. */
export function ensureSpace(sheet: Sheet, height: number): boolean {
  if (sheet.y + height <= PAGE.bottom + ROUNDING) return false;
  sheet.doc.addPage();
  sheet.y = PAGE.top;
  return true;
}

/** Draws a structure element: `P`, `H1`, `TD`, `Figure` with its description in `alt`. */
export function tagged(sheet: Sheet, type: string, draw: () => void, alt?: string): void {
  const element = sheet.doc.struct(type, alt === undefined ? {} : { alt });
  sheet.part.add(element);
  element.add(draw);
  element.end();
}

/** Draws blocks inside a structure element, such as rows of a table. */
export function withinElement(sheet: Sheet, type: string, draw: () => void): void {
  const element = sheet.doc.struct(type);
  const outer = sheet.part;
  outer.add(element);
  sheet.part = element;
  draw();
  sheet.part = outer;
  element.end();
}

/** Draws content without meaning: rules, shading, page numbers. Not inside `tagged`, because it would end that element. */
export function artifact(doc: Doc, type: 'Layout' | 'Pagination', draw: () => void): void {
  doc.markContent('Artifact', { type });
  draw();
  doc.endMarkedContent();
}

/** Width of a text, points. */
export function textWidth({ doc, widths }: Sheet, text: string, style: TextStyle): number {
  const { font, size } = style;
  const name = `${font} ${text}`;
  const known = widths.get(name);
  if (known !== undefined) return known * size;
  const width = doc.font(font).fontSize(size).widthOfString(text);
  if (widths.size < WIDTHS_MAX) widths.set(name, width / size);
  return width;
}

/** One line of text with its baseline at `baseline`; `x` is its left end, middle or right end. */
export function writeLine(
  sheet: Sheet,
  text: string,
  x: number,
  baseline: number,
  style: TextStyle,
  align: 'left' | 'center' | 'right' = 'left',
): void {
  const shown = printable(text).replaceAll(NO_BREAK, ' ');
  if (shown === '') return;
  const width = align === 'left' ? 0 : textWidth(sheet, shown, style);
  const left = align === 'left' ? x : align === 'right' ? x - width : x - width / 2;
  const { doc } = sheet;
  doc.font(style.font).fontSize(style.size).fillColor(style.color);
  doc.text(shown, left, baseline, { lineBreak: false, baseline: 'alphabetic' });
}

/** Lines of a text: broken at spaces, and inside a word only where the word is wider than a line. */
export function wrapText(sheet: Sheet, text: string, width: number, style: TextStyle): string[] {
  const space = textWidth(sheet, ' ', style);
  const lines: string[] = [];
  let line = '';
  let used = 0;
  for (const word of printable(text).split(' ')) {
    for (const piece of splitWord(sheet, word, width, style)) {
      const piece_width = textWidth(sheet, piece, style);
      const grown = line === '' ? piece_width : used + space + piece_width;
      if (line !== '' && grown > width) {
        lines.push(line);
        line = piece;
        used = piece_width;
      } else {
        line = line === '' ? piece : `${line} ${piece}`;
        used = grown;
      }
    }
  }
  if (line !== '') lines.push(line);
  return lines;
}

function splitWord(sheet: Sheet, word: string, width: number, style: TextStyle): string[] {
  if (textWidth(sheet, word, style) <= width) return [word];
  const pieces: string[] = [];
  let piece = '';
  for (const character of word) {
    if (piece !== '' && textWidth(sheet, piece + character, style) > width) {
      pieces.push(piece);
      piece = '';
    }
    piece += character;
  }
  return [...pieces, piece];
}

/** Writes lines below each other from `top` on; returns where they end. */
export function writeLines(sheet: Sheet, lines: readonly string[], x: number, top: number, style: TextStyle): number {
  for (const [k, line] of lines.entries()) writeLine(sheet, line, x, top + k * style.leading + style.size * 0.8, style);
  return top + lines.length * style.leading;
}

/** Height of a paragraph over the whole width, points. */
export function paragraphHeight(sheet: Sheet, text: string, style: TextStyle): number {
  return wrapText(sheet, text, TEXT_WIDTH, style).length * style.leading;
}

/** A paragraph over the whole width, with some space after it. */
export function paragraph(sheet: Sheet, text: string, style: TextStyle, after = 5): void {
  const lines = wrapText(sheet, text, TEXT_WIDTH, style);
  ensureSpace(sheet, lines.length * style.leading);
  const top = sheet.y;
  tagged(sheet, 'P', () => {
    sheet.y = writeLines(sheet, lines, PAGE.left, top, style) + after;
  });
}

/** Heading of a section with a rule above it, also a bookmark. Keeps the next `with_height` points on its page. */
export function heading(sheet: Sheet, text: string, with_height: number): void {
  const { doc } = sheet;
  if (sheet.y > PAGE.top) sheet.y += HEADING_GAP;
  ensureSpace(sheet, HEADING_HEIGHT + with_height);
  const top = sheet.y;
  artifact(doc, 'Layout', () => rule(doc, PAGE.left, PAGE.right, top, 0.8));
  tagged(sheet, 'H2', () => writeLine(sheet, text, PAGE.left, top + 15.5, HEADING));
  doc.outline.addItem(text);
  sheet.y = top + HEADING_HEIGHT;
}

/** Height of a section with this content height, points: for blocks that keep the section on their page. */
export function sectionHeight(content_height: number): number {
  return HEADING_GAP + HEADING_HEIGHT + content_height;
}

/** A horizontal line. */
export function rule(doc: Doc, from: number, to: number, y: number, width = 0.5, color: string = RULE): void {
  doc.moveTo(from, y).lineTo(to, y).lineWidth(width).strokeColor(color).stroke();
}

/** All bytes of the finished document. */
export async function closeSheet({ doc, part }: Sheet): Promise<Buffer> {
  part.end();
  doc.end();
  return buffer(doc);
}
