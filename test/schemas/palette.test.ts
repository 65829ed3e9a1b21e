import test from 'ava';
import { SIZE_COLORS, sizeColor } from '../../schemas/palette.ts';

/** Relative luminance of an sRGB colour, WCAG 2. */
function luminance(color: string): number {
  const [r, g, b] = [1, 3, 5].map((at) => {
    const share = Number.parseInt(color.slice(at, at + 2), 16) / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  }) as [number, number, number];
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

test('larger hail is darker, so that the order reads without colour vision', (t) => {
  const bands = SIZE_COLORS.filter(({ category }) => category !== null).map(({ color }) => luminance(color));
  for (let i = 1; i < bands.length; i++) t.true(bands[i] < 0.75 * bands[i - 1]);
});

test('text reads on every colour', (t) => {
  for (const { color, ink } of SIZE_COLORS) {
    const [a, b] = [luminance(color), luminance(ink)].sort((one, other) => other - one) as [number, number];
    t.true((a + 0.05) / (b + 0.05) >= 4, `${ink} on ${color}`);
  }
});

for (const [mm, step] of [
  [0, 5],
  [9.9, 5],
  [10, 10],
  [18.9, 10],
  [19, 19],
  [150, 101],
] as const)
  test(`${mm} mm has the colour of ${step} mm`, (t) => t.is(sizeColor(mm).mm_min, step));
