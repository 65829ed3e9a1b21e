/** Characters of WinAnsi, which the standard fonts of PDF are encoded in, outside Latin-1. */
const WIN_ANSI_EXTRA = new Set('ƒ–—‘’‚“”„†‡•…€‰‹›ˆ™ŒœˆŠšŸŽž˜');

/** What some characters that the fonts lack are written as. */
const WRITTEN_AS: Readonly<Record<string, string>> = {
  '\u2212': '-',
  '\u2010': '-',
  '\u2011': '-',
  '\u2012': '-',
  '\u2032': "'",
  '\u2033': '"',
  '≤': '<=',
  '≥': '>=',
  '≈': '~',
  ł: 'l',
  Ł: 'L',
  đ: 'd',
  Đ: 'D',
  ı: 'i',
};

/** Text that needs nothing done. */
const PLAIN = /^[!-~]+(?:[ \u00a0][!-~]+)*$/;

/** Control, format and soft-hyphen characters: they would show nothing or turn the text around. */
const INVISIBLE = /[\p{Cc}\p{Cf}]/gu;

/**
 * Text that the standard fonts can show. White space becomes single spaces, but for spaces that do not break, invisible characters go, letters with marks that the
 * fonts lack lose them, any other character that they lack becomes `?`. With `longest`, text of more characters is cut and ends in `…`.
 */
export function printable(text: string, longest = Number.POSITIVE_INFINITY): string {
  if (text.length <= longest && PLAIN.test(text)) return text;
  // A bound before the work: place names and notes are short, what is not is cut anyway.
  const head = text.slice(0, longest === Number.POSITIVE_INFINITY ? text.length : 4 * longest);
  const spaced = head
    .normalize('NFC')
    .replace(/[^\S\u00a0]+/gu, ' ')
    .replace(INVISIBLE, '')
    .trim();
  const shown = Array.from(spaced, shownCharacter).join('');
  return shown.length > longest ? `${shown.slice(0, longest - 1)}…` : shown;
}

function shownCharacter(character: string): string {
  if (isInFont(character)) return character;
  const written = WRITTEN_AS[character];
  if (written !== undefined) return written;
  const plain = Array.from(character.normalize('NFKD')).filter(isInFont).join('');
  return plain === '' ? '?' : plain;
}

function isInFont(character: string): boolean {
  const code = character.codePointAt(0) ?? 0;
  return (code >= 0x20 && code < 0x7f) || (code >= 0xa0 && code <= 0xff) || WIN_ANSI_EXTRA.has(character);
}
