import { existsSync } from 'node:fs';
import fs from 'node:fs/promises';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { cataloguesOf } from '../../../pipeline/catalogues/catalogues.ts';
import { type Fields, type Log, silent } from '../../../pipeline/log.ts';
import { type Catalogue, type Edition, openCatalogues } from '../../../pipeline/publish/catalogues.ts';
import { layout } from '../../../schemas/layout.ts';
import { CATALOGUES } from '../../../schemas/settings.ts';
import { aroundMidnight } from '../../support/data/small-world.ts';
import { onRoot, publishedRoot, scratch } from '../../support/data/world.ts';

const DATE = '2026-05-02';
const NOW_MS = Date.parse('2026-05-02T06:00:00Z');

/** A log that keeps its warnings, with their catalogue. */
function keptLog() {
  const said: string[] = [];
  const say = (event: string, { catalogue }: Fields) => void said.push(`${event} ${String(catalogue)}`);
  const log: Log = {
    ...silent,
    warn: say,
    info: (event, fields) => (event.startsWith('Catalogue') ? say(event, fields) : {}),
  };
  return { log, said };
}

/** A catalogue that lists the partitions and their commits, one a line, and keeps what it was called with. */
function lines(settings: { readonly fails?: () => boolean; readonly version?: number } = {}) {
  const calls: string[][] = [];
  const listed = new Map<string, number>();
  const catalogue: Catalogue = {
    name: 'stac',
    place: 'stac',
    version: settings.version ?? 1,
    update: async (changed, { data_root }: Edition) => {
      calls.push(changed.map(({ partition }) => partition).sort());
      if (settings.fails?.()) throw new Error('the ink is out');
      for (const { partition, commit } of changed) listed.set(partition, commit);
      await fs.mkdir(join(data_root, 'stac'), { recursive: true });
      await fs.writeFile(join(data_root, 'stac/list'), [...listed].map((line) => line.join(' ')).join('\n'));
    },
  };
  return { catalogue, calls };
}

const published = async (t: ExecutionContext) => publishedRoot(t, await aroundMidnight());
const DATES = ['2026-05-01', DATE];

test('a catalogue sees every partition once, then those that were committed', async (t) => {
  const root = await published(t);
  const { catalogue, calls } = lines();
  await onRoot(root, { catalogues: [catalogue] }, async ({ root: open }) => {
    t.deepEqual(calls, [DATES]);
    await open.derive(DATE, NOW_MS);
    t.deepEqual(calls, [DATES, [DATE]]);
  });
  await onRoot(root, { catalogues: [catalogue] }, async () => {});
  t.is(calls.length, 2);
});

test('what was committed while a catalogue was not kept is due when it is kept again', async (t) => {
  const root = await published(t);
  const { catalogue, calls } = lines();
  await onRoot(root, { catalogues: [catalogue] }, async () => {});
  await onRoot(root, {}, async ({ root: open }) => open.derive(DATE, NOW_MS));
  await onRoot(root, { catalogues: [catalogue] }, async () => {});
  t.deepEqual(calls, [DATES, [DATE]]);
});

test('a catalogue that fails is said, stops neither commits nor other catalogues, and is tried again', async (t) => {
  const root = await published(t);
  const { log, said } = keptLog();
  let isBroken = true;
  const failing = lines({ fails: () => isBroken });
  const other = { ...lines().catalogue, name: 'other', place: 'other-list' };
  const good = lines();
  const beside: Catalogue = { ...other, update: good.catalogue.update };
  await onRoot(root, { catalogues: [failing.catalogue, beside], log }, async ({ root: open }) => {
    await open.derive(DATE, NOW_MS);
    t.deepEqual(good.calls, [DATES, [DATE]]);
    t.deepEqual(new Set(said), new Set(['Catalogue:Update:Failed stac']));
    isBroken = false;
    await open.derive(DATE, NOW_MS);
    t.deepEqual(failing.calls.at(-1), DATES);
  });
  t.true(existsSync(join(root, layout.catalogueMemory('stac'))));
});

test('a catalogue that fails before the sweep is withdrawn, so that it names nothing that is deleted; then it is made anew', async (t) => {
  const root = await published(t);
  const { log, said } = keptLog();
  let isBroken = false;
  const { catalogue, calls } = lines({ fails: () => isBroken });
  await onRoot(root, { catalogues: [catalogue], log }, async ({ root: open }) => {
    t.true(existsSync(join(root, 'stac')));
    isBroken = true;
    await open.derive(DATE, NOW_MS);
    t.true(existsSync(join(root, 'stac')));
    await open.sweep(Date.now(), null);
    t.false(existsSync(join(root, 'stac')) || existsSync(join(root, layout.catalogueMemory('stac'))));
    t.true(said.includes('Catalogue:Withdrawn stac'));
    isBroken = false;
    await open.derive(DATE, NOW_MS);
    t.deepEqual(calls.at(-1), DATES);
    t.true(existsSync(join(root, 'stac/list')));
  });
});

