import anyAscii from 'any-ascii';
import { GLYPHS } from './fonts.ts';

/** Text that needs no change. */
const PLAIN = /^[!-~]+(?:[ \u00a0][!-~]+)*$/;

/** Control, format and unpaired surrogate characters: invisible, or they change the direction of the text. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Cs}]/gu;

/** Characters that are drawn where the fonts have them: left-to-right letters, figures, signs; no combining marks alone. */
const DRAWN = /^(?![\p{M}\ufff9-\ufffd])[\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}\p{Script=Common}]$/u;

/**
 * Text that the fonts can draw. White space becomes single spaces, except no-break spaces; invisible characters are removed.
 * Characters that the fonts lack are written in Latin letters: unusual marks are dropped, other scripts transliterated, an emoji
 * becomes its name; characters without such a form are removed. A text longer than `longest` characters is cut and ends in `…`.
 */
export function printable(text: string, longest = Number.POSITIVE_INFINITY): string {
  if (text.length <= longest && PLAIN.test(text)) return text;
  // Bounds the work: the rest would be cut anyway.
  const head = text.slice(0, longest === Number.POSITIVE_INFINITY ? text.length : 4 * longest);
  const shown = Array.from(visible(head), (character) => (isDrawn(character) ? character : inLatinLetters(character)))
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
