import type { LngLat } from '../data/day.ts';

const SIGNS: Readonly<Record<string, number>> = { n: 1, e: 1, s: -1, w: -1 };
const WORDS = /\b(?:geo|lat(?:itude)?|lon(?:gitude)?|lng|deg(?:rees)?)\b:?|[()/:]/g;
const MARKS: readonly (readonly [RegExp, string])[] = [
  [/[−–—]/g, '-'],
  [/[º˚]/g, '°'],
  [/''|[″”“]/g, '"'],
  [/[′’‘`]/g, "'"],
  [/\b([nsew])(?:orth|outh|ast|est)\b/g, '$1'],
  [WORDS, ' '],
];
const NUMBER = String.raw`(\d+(?:\.\d+)?)`;
const DEGREES = `([+-]?)${NUMBER}`;
const PARTS = String.raw`(?:\s*${NUMBER}\s*'?(?:\s*${NUMBER}\s*"?)?)?`;
const ANGLE = String.raw`${DEGREES}\s*[°d]?${PARTS}`;
const LETTER = '([nsew])';
/** Spellings of an angle with what stands between two of them: letter, sign, degrees, minutes, seconds, letter. */
const SPELLINGS = [
  [String.raw`${LETTER}?\s*${ANGLE}\s*${LETTER}?`, '[,;]'],
  [String.raw`${LETTER}\s*${ANGLE}()`, ''],
  [String.raw`()${ANGLE}\s*${LETTER}`, ''],
  [String.raw`()${DEGREES}\s*[°d]${PARTS}()`, ''],
  [`()${DEGREES}()()()`, String.raw`\s`],
].map(([angle, between]) => new RegExp(String.raw`^\s*${angle}\s*${between}\s*${angle}\s*$`));

/**
 * The place of coordinates in one of their usual spellings: `35.2, -97.4`, `35°13'N 97°26'W`, `N35.2 W97.4`. Without letters
 * the latitude comes first. Null for any other text.
 */
export function readCoordinates(text: string): LngLat | null {
  const plain = MARKS.reduce((before, [mark, usual]) => before.replace(mark, usual), text.toLowerCase());
  const found = SPELLINGS.map((spelling) => spelling.exec(plain)?.slice(1)).find((parts) => parts !== undefined);
  const [first, second] = found ? [angleOf(found.slice(0, 6)), angleOf(found.slice(6))] : [];
  if (!first || !second) return null;
  const isSwapped = isEastWest(first);
  if (first.letter && second.letter && isSwapped === isEastWest(second)) return null;
  const [lat, lng] = isSwapped ? [second.degrees, first.degrees] : [first.degrees, second.degrees];
  return Math.abs(lat) <= 90 && Math.abs(lng) <= 180 ? { lat, lng } : null;
}

function angleOf([before, sign, degrees, minutes = '', seconds = '', after]: (string | undefined)[]) {
  const letter = before || after;
  if ((before && after) || Number(minutes) >= 60 || Number(seconds) >= 60) return null;
  // A sign and a letter would say the direction twice.
  if (letter && sign === '-') return null;
  const size = Number(degrees) + Number(minutes) / 60 + Number(seconds) / 3600;
  return { degrees: size * (sign === '-' ? -1 : SIGNS[letter || 'n']), letter };
}

const isEastWest = ({ letter }: { letter?: string | undefined }): boolean => letter === 'e' || letter === 'w';
