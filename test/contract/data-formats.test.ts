import fs from 'node:fs/promises';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { openCatalog } from '../../api/published/catalog.ts';
import { listEvents } from '../../api/routes/events.ts';
import { getHailCurrent } from '../../api/routes/hail-current.ts';
import { getHealth, readyz } from '../../api/routes/health.ts';
import { openEngine } from '../../pipeline/duckdb.ts';
import { readNewest } from '../../pipeline/publish/manifests.ts';
import { verifyRoot } from '../../pipeline/publish/verify.ts';
import { DATA_FORMAT } from '../../schemas/data-format.ts';
import { headOf } from '../../schemas/head.ts';
import { layout } from '../../schemas/layout.ts';
import type { Manifest } from '../../schemas/manifest.ts';
import { RELEASE } from '../../schemas/release.ts';
import type { Health } from '../../schemas/resources/health.ts';
import { onRoot, publishedRoot, scansBetween, scratch } from '../support/data/world.ts';
import { faultsOf } from '../support/kill/killed.ts';
import { startService } from '../support/service/service.ts';

const DATE = '2026-05-02';
const EVENTS = `/v1/events?date_start=${DATE}&date_end=${DATE}&bbox=-98,34.5,-96,36`;
const CURRENT = '/v1/hail/current?lat=35.2&lon=-97&radius_km=100';
const OTHER = DATA_FORMAT + 1;
const reasonFor = (program: string) =>
  `has data format ${OTHER}, and ${program} ${RELEASE} reads ${DATA_FORMAT}: make the data again from its archive/, by 'hail-pipeline ingest --from OLD-ROOT/archive' with an empty HAIL_DATA`;
const REFUSED = `data root: root.json ${reasonFor('hail-api')}`;

type Name = Record<string, unknown>;

async function nameOf(root: string): Promise<Name> {
  return JSON.parse(await fs.readFile(join(root, layout.root), 'utf8'));
}

async function rename(root: string, change: (name: Name) => Name): Promise<void> {
  await fs.writeFile(join(root, layout.root), JSON.stringify(change(await nameOf(root))));
}

/** Every file below a root with its bytes, to see that a refusal changed nothing. */
async function contentOf(root: string): Promise<Map<string, string>> {
  const names = await fs.readdir(root, { recursive: true, withFileTypes: true });
  const files = names.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  return new Map(await Promise.all(files.map(async (path) => [path, await fs.readFile(path, 'base64')] as const)));
}

async function serve(t: ExecutionContext, data_root: string) {
  const service = await startService({
    endpoints: [getHealth, getHailCurrent, listEvents],
    data_root,
    public_routes: (services) => [readyz(services)],
  });
  t.teardown(() => service.close());
  return service;
}

test('a new root has the data format of this release', async (t) => {
  const root = await scratch(t);
  await onRoot(root, {}, async () => {});
  t.is((await nameOf(root)).format, DATA_FORMAT);
});

test('a root that lost its name is refused', async (t) => {
  const root = await publishedRoot(t, await scansBetween('00:00', '00:10'));
  await fs.rm(join(root, layout.root));
  await t.throwsAsync(
    onRoot(root, {}, async () => {}),
    { message: /root\.json: is missing, and manifests are there: restore the file from a backup$/ },
  );
  t.is(await fs.stat(join(root, layout.root)).catch(() => null), null);
});

test('the pipeline refuses a root of another format before it changes anything', async (t) => {
  const root = await publishedRoot(t, await scansBetween('00:00', '00:10'));
  await rename(root, (name) => ({ ...name, format: OTHER }));
  const before = await contentOf(root);
  const message = `publish ${join(root, layout.root)}: ${reasonFor('hail-pipeline')}`;
  await t.throwsAsync(
    onRoot(root, {}, async () => {}),
    { message },
  );
  const engine = await openEngine();
  t.teardown(engine.close);
  await t.throwsAsync(
    verifyRoot(engine, root, null, () => {}),
    { message },
  );
  t.deepEqual(await contentOf(root), before);
});

test('a service does not start on a root of another format', async (t) => {
  const root = await publishedRoot(t, await scansBetween('00:00', '00:10'));
  await rename(root, (name) => ({ ...name, format: OTHER }));
  await t.throwsAsync(startService({ endpoints: [], data_root: root }), { message: REFUSED });
});

test('a running service answers nothing from a root that was upgraded under it, says why, and goes on once it is back', async (t) => {
  const root = await publishedRoot(t, await scansBetween('00:00', '00:10'));
  const service = await serve(t, root);
  t.is((await service.call(CURRENT)).status, 200);
  const ready = async () => (await service.call('/readyz', { key: null })).json();
  t.deepEqual(await ready(), { status: 'ok', records: true, data: true });

  await rename(root, (name) => ({ ...name, format: OTHER }));
  await service.services.catalog.refresh();
  for (const path of [CURRENT, EVENTS]) t.is((await service.call(path)).status, 500, path);
  t.deepEqual(await ready(), { status: 'unavailable', records: true, data: false, reason: REFUSED });
  const health = (await service.json('/v1/health')) as Health;
  t.is(health.status, 'degraded');
  t.deepEqual(health.components.data, { status: 'degraded', reason: REFUSED });

  await rename(root, (name) => ({ ...name, format: DATA_FORMAT }));
  await service.services.catalog.refresh();
  t.is((await service.call(CURRENT)).status, 200);
  t.deepEqual(((await service.json('/v1/health')) as Health).components.data, { status: 'ok', reason: null });
});

for (const [title, text] of [
  ['cut short', '{"manifest_version":1,"root_'],
  ['empty', ''],
  ['without an id', `{"manifest_version":1,"created_at":"2026-05-01T00:00:00Z","format":${DATA_FORMAT}}`],
] as const)
  test(`a name that is ${title} is a damage that all sides name`, async (t) => {
    const root = await publishedRoot(t, await scansBetween('00:00', '00:10'));
    await fs.writeFile(join(root, layout.root), text);
    const before = await contentOf(root);
    const expected = /root\.json:? (is damaged|is not JSON|is not a list)/;
    await t.throwsAsync(
      onRoot(root, {}, async () => {}),
      { message: expected },
    );
    t.deepEqual(await contentOf(root), before, 'nothing is repaired by guess');
    const faults = await faultsOf(root);
    t.is(faults.length, 1, 'verify lists it and goes on');
    t.regex(faults[0] ?? '', expected);
    const catalog = await openCatalog(root, 0);
    t.teardown(catalog.close);
    t.regex(catalog.failure()?.message ?? '', expected);
  });

test('a table file of another version is refused by name', async (t) => {
  const root = await publishedRoot(t, await scansBetween('00:00', '00:10'));
  const manifest = (await readNewest(root, DATE)) as Manifest;
  const files = manifest.files.map((file) => (file.table === 'cells' ? { ...file, schema_version: 9 } : file));
  await fs.writeFile(join(root, layout.manifest(DATE, manifest.commit)), JSON.stringify({ ...manifest, files }));
  await fs.writeFile(join(root, layout.head(DATE)), JSON.stringify(headOf({ ...manifest, files })));
  const catalog = await openCatalog(root, 0);
  t.teardown(catalog.close);
  t.regex(catalog.failure()?.message ?? '', /^data root: \S+cells\S+ has cells schema version 9, expected \d+$/);
});
