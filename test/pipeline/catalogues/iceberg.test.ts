import { existsSync, readdirSync, statSync } from 'node:fs';
import fs from 'node:fs/promises';
import { basename, join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { icebergRead } from 'icebird';
import { avroMetadata } from 'icebird/src/avro/avro.metadata.js';
import { cataloguesOf } from '../../../pipeline/catalogues/catalogues.ts';
import { openEngine, sqlText } from '../../../pipeline/duckdb.ts';
import { filesBelow } from '../../../pipeline/files.ts';
import { warnings } from '../../../schemas/tables/feeds.ts';
import { TABLES } from '../../../schemas/tables/index.ts';
import { dayMax, detections } from '../../../schemas/tables/radar.ts';
import {
  headsOf,
  icebergRows,
  liveFiles,
  manifestRows,
  metadataOf,
  serveFiles,
  tableUrl,
} from '../../support/data/iceberg-reading.ts';
import { aroundMidnight } from '../../support/data/small-world.ts';
import { MONTH_LATER_MS, type OpenSettings, onRoot, publishedRoot, scratch } from '../../support/data/world.ts';

serveFiles();

const DATES = ['2026-05-01', '2026-05-02'];
const MONTH = '2026-05';

/** Opens a root that keeps Iceberg metadata. */
const withIceberg = (settings: OpenSettings = {}): OpenSettings => ({
  ...settings,
  catalogues: cataloguesOf(['iceberg']),
});
const laterIceberg = () => withIceberg({ now_ms: MONTH_LATER_MS });

/** A root with two open dates, whose metadata were made when it was opened. */
async function openDates(t: ExecutionContext): Promise<string> {
  const root = await publishedRoot(t, await aroundMidnight());
  await onRoot(root, withIceberg(), async () => {});
  return root;
}

const metadataFolder = (root: string, table: string) => join(root, 'iceberg', table, 'metadata');
const tablesIn = (root: string) => TABLES.filter(({ name }) => existsSync(join(root, 'iceberg', name)));

/** Every published table has its metadata, and gives the rows that the manifests give. */
async function sameAsManifests(t: ExecutionContext, root: string): Promise<void> {
  const published = new Set((await headsOf(root)).flatMap(({ files }) => files.map(({ table }) => table)));
  for (const table of TABLES.filter(({ name }) => published.has(name)))
    t.deepEqual(await icebergRows(root, table), await manifestRows(root, table), table.name);
}

/** Nothing that the newest metadata name is missing: data files, manifests, manifest lists, earlier metadata. */
async function namesNothingMissing(t: ExecutionContext, root: string): Promise<void> {
  for (const { name } of tablesIn(root)) {
    const metadata = await metadataOf(root, name);
    const logged = metadata['metadata-log'] ?? [];
    const named = [
      ...(metadata.snapshots ?? []).map((one) => one['manifest-list']),
      ...logged.map((one) => one['metadata-file']),
    ];
    for (const address of named) t.true(existsSync(address.slice('file://'.length)), address);
    for (const { data_file } of await liveFiles(root, name)) {
      const path = data_file.file_path.slice('file://'.length);
      t.is(statSync(path).size, Number(data_file.file_size_in_bytes), path);
    }
  }
}

async function closeDates(root: string): Promise<void> {
  await onRoot(root, laterIceberg(), async ({ root: open }) => {
    for (const date of DATES) await open.compactDay(date, MONTH_LATER_MS);
    await open.compactMonth(MONTH, MONTH_LATER_MS);
  });
}

test('a second reader finds the rows of every table after each commit: open, closed, joined and rebuilt dates', async (t) => {
  const path = await scratch(t);
  const scans = await aroundMidnight();
  await onRoot(path, withIceberg({ each_scan: true }), async ({ session }) => {
    for (const scan of scans) {
      await session.ingest(scan.files);
      await sameAsManifests(t, path);
    }
    await session.finishDates();
    await sameAsManifests(t, path);
  });
  await onRoot(path, laterIceberg(), async ({ root }) => {
    const [first = '', second = ''] = DATES;
    await root.compactDay(first, MONTH_LATER_MS);
    await sameAsManifests(t, path);
    await root.compactMonth(MONTH, MONTH_LATER_MS);
    await sameAsManifests(t, path);
    await root.compactDay(second, MONTH_LATER_MS);
    await sameAsManifests(t, path);
    await root.compactMonth(MONTH, MONTH_LATER_MS);
    await sameAsManifests(t, path);
    await namesNothingMissing(t, path);
    await root.clear(second, MONTH_LATER_MS);
    await sameAsManifests(t, path);
  });
  await onRoot(path, withIceberg(), async ({ session }) => {
    await session.ingest(scans.slice(3).flatMap(({ files }) => files));
    await sameAsManifests(t, path);
    await namesNothingMissing(t, path);
  });
  t.true((await icebergRows(path, dayMax)).length > 100);
});

test('day maxima are listed once: in the files of their month once dates are joined, else in their own', async (t) => {
  const root = await openDates(t);
  const folders = async () =>
    new Set((await liveFiles(root, 'day-max')).map(({ data_file }) => basename(join(data_file.file_path, '..'))));
  t.deepEqual(await folders(), new Set(DATES.map((date) => `date=${date}`)));
  await closeDates(root);
  t.deepEqual(await folders(), new Set([`month=${MONTH}`]));
});

test('bounds and counts of columns are those of the rows', async (t) => {
  const root = await openDates(t);
  const { schemas } = await metadataOf(root, 'detections');
  const engine = await openEngine();
  t.teardown(engine.close);
  let compared = 0;
  for (const { data_file } of await liveFiles(root, 'detections'))
    for (const { id, name, type } of schemas[0]?.fields ?? []) {
      const [facts] = await engine.rows<Record<'least' | 'most' | 'nulls', number | null>>(
        `SELECT ${type === 'timestamp' ? `epoch_us(min("${name}"))` : `min("${name}")`} AS least,
           ${type === 'timestamp' ? `epoch_us(max("${name}"))` : `max("${name}")`} AS most,
           count(*) - count("${name}") AS nulls FROM read_parquet(${sqlText(data_file.file_path.slice('file://'.length))})`,
      );
      const of = <Value>(pairs: readonly { key: number; value: Value }[] | undefined) =>
        pairs?.find(({ key }) => key === id)?.value;
      t.is(Number(of(data_file.null_value_counts as never)), Number(facts?.nulls), name);
      const lower = of<Uint8Array>(data_file.lower_bounds as never);
      if (type === 'string') {
        t.is(lower, undefined);
        continue;
      }
      if (facts?.least === null) continue;
      t.is(boundOf(String(type), lower), Number(facts?.least), name);
      t.is(boundOf(String(type), of<Uint8Array>(data_file.upper_bounds as never)), Number(facts?.most), name);
      compared += 1;
    }
  t.true(compared > 30);
});

/** A bound by the single-value serialisation of the specification; a date in epoch milliseconds. */
function boundOf(type: string, bytes: Uint8Array | undefined): number | null {
  if (bytes === undefined) return null;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  if (type === 'boolean') return view.getUint8(0);
  if (type === 'int') return view.getInt32(0, true);
  if (type === 'date') return view.getInt32(0, true) * 86_400_000;
  return type === 'double' ? view.getFloat64(0, true) : Number(view.getBigInt64(0, true));
}

test('manifests and their lists have the headers and the field ids that the specification names', async (t) => {
  const folder = metadataFolder(await openDates(t), 'detections');
  const headerOf = async (start: string): Promise<Map<string, string>> => {
    const name = readdirSync(folder).find((one) => one.startsWith(start)) ?? '';
    const { buffer, byteOffset, length } = await fs.readFile(join(folder, name));
    const { metadata } = await avroMetadata({ view: new DataView(buffer, byteOffset, length), offset: 0 });
    return new Map(
      Object.entries(metadata).map(([key, text]) => [key, typeof text === 'string' ? text : JSON.stringify(text)]),
    );
  };
  const [manifest, list] = [await headerOf(MONTH), await headerOf('snap-')];
  for (const [key, text] of [
    ['format-version', '2'],
    ['content', 'data'],
    ['partition-spec', '[]'],
    ['partition-spec-id', '0'],
    ['schema-id', '0'],
  ] as const)
    t.is(manifest.get(key), text);
  t.regex(manifest.get('schema') ?? '', /"name":"scan_time"/);
  t.is(list.get('format-version'), '2');
  t.is(list.get('sequence-number'), '1');
  const idsIn = (schema: string | undefined) =>
    [...(schema ?? '').matchAll(/"field-id":(\d+)/g)].map(([, id]) => Number(id)).sort((a, b) => a - b);
  t.deepEqual(
    idsIn(manifest.get('avro.schema')),
    [0, 1, 2, 3, 4, 100, 101, 102, 103, 104, 109, 110, 119, 120, 121, 122, 125, 126, 127, 128, 129, 130, 134],
  );
  t.deepEqual(idsIn(list.get('avro.schema')), [500, 501, 502, 503, 504, 505, 506, 512, 513, 514, 515, 516, 517]);
});

test('commits that add rows keep the snapshots before; one that replaces files drops them', async (t) => {
  const path = await scratch(t);
  const scans = await aroundMidnight();
  await onRoot(path, withIceberg({ each_scan: true }), async ({ session }) => {
    for (const scan of scans.slice(0, 3)) await session.ingest(scan.files);
  });
  const { snapshots = [], 'snapshot-log': log, ...before } = await metadataOf(path, 'detections');
  t.deepEqual(
    snapshots.map((one) => one['sequence-number']),
    [1, 2, 3],
  );
  t.deepEqual(
    snapshots.map(({ summary }) => summary?.operation),
    ['append', 'append', 'append'],
  );
  t.deepEqual(
    log?.map((one) => one['snapshot-id']),
    snapshots.map((one) => one['snapshot-id']),
  );
  t.regex(JSON.stringify(snapshots[2]?.summary), /"hail\.commits":"2026-05-01=\d+"/);
  const first = { ...before, snapshots, 'current-snapshot-id': snapshots[0]?.['snapshot-id'] };
  t.true((await icebergRead({ tableUrl: tableUrl(path, 'detections'), metadata: first as never })).length > 0);
  await onRoot(path, laterIceberg(), async ({ root }) => {
    await root.compactDay('2026-05-01', MONTH_LATER_MS);
  });
  const after = await metadataOf(path, 'detections');
  t.deepEqual(
    after.snapshots?.map(({ summary }) => summary?.operation),
    ['overwrite'],
  );
  t.is(after['last-sequence-number'], 4);
  t.is(after['table-uuid'], before['table-uuid']);
});

test('the sweep deletes metadata that were replaced long ago, and nothing that the newest ones name', async (t) => {
  const root = await openDates(t);
  await closeDates(root);
  const before = await filesBelow(metadataFolder(root, 'detections'));
  await onRoot(root, laterIceberg(), async ({ root: open }) => {
    await open.sweep(Date.now(), null);
    t.deepEqual(await filesBelow(metadataFolder(root, 'detections')), before);
    const old_s = (Date.now() - 86_400_000) / 1000;
    for (const name of await filesBelow(root)) await fs.utimes(join(root, name), old_s, old_s);
    t.true((await open.sweep(Date.now(), null)).files > 0);
  });
  t.true((await filesBelow(metadataFolder(root, 'detections'))).length < before.length);
  await sameAsManifests(t, root);
  await namesNothingMissing(t, root);
});

test('a reader that began before a commit ends with the rows that it began with', async (t) => {
  const root = await openDates(t);
  const [metadata, rows] = [await metadataOf(root, 'detections'), await icebergRows(root, detections)];
  await closeDates(root);
  await onRoot(root, laterIceberg(), async ({ root: open }) => open.sweep(Date.now(), null));
  const read = await icebergRead({ tableUrl: tableUrl(root, 'detections'), metadata });
  t.is(read.length, rows.length);
});

test('readers meet whole snapshots while a writer commits', async (t) => {
  const path = await scratch(t);
  const scans = await aroundMidnight();
  let isWriting = true;
  const seen = new Set<number>();
  const reader = async () => {
    while (isWriting) {
      if (!existsSync(join(metadataFolder(path, 'detections'), 'version-hint.text'))) {
        await new Promise((resolve) => setImmediate(resolve));
        continue;
      }
      const metadata = await metadataOf(path, 'detections');
      const rows = await icebergRead({ tableUrl: tableUrl(path, 'detections'), metadata });
      const { summary } = metadata.snapshots?.at(-1) ?? {};
      t.is(new Map(Object.entries(summary ?? {})).get('total-records'), String(rows.length));
      seen.add(rows.length);
    }
  };
  const writer = async () => {
    try {
      await onRoot(path, withIceberg({ each_scan: true }), async ({ session }) => {
        for (const scan of scans) await session.ingest(scan.files);
      });
    } finally {
      isWriting = false;
    }
  };
  await Promise.all([writer(), reader()]);
  t.true(seen.size > 1);
});

test('metadata of a root that was moved name the files where they lie now', async (t) => {
  const root = await openDates(t);
  const uuid = (await metadataOf(root, 'detections'))['table-uuid'];
  const moved = `${await scratch(t, 'Schäden 2026 – größer')}`;
  await fs.cp(root, moved, { recursive: true });
  await fs.rm(root, { recursive: true });
  await onRoot(moved, withIceberg(), async () => {});
  await sameAsManifests(t, moved);
  await namesNothingMissing(t, moved);
  t.is((await metadataOf(moved, 'detections'))['table-uuid'], uuid);
});

for (const [what, harm] of [
  ['a manifest is missing', (names: readonly string[]) => names.find((name) => name.startsWith(MONTH))],
  ['a manifest list is cut off', (names: readonly string[]) => names.find((name) => name.startsWith('snap-'))],
  ['metadata are empty', (names: readonly string[]) => names.find((name) => name.endsWith('.metadata.json'))],
] as const)
  test(`metadata are made anew when a root is opened and ${what}`, async (t) => {
    const root = await openDates(t);
    const before = await metadataOf(root, 'detections');
    const folder = metadataFolder(root, 'detections');
    const name = harm(readdirSync(folder)) ?? '';
    if (what.includes('missing')) await fs.rm(join(folder, name));
    else await fs.truncate(join(folder, name), what.includes('empty') ? 0 : 200);
    await onRoot(root, withIceberg(), async () => {});
    await sameAsManifests(t, root);
    t.deepEqual((await metadataOf(root, 'detections')).schemas, before.schemas);
  });

test('a process that was killed before the hint named its metadata is finished at the next start', async (t) => {
  const root = await openDates(t);
  const memory = join(root, 'catalogues/iceberg.json');
  const before = await fs.readFile(memory, 'utf8');
  await closeDates(root);
  const hint = join(metadataFolder(root, 'detections'), 'version-hint.text');
  const newest = await fs.readFile(hint, 'utf8');
  await fs.writeFile(hint, '1');
  await fs.writeFile(memory, before);
  await onRoot(root, laterIceberg(), async () => {});
  t.is(await fs.readFile(hint, 'utf8'), newest);
  await sameAsManifests(t, root);
});

test('metadata that a setting no longer keeps are removed, and made anew whole when it keeps them again', async (t) => {
  const root = await openDates(t);
  await onRoot(root, {}, async ({ root: open }) => open.sweep(Date.now(), null));
  t.false(existsSync(join(root, 'iceberg')));
  await closeDates(root);
  await sameAsManifests(t, root);
});

test('a table that nothing was published of has no metadata', async (t) => {
  t.false(existsSync(metadataFolder(await openDates(t), warnings.name)));
});
