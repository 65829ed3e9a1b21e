import fs from 'node:fs/promises';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { openCatalog } from '../../api/catalog.ts';
import { listEvents } from '../../api/routes/events.ts';
import { getHailCurrent } from '../../api/routes/hail-current.ts';
import { getHealth, readyz } from '../../api/routes/health.ts';
import { openEngine } from '../../pipeline/duckdb.ts';
import { type Log, silent } from '../../pipeline/log.ts';
import { readNewest } from '../../pipeline/publish/manifests.ts';
import { verifyRoot } from '../../pipeline/publish/verify.ts';
import { WRITTEN_FORMAT } from '../../schemas/data-format.ts';
import { headOf } from '../../schemas/head.ts';
import { layout } from '../../schemas/layout.ts';
import type { Manifest } from '../../schemas/manifest.ts';
import { RELEASE } from '../../schemas/release.ts';
import type { Health } from '../../schemas/resources/health.ts';
import { ageLive, agePartition } from '../support/data/older-files.ts';
import { ingest, MONTH_LATER_MS, onRoot, publishedRoot, scansBetween, scratch } from '../support/data/world.ts';
import { faultsOf } from '../support/kill/killed.ts';
import { startService } from '../support/service/service.ts';

const DATE = '2026-05-02';
const EVENTS = `/v1/events?date_start=${DATE}&date_end=${DATE}&bbox=-98,34.5,-96,36`;
const CURRENT = '/v1/hail/current?lat=35.2&lon=-97&radius_km=100';
const NEWER = WRITTEN_FORMAT + 1;
const REFUSED = `data root: root.json has data format ${NEWER}, and hail-api ${RELEASE} reads 1 to ${WRITTEN_FORMAT}: upgrade hail-api to the release that wrote the data or a newer one`;

type Name = Record<string, unknown>;

async function nameOf(root: string): Promise<Name> {
  return JSON.parse(await fs.readFile(join(root, layout.root), 'utf8'));
}

async function rename(root: string, change: (name: Name) => Name): Promise<void> {
  await fs.writeFile(join(root, layout.root), JSON.stringify(change(await nameOf(root))));
}

