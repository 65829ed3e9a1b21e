import { createHash } from 'node:crypto';
import { existsSync, readFileSync, statSync } from 'node:fs';
import fs from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import test, { type ExecutionContext } from 'ava';
import { asyncBufferFromFile, parquetMetadataAsync } from 'hyparquet';
import create from 'stac-js';
import validate from 'stac-node-validator';
import { cataloguesOf } from '../../../pipeline/catalogues/catalogues.ts';
import { filesBelow } from '../../../pipeline/files.ts';
import { listPartitions, readNewest } from '../../../pipeline/publish/manifests.ts';
import { LATTICE } from '../../../schemas/geo/lattice.ts';
import { aroundMidnight, scansBetween } from '../../support/data/small-world.ts';
import { stacSchema } from '../../support/data/stac-schemas.ts';
import { assetsOf, type FoundAsset, itemsOf, type StacFile, walkStac } from '../../support/data/stac-walk.ts';
import { MONTH_LATER_MS, type OpenSettings, onRoot, publishedRoot, scratch } from '../../support/data/world.ts';

const DATES = ['2026-05-01', '2026-05-02'];

/** Opens a root that keeps a STAC catalogue. */
const withStac = (settings: OpenSettings = {}): OpenSettings => ({ ...settings, catalogues: cataloguesOf(['stac']) });

/** A root with two open dates, whose catalogue was made when it was opened. */
async function openDates(t: ExecutionContext): Promise<string> {
  const root = await publishedRoot(t, await aroundMidnight(), { reflectivity_keep_hours: 48 });
  await onRoot(root, withStac(), async () => {});
  return root;
}

async function faultsOf(files: readonly StacFile[]): Promise<string[]> {
  const faults: string[] = [];
  for (const { path, raw } of files) {
    const { valid, skipped, results } = await validate(raw, { loader: stacSchema, verbose: true });
    if (valid === true && !skipped) continue;
    const all = [...results.core, ...Object.values(results.extensions).flat()];
    faults.push(`${path}: ${all.map(({ instancePath, message }) => `${instancePath} ${message}`).join('; ')}`);
  }
  return faults;
}

/** Paths of the published files as the newest manifests list them, but for the states of the pipeline. */
async function listedFiles(root: string): Promise<Map<string, number>> {
  const listed = new Map<string, number>();
  for (const partition of (await listPartitions(root)).all)
    for (const { kind, path, rows } of (await readNewest(root, partition))?.files ?? [])
      if (kind !== 'state') listed.set(join(root, path), kind === 'table' ? rows : -1);
  return listed;
}

/** What an asset says of its file, counted by a reader that knows nothing of the pipeline. */
async function rowsIn({ path, type }: FoundAsset): Promise<number> {
  if (type !== 'application/vnd.apache.parquet') return -1;
  return Number((await parquetMetadataAsync(await asyncBufferFromFile(path))).num_rows);
}

/** The catalogue lists exactly what the manifests list: rows, sizes and checksums are those of the files. */
async function sameAsManifests(t: ExecutionContext, root: string): Promise<void> {
  const assets = itemsOf(walkStac(root)).flatMap(assetsOf);
  const rows = await Promise.all(assets.map(async (asset) => [asset.path, await rowsIn(asset)] as const));
  t.deepEqual(new Map(rows.toSorted()), new Map([...(await listedFiles(root))].sort()));
  for (const asset of assets) {
    t.is(statSync(asset.path).size, asset['file:size'], asset.path);
    t.is(`1220${createHash('sha256').update(readFileSync(asset.path)).digest('hex')}`, asset['file:checksum']);
    t.is(asset['table:row_count'] ?? -1, await rowsIn(asset), asset.path);
  }
}

test('every file of the catalogue is valid by the specification and by its extensions', async (t) => {
  const files = walkStac(await openDates(t));
  t.true(itemsOf(files).length >= 4);
  t.deepEqual(await faultsOf(files), []);
});

