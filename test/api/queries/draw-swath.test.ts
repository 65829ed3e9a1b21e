import test from 'ava';
import { drawSwath } from '../../../api/queries/draw-swath.ts';
import { drawTiers, type MaximumPixels } from '../../../api/rules/swath-tiers.ts';

/** A blob of so many pixels across, from 40 N, 100 W. */
function blob(across: number): MaximumPixels {
  const all = Array.from({ length: across * across }, (_, i) => i);
  return {
    row: Uint16Array.from(all, (i) => 1500 + Math.floor(i / across)),
    col: Uint16Array.from(all, (i) => 3000 + (i % across)),
    mm: Float64Array.from(all, (i) => 19 + ((i * 7919) % 60)),
  };
}

test('the thread draws what would be drawn here', async (t) => {
  for (const simplify_m of [0, 500, 5000])
    t.deepEqual(await drawSwath(blob(12), 19, simplify_m), drawTiers(blob(12), 19, simplify_m));
});

test('drawings asked for at once each get their own answer', async (t) => {
  const sizes = [3, 9, 1, 6];
  const drawn = await Promise.all(sizes.map((across) => drawSwath(blob(across), 19, 0)));
  t.deepEqual(
    drawn.map(([nickel]) => nickel?.area_km2),
    sizes.map((across) => drawTiers(blob(across), 19, 0)[0]?.area_km2),
  );
});

test('other work goes on while a large swath is drawn', async (t) => {
  await drawSwath(blob(2), 19, 0); // the thread runs
  let turns = 0;
  const timer = setInterval(() => {
    turns++;
  }, 1);
  await drawSwath(blob(250), 19, 500);
  clearInterval(timer);
  t.true(turns > 5, `${turns} turns`);
});
