import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import test, { type ExecutionContext } from 'ava';
import { recordBatch } from '../pipeline/publish/live.ts';
import { readCurrent, readManifest, readNewest } from '../pipeline/publish/manifests.ts';
import { FeedState } from '../schemas/collections.ts';
import { columns } from '../schemas/columns.ts';
import { Head } from '../schemas/head.ts';
import { CommittedScan, Current, Manifest, PublishedFile, RootName } from '../schemas/manifest.ts';
import { TABLES } from '../schemas/tables/index.ts';
import { MOTION_SOURCES, TRACK_STATES, TREND_WORDS } from '../schemas/tables/radar.ts';
import { openArchive } from './support/data/archive.ts';
import { TYPE_WORDS, unitWord, withColumnTables } from './support/data/column-tables.ts';
import { codeBlocks, codeSpans, firstTable, readDocument, sectionOf, statementsOf } from './support/data/markdown.ts';
import { pythonTest, runOn } from './support/data/python.ts';
import { midnight, publishedRoot } from './support/data/world.ts';

const DOCUMENT = readDocument('data/README.md');
const DATE = '2026-05-01';

const sectionNames = [...sectionOf(DOCUMENT, '## Tables').matchAll(/^### (.+)$/gm)].map(([, name]) => name);

test('every published table has its section, in the order of the schemas', (t) => {
  t.deepEqual(
    sectionNames,
    TABLES.map(({ name }) => name),
  );
});

test("the tables of columns are those that 'npm run columns' writes", (t) => {
  t.is(withColumnTables(DOCUMENT), DOCUMENT, "run 'npm run columns' and commit data/README.md");
});

for (const table of TABLES) {
  const section = () => sectionOf(DOCUMENT, `### ${table.name}`);

  test(`the columns of ${table.name} are those of its schema: name, type, unit, meaning`, (t) => {
    t.deepEqual(
      firstTable(section()),
      columns(table).map((column) => [
        `\`${column.name}\``,
        `${TYPE_WORDS[column.type]}${column.nullable ? '?' : ''}`,
        unitWord(column),
        column.description,
      ]),
    );
  });

  test(`the version and the order of ${table.name} are those of its schema`, (t) => {
    t.true(section().includes(`Version ${table.schema_version}. Sorted by \`${table.order}\`.`));
  });
}

test('the words of tracks are those of the schema', (t) => {
  const words = codeSpans(sectionOf(DOCUMENT, '### tracks').trimEnd().split('\n\n').at(-1) ?? '').filter(
    (word) => !['state', 'trend', 'motion_source'].includes(word),
  );
  t.deepEqual([...new Set(words)], [...TRACK_STATES, ...TREND_WORDS, ...MOTION_SOURCES]);
});

const ARROW_TYPES: Readonly<Record<string, string>> = {
  bool: 'Bool',
  int32: 'Int32',
  double: 'Float64',
  string: 'Utf8',
  uint16: 'Uint16',
  int64: 'Float64',
  date: 'Utf8',
  timestamp: 'Timestamp<MILLISECOND, UTC>',
};

test('the Arrow types are those that live files are written with', (t) => {
  for (const table of TABLES)
    for (const [index, column] of columns(table).entries()) {
      const word = TYPE_WORDS[column.type];
      if (word !== 'geometry')
        t.is(String(recordBatch(table, []).schema.fields[index]?.type), ARROW_TYPES[word], column.name);
    }
});

for (const [heading, shape] of [
  ['### Manifest', Manifest],
  ['### Scan of a manifest', CommittedScan],
  ['### File of a manifest', PublishedFile],
  ['### head.json', Head.shape.scans],
  ['### current.json', Current],
  ['### root.json', RootName],
  ['### feeds.json', FeedState],
] as const)
  test(`the fields under '${heading.slice(4)}' are those of its schema`, (t) => {
    t.deepEqual(
      firstTable(sectionOf(DOCUMENT, heading)).flatMap(([name = '']) => codeSpans(name)),
      Object.keys(shape.shape),
    );
  });

for (const [heading, kind, max_zoom, own] of [
  ['### Scan tiles', 'scan-tiles', 10, ['hail_bounds', 'uncovered']],
  ['### Reflectivity tiles', 'reflectivity-tiles', 6, ['uncovered']],
  ['### Daily tiles', 'daily-tiles', 10, ['hail_bounds']],
] as const)
  test(`the layers under '${heading.slice(4)}' and the metadata are those of a published archive`, async (t) => {
    const root = await publishedRoot(t, await midnight(), { reflectivity_keep_hours: 48 });
    const manifest = await readNewest(root, DATE);
    const file = manifest?.files.find((one) => one.kind === kind);
    const { header, metadata } = await openArchive(new Uint8Array(readFileSync(join(root, file?.path ?? ''))));
    t.deepEqual([header.specVersion, header.minZoom, header.maxZoom], [3, 0, max_zoom]);
    t.deepEqual(
      firstTable(sectionOf(DOCUMENT, heading)).map(([layer = '', , fields = '']) => [
        ...codeSpans(layer),
        ...codeSpans(fields),
      ]),
      (metadata.vector_layers as { id: string; fields: object }[]).map(({ id, fields }) => [
        id,
        ...Object.keys(fields),
      ]),
    );
    const keys = firstTable(sectionOf(DOCUMENT, '## Tiles')).flatMap(([name = '']) => codeSpans(name));
    t.deepEqual(Object.keys(metadata), [...keys.filter((key) => key !== 'uncovered' && key !== 'hail_bounds'), ...own]);
  });

const example = (title: string) => sectionOf(DOCUMENT, `### ${title}`);
const runPython = (title: string, root: string) =>
  runOn(root, 'python3', ['-c', codeBlocks(example(title), 'python')[0] ?? '']);
const runJavaScript = (title: string, root: string) =>
  runOn(root, process.execPath, ['--input-type=module', '-e', codeBlocks(example(title), 'js')[0] ?? '']);

/** Rows of the last statement of an SQL example, run in a data root. */
async function runSql(t: ExecutionContext, title: string, root: string): Promise<Record<string, unknown>[]> {
  const before = process.cwd();
  process.chdir(root);
  t.teardown(() => process.chdir(before));
  const connection = await (await DuckDBInstance.create()).connect();
  const statements = statementsOf(codeBlocks(example(title), 'sql')[0] ?? '');
  for (const statement of statements.slice(0, -1)) await connection.run(statement);
  return (await connection.runAndReadAll(statements.at(-1) ?? '')).getRowObjectsJson();
}

test.serial('the SQL of the storms of the newest scan gives the tracked storms of the last frame', async (t) => {
  const root = await publishedRoot(t, await midnight());
  const rows = await runSql(t, 'DuckDB: the storms of the newest scan', root);
  const current = await readCurrent(root);
  const connection = await (await DuckDBInstance.create()).connect();
  const manifest = await readNewest(root, '2026-05-02');
  const frames = manifest?.files.filter(({ table }) => table === 'frames').map(({ path }) => join(root, path)) ?? [];
  const frame = await connection.runAndReadAll(
    `SELECT storms FROM read_parquet([${frames.map((path) => `'${path}'`).join()}]) WHERE scan_id = '${current?.scan_id}'`,
  );
  const storms = JSON.parse(String(frame.getRowObjectsJson()[0]?.storms)) as { track_id: string; mm: number }[];
  t.true(rows.length > 0);
  t.deepEqual(
    rows.map(({ track_id, estimated_size_mm }) => ({ track_id, mm: estimated_size_mm })),
    storms.map(({ track_id, mm }) => ({ track_id, mm })),
  );
});

test.serial('the SQL of the swath tiers gives nested tiers with their geometry', async (t) => {
  const root = await publishedRoot(t, await midnight());
  const rows = await runSql(t, 'DuckDB: the swath tiers of a date', root);
  t.deepEqual(
    rows.slice(0, 2).map(({ threshold_mm, category }) => [threshold_mm, category]),
    [
      [19, 'nickel'],
      [25, 'quarter'],
    ],
  );
  t.true(rows.every(({ wkt }) => String(wkt).startsWith('MULTIPOLYGON (((')));
  const areas = rows.map(({ area_km2 }) => Number(area_km2));
  t.deepEqual(
    areas,
    areas.toSorted((a, b) => b - a),
  );
});

pythonTest(
  'the Python of the standard library finds every file as listed and reads an archive',
  ['json'],
  async (t) => {
    const root = await publishedRoot(t, await midnight());
    const printed = await runPython(
      'Python, standard library alone: check what is published, look into an archive',
      root,
    );
    const current = await readCurrent(root);
    t.true(printed.startsWith(`newest scan ${current?.scan_id} simulated\n`));
    for (const [date, commit] of Object.entries(current?.open_dates ?? {})) {
      const manifest = await readManifest(root, date, commit);
      t.true(printed.includes(`\n${date} ${manifest?.files.length} files as listed\n`));
      t.regex(printed, new RegExp(`^Hail ${date} hail in \\[-\\d`, 'm'));
    }
  },
);

pythonTest('the Python with pyarrow prints the largest live cells', ['pyarrow'], async (t) => {
  const root = await publishedRoot(t, await midnight());
  const [head = '', ...cells] = (await runPython('Python with pyarrow: the live cells', root)).trim().split('\n');
  t.regex(head, /^[1-9]\d* cells, simulated$/);
  const sizes = cells.map((line) => Number(line.split(' ').at(-1)));
  t.is(sizes.length, 5);
  t.deepEqual(
    sizes,
    sizes.toSorted((a, b) => b - a),
  );
});

test('the JavaScript with hyparquet counts the detections that the list counts', async (t) => {
  const root = await publishedRoot(t, await midnight());
  const files = (await readNewest(root, DATE))?.files.filter(({ table }) => table === 'detections') ?? [];
  const count = files.reduce((sum, { rows }) => sum + rows, 0);
  const largest = Math.max(...files.map(({ max_size_mm }) => max_size_mm ?? 0));
  t.is(
    await runJavaScript('JavaScript with hyparquet: the detections of a date', root),
    `${count} detections, largest ${largest} mm\n`,
  );
});

test('the JavaScript with apache-arrow reads the live detections and their unit', async (t) => {
  const root = await publishedRoot(t, await midnight());
  const current = await readCurrent(root);
  const files = (await readManifest(root, '2026-05-02', current?.open_dates['2026-05-02'] ?? 0))?.files ?? [];
  const newest = files.filter(({ table }) => table === 'detections').reduce((sum, { rows }) => sum + rows, 0);
  const printed = await runJavaScript('JavaScript with apache-arrow: the live detections', root);
  const [, count = ''] = /^(\d+) detections, largest [\d.]+ mm\n$/.exec(printed) ?? [];
  t.true(Number(count) > newest);
});

test('the JavaScript with pmtiles reads the tiers of each open date from its lowest tile', async (t) => {
  const root = await publishedRoot(t, await midnight());
  const printed = await runJavaScript('JavaScript with pmtiles: the swaths of a tile', root);
  const current = await readCurrent(root);
  t.deepEqual(
    printed
      .trim()
      .split('\n')
      .map((line) => line.replace(/(?<=tiers from 19).*/, '')),
    Object.keys(current?.open_dates ?? {}).map((date) => `${date} (simulated): tiers from 19`),
  );
});
