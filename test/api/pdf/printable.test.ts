import test from 'ava';
import { FONT_NAMES, FONTS } from '../../../api/pdf/fonts.ts';
import { isTransliterated, printable } from '../../../api/pdf/printable.ts';

for (const [what, text, shown] of [
  [
    'letters and signs that they have stay',
    'Cañon City, Łódź ạ, “5 E” – ¾ mile ≤ 2',
    'Cañon City, Łódź ạ, “5 E” – ¾ mile ≤ 2',
  ],
  ['so do Greek and Cyrillic', 'Αθήνα, ул. Тверская', 'Αθήνα, ул. Тверская'],
  ['marks that they lack go', 'z̷a b̤', 'za b'],
  ['Chinese and Japanese are written in Latin letters', '东京 とうきょう', 'DongJing toukiyou'],
  ['Korean', '서울', 'SeoUl'],
  ['Devanagari and Thai', 'दिल्ली กรุงเทพ', 'dilli krungethph'],
  ['Arabic and Hebrew, from left to right', 'شارع 26 תל', 'shr` 26 tl'],
  ['a picture by its name', '🧊 👍🏽', ':ice_cube: :thumbsup:'],
  ['what shows nothing or turns text around goes', 'a\u202eb\u0000c\u00add\u200be', 'abcde'],
  ['white space becomes single spaces', ' a \n\t b ', 'a b'],
  ['half of a surrogate pair goes', 'a\ud83e b', 'a b'],
] as const)
  test(`text for the fonts: ${what}`, (t) => t.is(printable(text), shown));

test('text for the fonts is cut with a sign that it was', (t) => {
  t.is(printable('abcdef', 6), 'abcdef');
  t.is(printable('abcdefg', 6), 'abcde…');
  t.is(printable('x'.repeat(1e6), 6).length, 6);
});

test('whatever the text, every character that is left has a glyph in both text fonts', (t) => {
  const all = Array.from({ length: 0x11_0000 / 0x100 }, (_, block) =>
    Array.from({ length: 0x100 }, (_, k) => 0x100 * block + k)
      .map((code) => String.fromCodePoint(code))
      .join(' '),
  );
  const shown = new Set(all.flatMap((text) => Array.from(printable(text))));
  const lacking = FONT_NAMES.filter((name) => name !== 'Cousine').flatMap((name) =>
    [...shown].filter((character) => !FONTS[name].hasGlyphForCodePoint(character.codePointAt(0) ?? 0)),
  );
  t.deepEqual(lacking, []);
  t.true(shown.size > 900, String(shown.size));
  t.notRegex([...shown].join(''), /[\p{M}\p{Script=Hebrew}\p{Script=Arabic}]/u);
});

test('a text is said to be transliterated where any of its letters is drawn as others', (t) => {
  t.deepEqual(['Łódź', 'Тверская', ' a\u200b b ', '東京', 'A 👍', 'z̷a'].map(isTransliterated), [
    false,
    false,
    false,
    true,
    true,
    true,
  ]);
});
