import fs from 'node:fs/promises';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { openCatalog } from '../../api/catalog.ts';
import { openEngine } from '../../api/duckdb.ts';
import { pixelQuality } from '../../api/rules/place-quality.ts';
import { openTerrain } from '../../api/terrain.ts';
import { destination } from '../../schemas/geo/distance.ts';
import { KTLX, publishBlockage, raysOfKtlx } from '../support/data/terrain.ts';
import { scratch } from '../support/data/world.ts';

async function open(t: ExecutionContext, root: string) {
  await fs.mkdir(root, { recursive: true });
  const catalog = await openCatalog(root, 0);
  const engine = await openEngine(root);
  t.teardown(async () => {
    await catalog.close();
    await engine.close();
  });
  return { catalog, terrain: await openTerrain(engine, catalog) };
}

const HALF = raysOfKtlx([{ tilt_deg: 0.5, distance_km: 20, blocked: 0.5 }], 90, 90);

test('without a table there is no terrain model', async (t) => {
  const { terrain } = await open(t, await scratch(t));
  t.is(terrain.model(), null);
});

test('the model answers what the table says, and names its file', async (t) => {
  const root = await scratch(t);
  await publishBlockage(root, HALF, { terrain_file: 'conus.tif', terrain_step_arcsec: 3 });
  const { terrain } = await open(t, root);
  const model = terrain.model();
  t.like(model, { file: 'conus.tif', step_arcsec: 3 });
  t.deepEqual(
    [19, 20].map((km) => model?.blocked('KTLX', 90, km, 0.5)),
    [0, 0.5],
  );
  t.deepEqual([...(model?.radars ?? [])], ['KTLX']);
});

test('the model stays the same object until the table changes', async (t) => {
  const root = await scratch(t);
  await publishBlockage(root, HALF);
  const { catalog, terrain } = await open(t, root);
  const first = terrain.model();
  await publishBlockage(root, HALF);
  await catalog.refresh();
  t.is(terrain.model(), first);
  await publishBlockage(root, raysOfKtlx([{ tilt_deg: 0.5, distance_km: 20, blocked: 0.7 }], 90, 90));
  await catalog.refresh();
  t.is(terrain.model()?.blocked('KTLX', 90, 20, 0.5), 0.7);
  t.not(terrain.model()?.version, first?.version);
});

test('what is remembered of a place is that of the terrain asked with', async (t) => {
  const root = await scratch(t);
  await publishBlockage(root, raysOfKtlx([{ tilt_deg: 0.5, distance_km: 20, blocked: 0.3 }], 90, 90));
  const { terrain } = await open(t, root);
  const place = destination(KTLX, 90, 40);
  const shares = [null, terrain.model(), null].map((model) => pixelQuality(place, 5, model).components.beam_blockage);
  t.deepEqual(shares, [1, 0.7, 1]);
  t.is(pixelQuality(place, 5, terrain.model()), pixelQuality(place, 5, terrain.model()));
});

test('a table that is listed and gone is no answer rather than a wrong one', async (t) => {
  const root = await scratch(t);
  const { file } = await publishBlockage(root, HALF);
  await fs.rm(join(root, file.path));
  const { catalog } = await open(t, root);
  t.regex(catalog.failure() ?? '', /blockage-[0-9a-f]+\.parquet is listed and cannot be read/);
  t.throws(() => catalog.edition());
});
