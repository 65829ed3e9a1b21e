import test from 'ava';
import { printable } from '../../../api/pdf/printable.ts';

for (const [what, text, shown] of [
  ['Latin letters with marks stay', 'Cañon City, Montréal “5 E” – ¾ mile', 'Cañon City, Montréal “5 E” – ¾ mile'],
  ['marks that the fonts lack go', 'Łódź ạ', 'Lódz a'],
  ['letters that they lack become a question mark each', '日本 🧊', '?? ?'],
  ['what shows nothing or turns text around goes', 'a\u202eb\u0000c\u00add\u200be', 'abcde'],
  ['white space becomes single spaces', ' a \n\t b ', 'a b'],
  ['half of a surrogate pair becomes a question mark', 'a\ud83e b', 'a? b'],
] as const)
  test(`text for the standard fonts: ${what}`, (t) => t.is(printable(text), shown));

test('text for the standard fonts is cut with a sign that it was', (t) => {
  t.is(printable('abcdef', 6), 'abcdef');
  t.is(printable('abcdefg', 6), 'abcde…');
  t.is(printable('x'.repeat(1e6), 6).length, 6);
});
