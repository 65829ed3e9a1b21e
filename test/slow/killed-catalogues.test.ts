import { existsSync } from 'node:fs';
import fs from 'node:fs/promises';
import { join } from 'node:path';
import test from 'ava';
import { listPartitions, readCurrent, readNewest } from '../../pipeline/publish/manifests.ts';
import { copyFolder } from '../support/data/prepared.ts';
import { aroundMidnight } from '../support/data/small-world.ts';
import { assetsOf, itemsOf, walkStac } from '../support/data/stac-walk.ts';
import { deliver, filesOf, ingest, MONTH_LATER_MS, scratch } from '../support/data/world.ts';
import { type CommandSettings, command, ended, killedAt, pointsOf, start } from '../support/kill/killed.ts';

const KEPT: CommandSettings = { environment: { HAIL_CATALOGUES: 'stac' } };
const POINTS = 5;

/** Paths that the catalogue names, relative to the root; walking throws where a link leads nowhere. */
function named(root: string): string[] {
  const paths = itemsOf(walkStac(root))
    .flatMap(assetsOf)
    .map(({ path }) => path.slice(root.length + 1));
  return paths.sort();
}

async function listed(root: string): Promise<string[]> {
  const partitions = (await listPartitions(root)).all;
  const manifests = await Promise.all(partitions.map((partition) => readNewest(root, partition)));
  const files = manifests.flatMap((manifest) => manifest?.files ?? []);
  return files.flatMap(({ kind, path }) => (kind === 'state' ? [] : [path])).sort();
}

test.serial(
  'kill -9 between a commit and its catalogue, or within it, names no missing file; the next command heals it',
  async (t) => {
    const prepared = await scratch(t, 'prepared');
    await ingest(prepared, await aroundMidnight());
    const settings = { ...KEPT, now_ms: MONTH_LATER_MS };
    const copyOf = async () => {
      const root = await scratch(t);
      copyFolder(prepared, root);
      return root;
    };
    const points = await pointsOf(t, await copyOf(), ['compact'], settings);
    const near = points.flatMap((what, index) => (/stac|catalogues/.test(what) ? [index + 1] : []));
    t.true(near.length > POINTS, points.join('\n'));
    const step = (near.length - 1) / (POINTS - 1);
    for (let k = 0; k < POINTS; k++) {
      const point = near[Math.round(k * step)] as number;
      const root = await copyOf();
      t.is((await killedAt(root, ['compact'], point, settings)).signal, 'SIGKILL');
      if (existsSync(join(root, 'stac/catalog.json')))
        for (const path of named(root)) t.true(existsSync(join(root, path)), `${points[point - 1]}: ${path}`);
      const rerun = await command(root, ['compact'], settings);
      t.is(rerun.code, 0, rerun.stderr);
      t.deepEqual(named(root), await listed(root), points[point - 1]);
      await fs.rm(root, { recursive: true });
    }
  },
);

test.serial('while a writer commits, whoever follows the links always finds every file', async (t) => {
  const root = await scratch(t);
  const scans = await aroundMidnight();
  const from = await deliver(await scratch(t, 'from'), filesOf(scans));
  const writer = start(root, ['stream', '--from', from, '--every', '1'], KEPT);
  const over = ended(writer);
  let walks = 0;
  let newest: string | undefined;
  while (newest !== scans.at(-1)?.scan_id && writer.exitCode === null) {
    if (existsSync(join(root, 'stac/catalog.json'))) {
      for (const path of named(root)) t.true(existsSync(join(root, path)), path);
      walks += 1;
    }
    newest = (await readCurrent(root))?.scan_id;
  }
  writer.kill('SIGTERM');
  const { code, stderr } = await over;
  t.is(code, 0, stderr);
  t.true(walks > 3);
  t.deepEqual(named(root), await listed(root));
});