/** A root as a release of the first data format left it, with its name or, as the very first ones did, without. */
async function rootOfFirstFormat(t: ExecutionContext, { named }: { readonly named: boolean }): Promise<string> {
  const root = await publishedRoot(t, await scansBetween('00:00', '00:10'));
  await agePartition(root, DATE, named ? 'before-signed-rows' : 'before-added-columns');
  if (named) await rename(root, ({ format: _, ...name }) => name);
  else {
    await ageLive(root);
    await fs.rm(join(root, layout.root));
  }
  return root;
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

/** Data formats that a warning names. */
type FormatRaise = Readonly<Record<'from' | 'to', unknown>>;

/** A log that keeps the raises of a data format. */
function logOfRaises(raises: FormatRaise[]): Log {
  const warn: Log['warn'] = (event, { from, to }) => {
    if (event === 'Root:Format:Raised') raises.push({ from, to });
  };
  return { ...silent, warn };
}

test('a new root has the newest data format from the beginning', async (t) => {
  const root = await scratch(t);
  await onRoot(root, {}, async () => {});
  t.is((await nameOf(root)).format, WRITTEN_FORMAT);
});

for (const named of [true, false]) {
  const kind = named ? 'without a format' : 'of the first releases, which has no name,';

  test(`a root ${kind} is of the first format, and is read`, async (t) => {
    const root = await rootOfFirstFormat(t, { named });
    const service = await serve(t, root);
    const { events } = (await service.json(EVENTS)) as { events: unknown[] };
    t.is(events.length, 1);
    t.is((await service.call(CURRENT)).status, 200);
    t.deepEqual(await faultsOf(root), []);
  });

  test(`a root ${kind} is raised by the first commit that needs it, and says so once`, async (t) => {
    const root = await rootOfFirstFormat(t, { named });
    const raises: FormatRaise[] = [];
    const settings = { log: logOfRaises(raises) };
    await onRoot(root, settings, async () => {});
    t.is((await nameOf(root)).format ?? 1, 1, 'opening it writes no tables');
    const { root_id, created_at } = await nameOf(root);
    await ingest(root, await scansBetween('00:10', '00:14'), settings);
    await ingest(root, await scansBetween('00:14', '00:20'), settings);
    t.deepEqual(raises, [{ from: 1, to: 2 }]);
    t.like(await nameOf(root), { root_id, created_at, format: 2 });
    t.deepEqual(await faultsOf(root), []);
    const service = await serve(t, root);
    t.is(((await service.json(EVENTS)) as { events: unknown[] }).events.length, 1);
    await ingest(root, [], { ...settings, now_ms: MONTH_LATER_MS });
    t.is(raises.length, 1);
    t.deepEqual(await faultsOf(root), []);
  });
}

test('raising the format keeps fields of the name that this release does not know', async (t) => {
  const root = await rootOfFirstFormat(t, { named: true });
  await rename(root, (name) => ({ ...name, colour: 'green' }));
  await ingest(root, await scansBetween('00:10', '00:14'));
  t.like(await nameOf(root), { format: 2, colour: 'green' });
});

test('a root whose name was lost is named again with the format of its files', async (t) => {
  const root = await publishedRoot(t, await scansBetween('00:00', '00:10'));
  await fs.rm(join(root, layout.root));
  await onRoot(root, {}, async () => {});
  t.is((await nameOf(root)).format, 2);
});

test('a kill between the raise and its commit leaves a root that is read and finished', async (t) => {
  const root = await rootOfFirstFormat(t, { named: true });
  await rename(root, (name) => ({ ...name, format: 2 }));
  t.deepEqual(await faultsOf(root), []);
  t.is((await (await serve(t, root)).call(EVENTS)).status, 200);
  const raises: FormatRaise[] = [];
  await ingest(root, await scansBetween('00:10', '00:14'), { log: logOfRaises(raises) });
  t.deepEqual(raises, []);
  t.deepEqual(await faultsOf(root), []);
});

test('the pipeline refuses a root of a newer format before it changes anything', async (t) => {
  const root = await publishedRoot(t, await scansBetween('00:00', '00:10'));
  await rename(root, (name) => ({ ...name, format: NEWER }));
  const before = await contentOf(root);
  const message = `publish ${join(root, layout.root)}: has data format ${NEWER}, and hail-pipeline ${RELEASE} reads 1 to ${WRITTEN_FORMAT}: upgrade hail-pipeline to the release that wrote the data or a newer one`;
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

test('a root whose name is of a newer version of lists is refused by that version', async (t) => {
  const root = await publishedRoot(t, await scansBetween('00:00', '00:10'));
  await rename(root, (name) => ({ ...name, manifest_version: 2 }));
  const reason = (program: string) =>
    `has manifest_version 2, and ${program} ${RELEASE} reads 1: upgrade ${program} to the release that wrote the data or a newer one`;
  await t.throwsAsync(
    onRoot(root, {}, async () => {}),
    { message: `publish ${join(root, layout.root)}: ${reason('hail-pipeline')}` },
  );
  const catalog = await openCatalog(root, 0);
  t.teardown(catalog.close);
  t.is(catalog.failure(), `data root: root.json ${reason('hail-api')}`);
});

test('a service does not start on a root of a newer format', async (t) => {
  const root = await publishedRoot(t, await scansBetween('00:00', '00:10'));
  await rename(root, (name) => ({ ...name, format: NEWER }));
  await t.throwsAsync(startService({ endpoints: [], data_root: root }), { message: REFUSED });
});

test('a running service answers nothing from a root that was upgraded under it, says why, and goes on once it is back', async (t) => {
  const root = await publishedRoot(t, await scansBetween('00:00', '00:10'));
  const service = await serve(t, root);
  t.is((await service.call(CURRENT)).status, 200);
  const ready = async () => (await service.call('/readyz', { key: null })).json();
  t.deepEqual(await ready(), { status: 'ok', records: true, data: true });

  await rename(root, (name) => ({ ...name, format: NEWER }));
  await service.services.catalog.refresh();
  for (const path of [CURRENT, EVENTS]) t.is((await service.call(path)).status, 500, path);
  t.deepEqual(await ready(), { status: 'unavailable', records: true, data: false, reason: REFUSED });
  const health = (await service.json('/v1/health')) as Health;
  t.is(health.status, 'degraded');
  t.deepEqual(health.components.data, { status: 'degraded', reason: REFUSED });

  await rename(root, (name) => ({ ...name, format: WRITTEN_FORMAT }));
  await service.services.catalog.refresh();
  t.is((await service.call(CURRENT)).status, 200);
  t.deepEqual(((await service.json('/v1/health')) as Health).components.data, { status: 'ok', reason: null });
});

for (const [title, text, told] of [
  ['cut short', '{"manifest_version":1,"root_', 'is not JSON'],
  ['empty', '', 'is not JSON'],
  ['a list', '[]', 'manifest_version|is not a JSON object'],
  ['null', 'null', 'manifest_version|is not a JSON object'],
  ['without a name', '{"manifest_version":1,"created_at":"2026-05-01T00:00:00Z"}', 'is damaged|is not a list'],
  [
    'of a format in words',
    '{"manifest_version":1,"root_id":"r","created_at":"x","format":"two"}',
    'has data format "two"',
  ],
] as const)
  test(`a name that is ${title} is a damage that all sides tell, and not a root of the first format`, async (t) => {
    const root = await publishedRoot(t, await scansBetween('00:00', '00:10'));
    await fs.writeFile(join(root, layout.root), text);
    const before = await contentOf(root);
    const expected = new RegExp(`root\\.json:? (.*)?(${told})`);
    await t.throwsAsync(
      onRoot(root, {}, async () => {}),
      { message: expected },
    );
    t.deepEqual(await contentOf(root), before, 'nothing is repaired by guess');
    const faults = await faultsOf(root);
    t.is(faults.length, 1, 'verify tells of it and goes on');
    t.regex(faults[0] ?? '', expected);
    const catalog = await openCatalog(root, 0);
    t.teardown(catalog.close);
    t.regex(catalog.failure() ?? '', expected);
  });

test('a table file of a newer version is refused in one sentence by both sides', async (t) => {
  const root = await publishedRoot(t, await scansBetween('00:00', '00:10'));
  const manifest = (await readNewest(root, DATE)) as Manifest;
  const files = manifest.files.map((file) => (file.table === 'cells' ? { ...file, schema_version: 9 } : file));
  await fs.writeFile(join(root, layout.manifest(DATE, manifest.commit)), JSON.stringify({ ...manifest, files }));
  await fs.writeFile(join(root, layout.head(DATE)), JSON.stringify(headOf({ ...manifest, files })));
  const catalog = await openCatalog(root, 0);
  t.teardown(catalog.close);
  t.regex(
    catalog.failure() ?? '',
    /^data root: \S+cells\S+ has cells schema version 9, and hail-api \S+ reads 1 to 3: upgrade hail-api to [^\n]+$/,
  );
});
