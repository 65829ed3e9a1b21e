import anyAscii from 'any-ascii';
import { GLYPHS } from './fonts.ts';

/** Text that needs nothing done. */
const PLAIN = /^[!-~]+(?:[ \u00a0][!-~]+)*$/;

/** Control, format and unpaired surrogate characters: they would show nothing or turn the text around. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Cs}]/gu;

/** Characters that are drawn where the fonts have them: letters that run from left to right, figures, signs; no marks by themselves. */
const DRAWN = /^(?![\p{M}\ufff9-\ufffd])[\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}\p{Script=Common}]$/u;

/**
 * Text that the fonts can draw. White space becomes single spaces, except spaces that do not break; invisible characters go. What
 * the fonts lack is written in Latin letters: a letter with unusual marks without them, another script, an emoji by its name; what
 * has no such form goes. With `longest`, text of more characters is cut and ends in `…`.
 */
export function printable(text: string, longest = Number.POSITIVE_INFINITY): string {
  if (text.length <= longest && PLAIN.test(text)) return text;
  // A bound before the work: place names and notes are short, what is not is cut anyway.
  const head = text.slice(0, longest === Number.POSITIVE_INFINITY ? text.length : 4 * longest);
  const shown = Array.from(visible(head), (character) => (isDrawn(character) ? character : inLatinLetters(character)))
    .join('')
    .trim();
  return shown.length > longest ? `${shown.slice(0, longest - 1)}…` : shown;
}

/** Whether `printable` writes any character of a text as others. */
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
