import fs from 'node:fs/promises';
import { join } from 'node:path';
import test from 'ava';
import type { SourceFile } from '../../pipeline/sources/names.ts';
import { contentOfFiles, logicalContent, sameContent } from '../support/data/content.ts';
import { MONTH_LATER_MS, NOW_MS, onRoot, rawScans, SCRATCH } from '../support/data/world.ts';
import { faultsOf } from '../support/kill/killed.ts';

/** Minimal standard generator: the same order for the same seed. */
function generator(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state * 48_271) % 2_147_483_647;
    return state % below;
  };
}

function shuffled<Item>(items: readonly Item[], draw: (below: number) => number): Item[] {
  const order = [...items];
  for (let last = order.length - 1; last > 0; last--) {
    const other = draw(last + 1);
    [order[last], order[other]] = [order[other] as Item, order[last] as Item];
  }
  return order;
}

/** MESH and VIL of the evening with a gap of more than 30 minutes in it. */
async function files(): Promise<SourceFile[]> {
  const scans = (await rawScans()).filter((_, index) => index < 4 || (index >= 17 && index < 27));
  return scans.flatMap((scan) => scan.files.filter(({ product }) => product === 'MESH' || product === 'VIL'));
}

for (let seed = 1; seed <= 4; seed++)
  test(`files that arrive in any order, in any pieces, over any number of runs, give the content of the right order (order ${seed})`, async (t) => {
    const draw = generator(1000 * seed);
    const given = await files();
    const expected = await contentOfFiles(given, { now_ms: seed % 3 === 0 ? MONTH_LATER_MS : NOW_MS });
    const root = await fs.mkdtemp(join(SCRATCH, 'hail-arrival-'));
    t.teardown(() => fs.rm(root, { recursive: true, force: true }));
    const left = shuffled(given, draw);
    while (left.length > 0) {
      // Sometimes the date is over, is closed by this run, and what comes later opens it again.
      const now_ms = seed % 3 === 0 ? MONTH_LATER_MS : NOW_MS;
      await onRoot(root, { each_scan: draw(2) === 0, now_ms }, async ({ session }) => {
        for (let run = 1 + draw(3); run > 0 && left.length > 0; run--) {
          const piece = left.splice(0, 1 + draw(5));
          // Some come again.
          const again =
            draw(3) === 0 ? [given[draw(given.length)] as SourceFile].filter((file) => !left.includes(file)) : [];
          await session.ingest([...piece, ...again]);
          if (draw(3) === 0) await session.finishDates();
        }
      });
      t.deepEqual(await faultsOf(root), []);
    }
    await onRoot(root, { now_ms: seed % 3 === 0 ? MONTH_LATER_MS : NOW_MS }, ({ session }) => session.finishDates());
    sameContent(t, await logicalContent(root), expected);
  });
