import test from 'ava';
import type { HailField } from '../../../pipeline/grid.ts';
import { kmPerDegree } from '../../../pipeline/track/local-plane.ts';
import { velocityOf } from '../../../pipeline/track/motion.ts';
import { patternMotion } from '../../../pipeline/track/pattern-motion.ts';
import { rowLat } from '../../../schemas/geo/lattice.ts';
import { draw, drawTenths } from '../../support/data/draw.ts';

const SIDE = 200;
const CENTRES = [
  [40, 50],
  [60, 150],
  [150, 60],
  [140, 140],
] as const;

/** Four storms of 60 mm, moved by pixels. */
function storms(south: number, east: number): HailField {
  const rows = Array.from({ length: SIDE }, (_, r) =>
    Array.from({ length: SIDE }, (_, c) => {
      const mm = CENTRES.map(([y, x]) => 60 * Math.exp(-((r - y - south) ** 2 + (c - x - east) ** 2) / 18));
      const tenths = Math.round(10 * Math.max(...mm));
      return tenths >= 20 ? tenths : 0;
    }),
  );
  return drawTenths(rows);
}

for (const [south, east] of [
  [0, 0],
  [1, 2],
  [-2, 1],
  [0.5, 1.5],
  [-1.3, -0.4],
] as const)
  test(`storms that moved ${south} pixels south and ${east} east in two minutes are found to have done so`, (t) => {
    const heading = patternMotion(storms(0, 0), storms(south, east), 2);
    const velocity = heading && velocityOf(heading);
    const km = kmPerDegree(rowLat(1600));
    t.true(Math.abs((velocity?.north ?? Number.NaN) + (south * 0.01 * km.north) / 2) < 0.05);
    t.true(Math.abs((velocity?.east ?? Number.NaN) - (east * 0.01 * km.east) / 2) < 0.05);
  });

test('fields without resemblance, without pixels or too far apart in time say nothing', (t) => {
  const dry = draw('. . .');
  t.is(patternMotion(storms(0, 0), dry, 2), null);
  t.is(patternMotion(dry, storms(0, 0), 2), null);
  t.is(patternMotion(storms(0, 0), storms(0, 1), 11), null);
  t.is(patternMotion(storms(0, 0), storms(0, 1), 0), null);
});