test('a catalogue that is no longer kept is withdrawn by the first sweep, and not before', async (t) => {
  const root = await published(t);
  await onRoot(root, { catalogues: [lines().catalogue] }, async () => {});
  await onRoot(root, {}, async ({ root: open }) => {
    await open.derive(DATE, NOW_MS);
    t.true(existsSync(join(root, 'stac/list')));
    await open.sweep(Date.now(), null);
    t.false(existsSync(join(root, 'stac')) || existsSync(join(root, layout.catalogueMemory('stac'))));
  });
});

test('a catalogue that cannot delete its old files is said and stays; the sweep goes on, and tries again the next time', async (t) => {
  const root = await published(t);
  const { log, said } = keptLog();
  let tries = 0;
  const expire = async () => {
    tries += 1;
    if (tries === 1) throw new Error('a file cannot be deleted');
    return { files: 3, bytes: 30 };
  };
  const catalogue: Catalogue = { ...lines().catalogue, expire };
  await onRoot(root, { catalogues: [catalogue], log }, async ({ root: open }) => {
    t.is((await open.sweep(Date.now(), null)).files, 0);
    t.deepEqual(said, ['Catalogue:Update:Failed stac']);
    t.true(existsSync(join(root, 'stac/list')));
    t.is((await open.sweep(Date.now(), null)).files, 3);
  });
});

test('a process that is killed while it removes a catalogue leaves a mark, and the next sweep removes the rest', async (t) => {
  const root = await published(t);
  await onRoot(root, { catalogues: [lines().catalogue] }, async () => {});
  await fs.rename(join(root, layout.catalogueMemory('stac')), join(root, layout.withdrawnCatalogue('stac')));
  await onRoot(root, {}, async ({ root: open }) => open.sweep(Date.now(), null));
  t.false(existsSync(join(root, 'stac')));
  t.deepEqual(await fs.readdir(join(root, 'catalogues')), []);
});

test('a folder of the name of a catalogue that no pipeline made is left alone', async (t) => {
  const root = await published(t);
  await fs.mkdir(join(root, 'stac'));
  await fs.writeFile(join(root, 'stac/own'), 'kept');
  await onRoot(root, {}, async ({ root: open }) => open.sweep(Date.now(), null));
  t.is(await fs.readFile(join(root, 'stac/own'), 'utf8'), 'kept');
});

for (const [what, spoil] of Object.entries({
  'is of another version': (memory: string) => memory.replace('"version":1', '"version":2'),
  'is unreadable': (memory: string) => memory.slice(0, 20),
  'names a partition that is gone': (memory: string) => memory.replace('"commits":{', '"commits":{"2020-01-01":3,'),
}))
  test(`a catalogue whose memory ${what} is made anew, without what lay there`, async (t) => {
    const root = await published(t);
    await onRoot(root, { catalogues: [lines().catalogue] }, async () => {});
    const path = join(root, layout.catalogueMemory('stac'));
    await fs.writeFile(path, spoil(await fs.readFile(path, 'utf8')));
    await fs.writeFile(join(root, 'stac/left'), 'of an earlier version');
    const { catalogue, calls } = lines();
    await onRoot(root, { catalogues: [catalogue] }, async () => {});
    t.deepEqual(calls, [DATES]);
    t.deepEqual(await fs.readdir(join(root, 'stac')), ['list']);
  });

test('a partition whose head cannot be read fails the catalogues, which is said once; they are tried again after the next commit', async (t) => {
  const root = await published(t);
  const { log, said } = keptLog();
  const path = join(root, layout.head(DATE));
  const head = await fs.readFile(path, 'utf8');
  await fs.writeFile(path, '{');
  const { catalogue, calls } = lines();
  const catalogues = openCatalogues(root, [catalogue], log);
  await catalogues.update();
  await catalogues.update();
  t.deepEqual(said, ['Catalogue:Update:Failed stac']);
  await fs.writeFile(path, head);
  catalogues.committed([{ partition: DATE, commit: JSON.parse(head).commit }]);
  await catalogues.update();
  t.deepEqual(calls, [DATES]);
});

test('after a commit that failed, the heads are read again: some of them may have moved', async (t) => {
  const root = await published(t);
  const { catalogue, calls } = lines();
  const catalogues = openCatalogues(root, [catalogue], silent);
  await catalogues.update();
  const path = join(root, layout.head(DATE));
  const head = JSON.parse(await fs.readFile(path, 'utf8'));
  await fs.writeFile(path, JSON.stringify({ ...head, commit: head.commit + 1 }));
  await catalogues.update();
  t.is(calls.length, 1);
  catalogues.commitFailed();
  await catalogues.update();
  t.deepEqual(calls, [DATES, [DATE]]);
});

test('a root that was never published to has a catalogue of nothing to tell', async (t) => {
  const { catalogue, calls } = lines();
  await onRoot(await scratch(t), { catalogues: [catalogue] }, async () => {});
  t.deepEqual(calls, []);
});

test('a catalogue that a setting keeps lies in the folder of its name', (t) => {
  for (const { name, place } of cataloguesOf(CATALOGUES)) if (CATALOGUES.some((one) => one === name)) t.is(place, name);
  t.true(cataloguesOf(CATALOGUES).some(({ name }) => name === 'stac'));
  t.false(cataloguesOf([]).some(({ name }) => name === 'stac'));
});
