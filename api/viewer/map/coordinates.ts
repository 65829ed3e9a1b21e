import type { LngLat } from '../data/day.ts';

const SIGNS: Readonly<Record<string, number>> = { n: 1, e: 1, s: -1, w: -1 };
/** A number, or the letter of a direction; the mark after a number tells degrees, minutes and seconds apart. */
const TOKEN = /([nsew])|([+-]?\d+(?:\.\d+)?)\s*(°|d|'|"|)/g;
const WORDS = /\b(?:geo:|lat(?:itude)?|lon(?:gitude)?|lng|north|south|east|west|deg(?:rees)?)\b:?/g;
const WORD_LETTERS: Readonly<Record<string, string>> = {
  north: 'n',
  south: 's',
  east: 'e',
  west: 'w',
  deg: '°',
  degrees: '°',
};
/** What may be left of coordinates without their tokens. */
const GAPS = /^[\s,;:/()]*$/;
const PARTS_MAX = 3;

type Token =
  | { readonly letter: string }
  | { readonly value: number; readonly negative: boolean; readonly mark: string };

/** One angle: up to three numbers, and the letter of its direction if it has one. */
interface Angle {
  readonly degrees: number;
  readonly letter: string | null;
}

/**
 * The place of coordinates in one of their usual spellings: `35.2, -97.4`, `35°13'N 97°26'W`, `N35.2 W97.4`. Without letters
 * the latitude comes first. Null for any other text.
 */
export function readCoordinates(text: string): LngLat | null {
  const plain = straightened(text);
  if (!GAPS.test(plain.replace(TOKEN, ''))) return null;
  const halves = halvesOf(plain);
  const [first, second] = halves?.map(angleOf) ?? [];
  if (!first || !second) return null;
  const isSwapped = isEastWest(first);
  if (first.letter && second.letter && isSwapped === isEastWest(second)) return null;
  const [lat, lng] = isSwapped ? [second.degrees, first.degrees] : [first.degrees, second.degrees];
  return Math.abs(lat) <= 90 && Math.abs(lng) <= 180 ? { lat, lng } : null;
}

/** Lower case, with one sign for each kind of mark. */
function straightened(text: string): string {
  return text
    .toLowerCase()
    .replace(/[−–—]/g, '-')
    .replace(/[º˚]/g, '°')
    .replace(/''|[″”“]/g, '"')
    .replace(/[′’‘`]/g, "'")
    .replace(WORDS, (word) => WORD_LETTERS[word.replace(':', '')] ?? ' ');
}

/** Tokens of both angles; null where they cannot be told apart. */
function halvesOf(plain: string): [Token[], Token[]] | null {
  const pieces = plain.split(/[,;]/).filter((piece) => piece.trim() !== '');
  if (pieces.length > 2) return null;
  if (pieces.length === 2) return [tokensOf(pieces[0]), tokensOf(pieces[1])];
  const tokens = tokensOf(plain);
  const at = splitAt(tokens);
  return at === null ? null : [tokens.slice(0, at), tokens.slice(at)];
}

/** Where the second angle begins. */
function splitAt(tokens: readonly Token[]): number | null {
  const letters = tokens.flatMap((token, i) => ('letter' in token ? [i] : []));
  if (letters.length === 2) return letters[0] === 0 ? letters[1] : letters[0] + 1;
  if (letters.length > 0) return null;
  if (tokens.length === 2) return 1;
  const degrees = tokens.flatMap((token, i) =>
    'mark' in token && (token.mark === '°' || token.mark === 'd') ? [i] : [],
  );
  return degrees.length === 2 && degrees[0] === 0 ? degrees[1] : null;
}

function tokensOf(piece: string): Token[] {
  return [...piece.matchAll(TOKEN)].map(([, letter, number, mark]) =>
    letter === undefined ? { value: Math.abs(Number(number)), negative: number.startsWith('-'), mark } : { letter },
  );
}

function angleOf(tokens: readonly Token[]): Angle | null {
  const letters = tokens.flatMap((token) => ('letter' in token ? [token.letter] : []));
  const numbers = tokens.flatMap((token) => ('letter' in token ? [] : [token]));
  const [degrees, ...parts] = numbers;
  if (!degrees || letters.length > 1 || numbers.length > PARTS_MAX) return null;
  if (parts.some(({ value, negative }) => negative || value >= 60)) return null;
  const letter = letters[0] ?? null;
  // A sign and a letter would say the direction twice.
  if (letter !== null && degrees.negative) return null;
  const sign = letter === null ? (degrees.negative ? -1 : 1) : SIGNS[letter];
  const size = numbers.reduce((sum, { value }, i) => sum + value / 60 ** i, 0);
  return { degrees: sign * size, letter };
}

function isEastWest({ letter }: Angle): boolean {
  return letter === 'e' || letter === 'w';
}
