import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { detections } from '../../schemas/tables/radar.ts';
import { icebergRows, manifestRows, serveFiles } from '../support/data/iceberg-reading.ts';
import { copyFolder } from '../support/data/prepared.ts';
import { aroundMidnight } from '../support/data/small-world.ts';
import { assetsOf, itemsOf, walkStac } from '../support/data/stac-walk.ts';
import { viewTexts } from '../support/data/view-rows.ts';
import { ingest, MONTH_LATER_MS, scratch } from '../support/data/world.ts';
import { command, killedAt, pointsOf } from '../support/kill/killed.ts';

serveFiles();

const SETTINGS = { now_ms: MONTH_LATER_MS };
const POINTS = 8;

/** Every reader finds the same rows of detections, whichever edition it meets, and no missing file. */
async function isWhole(t: ExecutionContext, root: string, rows: readonly string[], point: string): Promise<void> {
  t.deepEqual((await viewTexts(root, [detections])).texts.get('detections'), rows, point);
  t.deepEqual(await icebergRows(root, detections), rows, point);
  for (const { path } of itemsOf(walkStac(root)).flatMap(assetsOf)) t.true(existsSync(path), `${point}: ${path}`);
}

test('kill -9 while a catalogue is written leaves the one before, whole; the next one is written', async (t) => {
  const prepared = await scratch(t, 'prepared');
  await ingest(prepared, await aroundMidnight());
  t.is((await command(prepared, ['catalogue'], SETTINGS)).code, 0);
  const rows = await manifestRows(prepared, detections);
  const copyOf = async () => {
    const root = await scratch(t);
    copyFolder(prepared, root);
    t.is((await command(root, ['catalogue'], SETTINGS)).code, 0);
    return root;
  };
  const points = await pointsOf(t, await copyOf(), ['catalogue'], SETTINGS);
  t.true(points.length > POINTS, points.join('\n'));
  for (let k = 0; k < POINTS; k++) {
    const point = 1 + Math.round((k * (points.length - 1)) / (POINTS - 1));
    const root = await copyOf();
    t.is((await killedAt(root, ['catalogue'], point, SETTINGS)).signal, 'SIGKILL');
    await isWhole(t, root, rows, points[point - 1] ?? '');
    t.is((await command(root, ['catalogue'], SETTINGS)).code, 0);
    await isWhole(t, root, rows, `after ${points[point - 1]}`);
    t.true(JSON.parse(readFileSync(join(root, 'catalogue.json'), 'utf8')).number >= 3);
  }
});