test('the validator finds an item without its time, and an asset with a wrong checksum', async (t) => {
  const [item] = itemsOf(walkStac(await openDates(t)), 'hail');
  const broken = structuredClone(item?.raw ?? {}) as {
    properties: { datetime?: null };
    assets: Record<string, object>;
  };
  delete broken.properties.datetime;
  Object.assign(broken.assets.detections ?? {}, { 'file:checksum': 'abc' });
  const [fault = ''] = await faultsOf([{ ...(item as StacFile), raw: broken }]);
  t.regex(fault, /\/properties must have required property 'datetime'/);
  t.regex(fault, /\/assets\/detections\/file:checksum must match pattern/);
});

test('the assets are the files that the manifests list, with their rows, sizes and checksums', async (t) => {
  await sameAsManifests(t, await openDates(t));
});

test('a catalogue that follows every commit lists what one lists that is made afterwards', async (t) => {
  const [followed, later] = [await scratch(t, 'followed'), await scratch(t, 'later')];
  const scans = await aroundMidnight();
  const said = async (root: string, settings: OpenSettings) => {
    await onRoot(root, { ...settings, each_scan: true }, async ({ root: { path }, session }) => {
      for (const scan of scans) {
        await session.ingest(scan.files);
        if (settings.catalogues !== undefined) await sameAsManifests(t, path);
      }
      await session.finishDates();
    });
  };
  await said(followed, withStac());
  await said(later, {});
  t.false(existsSync(join(later, 'stac')));
  await onRoot(later, withStac(), async () => {});
  const texts = async (root: string) => {
    const names = await filesBelow(join(root, 'stac'));
    return Promise.all(names.map(async (name) => [name, await fs.readFile(join(root, 'stac', name), 'utf8')]));
  };
  t.deepEqual(await texts(followed), await texts(later));
});

test('closed dates and their month have items of their own', async (t) => {
  const root = await openDates(t);
  await onRoot(root, withStac({ now_ms: MONTH_LATER_MS }), async ({ root: open }) => {
    for (const date of DATES) await open.compactDay(date, MONTH_LATER_MS);
    await open.compactMonth('2026-05', MONTH_LATER_MS);
  });
  await sameAsManifests(t, root);
  const files = walkStac(root);
  t.deepEqual(await faultsOf(files), []);
  const [month, ...more] = itemsOf(files, 'hail-months');
  t.is(more.length, 0);
  t.like(month?.properties, { start_datetime: '2026-05-01T00:00:00Z', end_datetime: '2026-05-31T23:59:59Z' });
  t.deepEqual(
    itemsOf(files, 'hail').map(({ properties, assets = {} }) => [properties?.['hail:closed'], 'day-max' in assets]),
    [
      [true, true],
      [true, true],
    ],
  );
});

test('nothing in the catalogue names a file that the sweep deletes', async (t) => {
  const root = await openDates(t);
  const old_s = (Date.now() - 86_400_000) / 1000;
  await onRoot(root, withStac({ now_ms: MONTH_LATER_MS }), async ({ root: open }) => {
    for (const date of DATES) await open.compactDay(date, MONTH_LATER_MS);
    for (const name of await filesBelow(root)) await fs.utimes(join(root, name), old_s, old_s);
    t.true((await open.sweep(Date.now(), null)).files > 0);
  });
  await sameAsManifests(t, root);
});

test('a date that was cleared is no longer in the catalogue, nor on its disk; the last one takes the collection with it', async (t) => {
  const root = await openDates(t);
  const [first = '', second = ''] = DATES;
  await onRoot(root, withStac(), async ({ root: open }) => {
    await open.clear(first, MONTH_LATER_MS);
    t.deepEqual(
      itemsOf(walkStac(root)).map(({ id }) => id),
      [second, `${second}-tiles`],
    );
    t.false((await filesBelow(join(root, 'stac'))).some((name) => name.includes(first)));
    await open.clear(second, MONTH_LATER_MS);
    t.deepEqual(walkStac(root).length, 1);
    t.deepEqual(await filesBelow(join(root, 'stac')), ['catalog.json']);
  });
});

