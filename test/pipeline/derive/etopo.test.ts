import { readFileSync } from 'node:fs';
import fs from 'node:fs/promises';
import { gunzipSync } from 'node:zlib';
import type { ExecutionContext } from 'ava';
import { type ExaminedRadar, examineRadars } from '../../../pipeline/derive/blockage.ts';
import { openDem } from '../../../pipeline/read/dem.ts';
import { WSR88D } from '../../../schemas/reference/wsr88d.ts';
import { demFile } from '../../support/data/dem.ts';
import { sharedData, sharedTest } from '../../support/data/shared-data.ts';
import { scratch } from '../../support/data/world.ts';

/** The real heights of the earth at 20 arc-minutes, south first, from 20 E on; the last column repeats the first. */
function etopo(): number[][] {
  const text = gunzipSync(readFileSync(sharedData('terrain', 'etopo20data.gz'))).toString('latin1');
  return text
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/\s+/).map(Number));
}

async function asGeotiff(t: ExecutionContext): Promise<string> {
  const south = etopo();
  const height = (lat: number, lon: number) =>
    (south[Math.floor((lat + 90) * 3)] as number[])[Math.floor((lon - 20) * 3)];
  const path = `${await scratch(t, 'etopo')}.tif`;
  const world = { rows: 540, cols: 1080, west: 20, north: 90, step_deg: 1 / 3 };
  await fs.writeFile(path, demFile({ ...world, height, type: 'float32', deflate: true }));
  return path;
}

const SITES = ['KTLX', 'KAMX', 'KTBW', 'KMLB', 'KBYX', 'KJAX', 'KICT', 'KHNX', 'KBBX', 'KPDT', 'KHDX', 'KMTX', 'KIWA'];

sharedTest(
  'real heights, though far too coarse, shade radars below western ranges and none on the Gulf coast',
  async (t) => {
    const dem = await openDem(await asGeotiff(t), false);
    t.teardown(() => dem.close());
    const sites = WSR88D.filter(({ id }) => SITES.includes(id));
    const found = new Map<string, ExaminedRadar>();
    for await (const radar of examineRadars(sites, dem, () => {})) found.set(radar.id, radar);
    t.deepEqual([...found.keys()].sort(), SITES.toSorted());
    const shadowed = (id: string) => found.get(id)?.shadowed_share ?? Number.NaN;
    for (const id of ['KAMX', 'KTBW', 'KMLB', 'KBYX', 'KJAX', 'KTLX', 'KICT']) {
      t.is(shadowed(id), 0, id);
      t.true(
        found.get(id)?.steps.every(({ blocked }) => blocked === 0),
        id,
      );
    }
    // Below the Sierra Nevada, the Blue Mountains and the Sacramento Mountains.
    for (const id of ['KHNX', 'KBBX', 'KPDT', 'KHDX']) t.true(shadowed(id) > 0.2, `${id} ${shadowed(id)}`);
    const isEast = ({ azimuth_deg }: { azimuth_deg: number }) => azimuth_deg > 0 && azimuth_deg < 160;
    const deep = (found.get('KHNX')?.steps ?? []).filter(({ tilt_deg, blocked }) => tilt_deg === 0.5 && blocked > 0.5);
    t.true(deep.length > 0 && deep.every(isEast), 'the Sierra lies east of the San Joaquin valley');
  },
);
