import test from 'ava';
import tables from '../../../data/reference/spc-categories.json' with { type: 'json' };
import {
  categoryName,
  categoryRank,
  HAIL_CONTOURS_PCT,
  hailIntensityLabels,
  SPC_CATEGORIES,
} from '../../../schemas/reference/spc-categories.ts';

/** Last minute of the significant area, first minute of the intensity groups. */
const OLD = Date.parse('2026-03-03T16:29:00Z');
const NEW = Date.parse('2026-03-03T16:30:00Z');

/**
 * Category that a hail contour makes by itself on day 1, inside an area of intensity or outside of any (`null`), by the reference
 * table; null where the table has none or is not certain. Throws RangeError for a contour or label that the table does not hold.
 */
function hailCategory(at_ms: number, probability_pct: number, intensity: string | null): string | null {
  const table = tables.hail.find(
    ({ from, until }) => (from === null || at_ms >= Date.parse(from)) && (until === null || at_ms < Date.parse(until)),
  );
  const rows: Readonly<Record<string, Readonly<Record<string, string | null>>>> =
    table?.category_by_probability_pct ?? {};
  const category = rows[intensity ?? 'none']?.[String(probability_pct)];
  if (category === undefined) throw new RangeError(`${probability_pct} % in ${intensity ?? 'no area'}`);
  return category;
}

test('categories rank from thunderstorms to high, and every one has a name', (t) => {
  t.deepEqual(SPC_CATEGORIES.map(categoryRank), [1, 2, 3, 4, 5, 6]);
  t.true(SPC_CATEGORIES.every((label) => categoryName(label) !== null));
  t.deepEqual([categoryName('SIGN'), categoryRank('SIGN')], [null, null]);
});

test('significant hail is the SIGN area until 3 March 2026, 16:30 UTC, and the intensity groups since', (t) => {
  t.deepEqual(hailIntensityLabels(OLD), ['SIGN']);
  t.deepEqual(hailIntensityLabels(NEW), ['CIG1', 'CIG2']);
});

for (const [when, at, intensity, expected] of [
  ['before', OLD, null, ['MRGL', 'SLGT', 'ENH', 'ENH', null]],
  ['before', OLD, 'SIGN', [null, null, null, 'MDT', 'MDT']],
  ['since', NEW, null, ['MRGL', 'SLGT', 'SLGT', 'ENH', 'ENH']],
  ['since', NEW, 'CIG1', ['MRGL', 'SLGT', 'ENH', 'ENH', 'MDT']],
  ['since', NEW, 'CIG2', ['SLGT', 'ENH', 'ENH', 'MDT', 'MDT']],
] as const)
  test(`hail contours ${when} March 2026 in ${intensity ?? 'no area'} make ${expected.join(', ')}`, (t) => {
    t.deepEqual(
      HAIL_CONTOURS_PCT.map((contour) => hailCategory(at, contour, intensity)),
      [...expected],
    );
  });

test('a higher intensity never lowers a category', (t) => {
  for (const contour of HAIL_CONTOURS_PCT) {
    const ranks = [null, 'CIG1', 'CIG2'].map((label) => categoryRank(hailCategory(NEW, contour, label) ?? '') ?? 0);
    t.deepEqual(
      ranks,
      ranks.toSorted((a, b) => a - b),
    );
  }
});

test('a contour or an area that a table does not know is refused', (t) => {
  t.throws(() => hailCategory(NEW, 20, null), { instanceOf: RangeError });
  t.throws(() => hailCategory(NEW, 15, 'SIGN'), { instanceOf: RangeError });
  t.throws(() => hailCategory(OLD, 15, 'CIG1'), { instanceOf: RangeError });
});
