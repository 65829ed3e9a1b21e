import test from 'ava';
import { BASEMAPS, MAP_REFLECTIVITY_COLORS, MAP_SIZE_COLORS, SIZE_COLORS, sizeColor } from '../../schemas/palette.ts';

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

/** Contrast of two colours, WCAG 2. */
function contrast(one: string, other: string): number {
  const [a, b] = [luminance(one), luminance(other)].sort((x, y) => y - x) as [number, number];
  return (a + 0.05) / (b + 0.05);
}

for (const scheme of ['light', 'dark'] as const) {
  test(`text reads on every colour of sizes: ${scheme}`, (t) => {
    for (const { color, ink } of MAP_SIZE_COLORS[scheme]) t.true(contrast(color, ink) >= 4, `${ink} on ${color}`);
  });

  test(`names on the map and words of the page read on land and paper: ${scheme}`, (t) => {
    const { land, paper, neighbour, ink, town, quiet, faint, warning } = BASEMAPS[scheme];
    for (const ground of [land, paper, neighbour]) {
      for (const text of [ink, town, quiet]) t.true(contrast(text, ground) >= 4.5, `${text} on ${ground}`);
      t.true(contrast(faint, ground) >= 3.8, `${faint} on ${ground}`);
    }
    t.true(contrast(warning, paper) >= 4.5);
  });

  test(`weak echoes are nearer to the land than hail and strong echoes are: ${scheme}`, (t) => {
    const { land } = BASEMAPS[scheme];
    const [weakest, ...more] = MAP_REFLECTIVITY_COLORS[scheme];
    for (const { color } of more) t.true(contrast(weakest?.color ?? '', land) <= contrast(color, land));
    const [small, , nickel] = MAP_SIZE_COLORS[scheme];
    t.true(contrast(small?.color ?? '', land) < contrast(nickel?.color ?? '', land));
  });
}

for (const [mm, step] of [
  [0, 5],
  [9.9, 5],
  [10, 10],
  [18.9, 10],
  [19, 19],
  [150, 101],
] as const)
  test(`${mm} mm has the colour of ${step} mm`, (t) => t.is(sizeColor(mm).mm_min, step));