test('an item says its storm date, its span in UTC, its provenance and the box of its rows', async (t) => {
  const root = await scratch(t);
  const scans = await scansBetween('23:54', '00:02');
  await onRoot(root, withStac({ storm_day_start_hour: 12 }), async ({ session }) => {
    await session.ingest(scans.flatMap(({ files }) => files));
    await session.finishDates();
  });
  const [item, ...more] = itemsOf(walkStac(root), 'hail');
  t.is(more.length, 0);
  const [first, last] = [scans[0]?.time_ms ?? 0, scans.at(-1)?.time_ms ?? 0];
  t.like(item?.properties, {
    datetime: null,
    start_datetime: new Date(first).toISOString().replace('.000', ''),
    end_datetime: new Date(last).toISOString().replace('.000', ''),
    'proj:code': 'EPSG:4326',
    'hail:storm_date': DATES[0],
    'hail:storm_day_start_hour': 12,
    'hail:source': 'simulated',
    'hail:bbox_of': 'rows',
  });
  const [west = 0, south = 0, east = 0, north = 0] = item?.bbox ?? [];
  const box = (await readNewest(root, DATES[0] ?? ''))?.files.find(({ table }) => table === 'day-max')?.bbox ?? [
    0, 0, 0, 0,
  ];
  t.true(west < box[0] && south < box[1] && east > box[2] && north > box[3]);
  t.true(west > LATTICE.bbox[0] && east < LATTICE.bbox[2]);
});

test('the extent of a collection is that of its items, and its columns are described', async (t) => {
  const files = walkStac(await openDates(t));
  const hail = files.find(({ type, id }) => type === 'Collection' && id === 'hail');
  const items = itemsOf(files, 'hail');
  const edges = (at: number) => items.map(({ bbox }) => bbox?.[at] ?? Number.NaN);
  t.deepEqual(hail?.extent?.spatial.bbox, [
    [Math.min(...edges(0)), Math.min(...edges(1)), Math.max(...edges(2)), Math.max(...edges(3))],
  ]);
  const times = items.flatMap(({ properties = {} }) => [properties.start_datetime, properties.end_datetime]).sort();
  t.deepEqual(hail?.extent?.temporal.interval, [[times[0], times.at(-1)]]);
  const { item_assets } = hail as unknown as { item_assets: Record<string, { 'table:columns'?: object[] }> };
  t.like(
    item_assets.detections?.['table:columns']?.find(
      (column) => 'name' in column && column.name === 'estimated_size_mm',
    ),
    {
      type: 'double',
      unit: 'mm',
    },
  );
});

test('a commit writes the files of its own date alone', async (t) => {
  const root = await openDates(t);
  const times = async () => {
    const names = await filesBelow(join(root, 'stac'));
    return new Map(
      await Promise.all(names.map(async (name) => [name, (await fs.stat(join(root, 'stac', name))).ino] as const)),
    );
  };
  const before = await times();
  await onRoot(root, withStac(), async ({ root: open }) => {
    await open.derive(DATES[1] ?? '', MONTH_LATER_MS);
  });
  const written = [...(await times())].filter(([name, inode]) => before.get(name) !== inode).map(([name]) => name);
  t.deepEqual(written.sort(), ['hail-tiles/2026/2026-05-02-tiles.json', 'hail/2026/2026-05-02.json']);
});

test('a second reader, stac-js, follows the links from file to file and finds the assets', async (t) => {
  const root = await openDates(t);
  const paths: string[] = [];
  const queue = [pathToFileURL(join(root, 'stac/catalog.json')).href];
  for (const address of queue) {
    const stac = create(JSON.parse(readFileSync(new URL(address), 'utf8')), false);
    stac.setAbsoluteUrl(address);
    if (stac.isItem) paths.push(...stac.getAssets().map((asset) => fileURLToPath(asset.getAbsoluteUrl())));
    const below = stac.links.filter(({ rel }) => rel === 'child' || rel === 'item');
    queue.push(...below.map((link) => link.getAbsoluteUrl()));
  }
  t.deepEqual(paths.sort(), [...(await listedFiles(root)).keys()].sort());
});
