import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { runInNewContext } from 'node:vm';
import { DuckDBInstance } from '@duckdb/node-api';
import test, { type ExecutionContext } from 'ava';
import { parquetReadObjects } from 'hyparquet';
import { compressors } from 'hyparquet-compressors';
import { z } from 'zod';
import { detectionConfidence } from '../pipeline/detect/detections.ts';
import { recordBatch } from '../pipeline/publish/live.ts';
import { readCurrent, readManifest, readNewest } from '../pipeline/publish/manifests.ts';
import { DAY_TYPE_PARAMETERS } from '../pipeline/simulate/weather.ts';
import { FeedState } from '../schemas/collections.ts';
import { columns } from '../schemas/columns.ts';
import { DATA_FORMAT } from '../schemas/data-format.ts';
import { detectionQuality } from '../schemas/geo/beam.ts';
import { destination } from '../schemas/geo/distance.ts';
import { Head } from '../schemas/head.ts';
import { CommittedScan, Current, Manifest, PublishedFile, RootName } from '../schemas/manifest.ts';
import { survival } from '../schemas/nowcast/probability.ts';
import { Settings } from '../schemas/settings.ts';
import { mesh75OfShi, mesh95OfShi, poshOfShi, SIZE_BANDS, shiOfMesh } from '../schemas/size.ts';
import { TABLES } from '../schemas/tables/index.ts';
import { MOTION_SOURCES, TRACK_STATES, TREND_WORDS } from '../schemas/tables/radar.ts';
import { openArchive } from './support/data/archive.ts';
import { TYPE_WORDS, unitWord, withColumnTables } from './support/data/column-tables.ts';
import {
  codeBlocks,
  codeSpans,
  firstTable,
  PROJECT,
  readDocument,
  sectionOf,
  statementsOf,
  tables,
} from './support/data/markdown.ts';
import { pythonTest, runOn } from './support/data/python.ts';
import { pluck } from './support/data/rows.ts';
import { midnight, publishedRoot } from './support/data/world.ts';

const README = readDocument('README.md');
const FILES = readDocument('api/docs/files.md');
const OPERATE = readDocument('api/docs/operate.md');
const PACKAGES = readDocument('.github/PACKAGES.md');
const DATE = '2026-05-01';

const Place = z.object({ lat: z.number(), lon: z.number(), max_mm: z.number(), max_time: z.string() });

test.serial('the SQL runs as printed and gives the largest hail that scans saw at each place of a date', async (t) => {
  const root = await publishedRoot(t, await midnight());
  const before = process.cwd();
  process.chdir(root);
  t.teardown(() => process.chdir(before));
  const connection = await (await DuckDBInstance.create()).connect();
  const all = statementsOf(codeBlocks(FILES, 'sql').find((sql) => sql.includes('head.json')) ?? '');
  for (const statement of all.slice(0, -1)) await connection.run(statement);
  const found = z.array(Place).parse((await connection.runAndReadAll(all.at(-1) ?? '')).getRowObjectsJson());

  const largest = new Map<string, number>();
  const manifest = await readNewest(root, DATE);
  for (const { path } of manifest?.files.filter((file) => file.table === 'day-max') ?? []) {
    const { buffer, byteOffset, length } = readFileSync(join(root, path));
    const file = buffer.slice(byteOffset, byteOffset + length) as ArrayBuffer;
    for (const { lat, lon, max_mm, interpolated } of await parquetReadObjects({ file, compressors }))
      if (!interpolated) largest.set(`${lat} ${lon}`, Math.max(largest.get(`${lat} ${lon}`) ?? 0, max_mm));
  }
  const sizes = [...largest.values()].sort((a, b) => b - a);
  t.is(found.length, 10);
  t.deepEqual(pluck(found, 'max_mm'), sizes.slice(0, 10));
  for (const { lat, lon, max_mm } of found) t.is(largest.get(`${lat} ${lon}`), max_mm);
});

test('the settings of the guide for operators are those of the schema', (t) => {
  const named = firstTable(sectionOf(OPERATE, '## Settings')).flatMap(([name = '']) => codeSpans(name));
  t.deepEqual(named.sort(), Object.keys(Settings.shape).sort());
});

test('the page of packages names those of package.json', (t) => {
  const manifest = JSON.parse(readDocument('package.json')) as Record<string, Record<string, string>>;
  const named = firstTable(PACKAGES).flatMap(([name = '']) => codeSpans(name));
  const used = ['dependencies', 'devDependencies', 'optionalDependencies'].flatMap((kind) =>
    Object.keys(manifest[kind] ?? {}),
  );
  const unnamed = used.filter((name) => !named.includes(name.replace(/^@types\/.*/, '@types/*')));
  t.deepEqual(unnamed, []);
  const unused = named.filter((name) => name !== '@types/*' && !used.includes(name));
  t.deepEqual(unused, []);
});

test('the map of the README names every folder with sources or a README', (t) => {
  const named = firstTable(sectionOf(README, '## The map of folders')).map(([name = '']) => codeSpans(name)[0]);
  const folders = readdirSync(PROJECT, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && !entry.name.startsWith('.') && entry.name !== 'node_modules')
    .filter(({ name }) =>
      readdirSync(join(PROJECT, name)).some((file) => file.endsWith('.ts') || file === 'README.md'),
    );
  t.deepEqual(named.toSorted(), folders.map(({ name }) => `${name}/`).sort());
});

test('the README shows every picture of the map, each a PNG file below 300 kB', (t) => {
  const pictures = readdirSync(join(PROJECT, 'data/examples')).filter((name) => name.endsWith('.png'));
  t.is(pictures.length, 2);
  for (const name of pictures) {
    const bytes = readFileSync(join(PROJECT, 'data/examples', name));
    t.is(bytes.toString('latin1', 1, 4), 'PNG');
    t.true(bytes.length < 300_000, name);
    t.true(README.includes(`](data/examples/${name})`), name);
    t.true(readDocument('test/support/browser/readme-pictures.ts').includes(`'${name}'`), name);
  }
});

/** Every document of the project; those that lie in a data root or in installed packages are no part of it. */
const DOCUMENTS = ['', '.github', 'schemas', 'pipeline', 'api', 'test', 'data']
  .flatMap((folder) => {
    const deep = !['', 'data'].includes(folder);
    const names = readdirSync(join(PROJECT, folder), { recursive: deep, encoding: 'utf8' });
    return names.map((name) => join(folder, name));
  })
  .concat(
    ['data/reference', 'data/examples'].flatMap((folder) =>
      readdirSync(join(PROJECT, folder), { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)),
    ),
  )
  .filter((name) => name.endsWith('.md'));

/** Anchors of the headings of a document, as the common renderers make them. */
function anchorsOf(text: string): string[] {
  const headings = text.replaceAll(/^```[\s\S]*?^```$/gm, '').matchAll(/^#+ (.+)$/gm);
  return [...headings].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  );
}

/** What is wrong with a link of a document; null when it leads somewhere. */
function brokenLink(document: string, link: string): string | null {
  const [path = '', anchor] = link.split('#');
  const target = path === '' ? document : join(dirname(document), path);
  if (!existsSync(join(PROJECT, target))) return `${link}: ${target} does not exist`;
  if (anchor === undefined || anchorsOf(readDocument(target)).includes(anchor)) return null;
  return `${link}: ${target} has no heading for it`;
}

for (const document of DOCUMENTS)
  test(`every link of ${document} leads to a file or heading that exists`, (t) => {
    const text = readDocument(document).replaceAll(/^```[\s\S]*?^```$/gm, '');
    const links = [...text.matchAll(/\]\(([^)\s]+)\)/g)]
      .map(([, link = '']) => link)
      .filter((link) => !link.includes('://'));
    const broken = links.map((link) => brokenLink(document, link)).filter((fault) => fault !== null);
    t.deepEqual(broken, []);
  });

test('there are documents for every side, for the files and for contributors', (t) => {
  for (const name of ['README.md', 'api/README.md', 'pipeline/README.md', 'pipeline/SCIENCE.md', 'schemas/README.md'])
    t.true(DOCUMENTS.includes(name), name);
  for (const name of ['data/README.md', 'data/reference/README.md', '.github/CONTRIBUTING.md'])
    t.true(DOCUMENTS.includes(name), name);
});

test('the columns of make help are aligned', (t) => {
  const help = spawnSync('make', ['--no-print-directory', 'help'], { cwd: PROJECT, encoding: 'utf8' })
    .stdout.trimEnd()
    .split('\n');
  const starts = help.map((line) => /^ {2}make [a-z-]+ +/.exec(line)?.[0].length);
  t.true(help.length > 8);
  t.deepEqual(new Set(starts), new Set(['  make test-records '.length]));
});

const CHANGELOG = readDocument('.github/CHANGELOG.md');
const releases = [...CHANGELOG.matchAll(/^## (\S+)$/gm)].map(([, version = '']) => version);

test('the newest version of the changelog is that of package.json, and of the changes of the interface', (t) => {
  const { version } = z.object({ version: z.string() }).parse(JSON.parse(readDocument('package.json')));
  t.is(releases[0], version);
  t.is(/^### (\d\S*)$/m.exec(readDocument('api/docs/changes.md'))?.[1], version);
});

test('versions of the changelog fall, and each has what a reader looks for', (t) => {
  const number = (version: string) =>
    version.split('.').reduce((sum, part) => 1000 * sum + z.coerce.number().int().parse(part), 0);
  t.true(releases.length > 1);
  const falling = releases.toSorted((a, b) => number(b) - number(a));
  t.deepEqual(releases, falling);
  for (const version of releases) {
    const headings = [...sectionOf(CHANGELOG, `## ${version}`).matchAll(/^### (.+)$/gm)].map(([, name]) => name);
    const known = ['Added', 'Changed', 'Deprecated', 'Removed', 'Fixed', 'Security', 'Upgrade'];
    t.true(headings.length > 0, version);
    const ordered = known.filter((name) => headings.includes(name));
    t.deepEqual(headings, ordered, version);
  }
});

test('the data format is named in the changelog and in the description of the files', (t) => {
  t.regex(sectionOf(readDocument('data/README.md'), '## Data formats'), new RegExp(`: ${DATA_FORMAT} in this release`));
  t.regex(CHANGELOG, new RegExp(`data format ${DATA_FORMAT}\\b`, 'i'));
});
const DOCUMENT = readDocument('data/README.md');

const sectionNames = [...sectionOf(DOCUMENT, '## Tables').matchAll(/^### (.+)$/gm)].map(([, name]) => name);

test('every published table has its section, in the order of the schemas', (t) =>
  t.deepEqual(sectionNames, pluck(TABLES, 'name')));

test("the tables of columns are those that 'npm run columns' writes", (t) =>
  t.is(withColumnTables(DOCUMENT), DOCUMENT, "run 'npm run columns' and commit data/README.md"));

for (const table of TABLES) {
  const section = () => sectionOf(DOCUMENT, `### ${table.name}`);

  test(`the columns of ${table.name} are those of its schema: name, type, unit, meaning`, (t) => {
    const expected = columns(table).map((column) => {
      const type = `${TYPE_WORDS[column.type]}${column.nullable ? '?' : ''}`;
      return [`\`${column.name}\``, type, unitWord(column), column.description];
    });
    t.deepEqual(firstTable(section()), expected);
  });

  test(`the version and the order of ${table.name} are those of its schema`, (t) =>
    t.true(section().includes(`Version ${table.schema_version}. Sorted by \`${table.order}\`.`)));
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
    const named = firstTable(sectionOf(DOCUMENT, heading)).flatMap(([name = '']) => codeSpans(name));
    t.deepEqual(named, Object.keys(shape.shape));
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
    const rows = firstTable(sectionOf(DOCUMENT, heading));
    const described = rows.map(([layer = '', , fields = '']) => [layer, fields].flatMap(codeSpans));
    const layers = metadata.vector_layers as { id: string; fields: object }[];
    const published = layers.map(({ id, fields }) => [id, ...Object.keys(fields)]);
    t.deepEqual(described, published);
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
  const found = rows.map(({ track_id, estimated_size_mm }) => ({ track_id, mm: estimated_size_mm }));
  const expected = storms.map(({ track_id, mm }) => ({ track_id, mm }));
  t.deepEqual(found, expected);
});

test.serial('the SQL of the swath tiers gives nested tiers with their geometry', async (t) => {
  const root = await publishedRoot(t, await midnight());
  const rows = await runSql(t, 'DuckDB: the swath tiers of a date', root);
  t.deepEqual(pluck(rows.slice(0, 2), 'threshold_mm'), [19, 25]);
  t.deepEqual(pluck(rows.slice(0, 2), 'category'), ['nickel', 'quarter']);
  t.true(rows.every(({ wkt }) => String(wkt).startsWith('MULTIPOLYGON (((')));
  const areas = rows.map(({ area_km2 }) => Number(area_km2));
  const falling = areas.toSorted((a, b) => b - a);
  t.deepEqual(areas, falling);
});

pythonTest('the Python of the standard library finds files as listed and reads an archive', ['json'], async (t) => {
  const root = await publishedRoot(t, await midnight());
  const title = 'Python, standard library alone: check what is published, look into an archive';
  const printed = await runPython(title, root);
  const current = await readCurrent(root);
  t.true(printed.startsWith(`newest scan ${current?.scan_id} simulated\n`));
  for (const [date, commit] of Object.entries(current?.open_dates ?? {})) {
    const manifest = await readManifest(root, date, commit);
    t.true(printed.includes(`\n${date} ${manifest?.files.length} files as listed\n`));
    t.regex(printed, new RegExp(`^Hail ${date} hail in \\[-\\d`, 'm'));
  }
});

pythonTest('the Python with pyarrow prints the largest live cells', ['pyarrow'], async (t) => {
  const root = await publishedRoot(t, await midnight());
  const [head = '', ...cells] = (await runPython('Python with pyarrow: the live cells', root)).trim().split('\n');
  t.regex(head, /^[1-9]\d* cells, simulated$/);
  const sizes = cells.map((line) => Number(line.split(' ').at(-1)));
  t.is(sizes.length, 5);
  const falling = sizes.toSorted((a, b) => b - a);
  t.deepEqual(sizes, falling);
});

test('the JavaScript with hyparquet counts the detections that the list counts', async (t) => {
  const root = await publishedRoot(t, await midnight());
  const files = (await readNewest(root, DATE))?.files.filter(({ table }) => table === 'detections') ?? [];
  const count = files.reduce((sum, { rows }) => sum + rows, 0);
  const largest = Math.max(...files.map(({ max_size_mm }) => max_size_mm ?? 0));
  const printed = await runJavaScript('JavaScript with hyparquet: the detections of a date', root);
  t.is(printed, `${count} detections, largest ${largest} mm\n`);
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
  const expected = Object.keys(current?.open_dates ?? {}).map((date) => `${date} (simulated): tiers from 19\n`);
  t.is(printed.trim().replaceAll(/(?<=tiers from 19).*/g, ''), expected.join('').trim());
});
const PAGE = 'pipeline/SCIENCE.md';
const SCIENCE = readDocument(PAGE);

/** A number as the page writes it: a true minus, thin spaces between thousands, a fraction, and a unit behind. */
function printedNumber(text: string): number {
  const [, first = '', second] = /^(−?\d[\d .]*\d|−?\d)(?: \/ (\d+))?(?=\s|$)/.exec(text) ?? [];
  const value = Number(first.replaceAll(' ', '').replace('−', '-'));
  return second === undefined ? value : value / Number(second);
}

/** Value of a constant as the source declares it, or of a key of it; it may be made of numbers, not of other constants. */
function declaredValue(source: string, name: string): unknown {
  const [constant = '', key] = name.split('.');
  const declaration = new RegExp(`^(?:export )?const ${constant}(?:: [^=]+)? = ([^;]+?)(?: as const)?;`, 'm').exec(
    source,
  );
  if (declaration === null) return undefined;
  const value: unknown = runInNewContext(`(${declaration[1]})`);
  return key === undefined ? value : (value as Record<string, unknown>)[key];
}

const constants = tables(SCIENCE)
  .flat()
  .flatMap(([first = '', value = '']) => {
    const [, name, path] = /^\[`([\w.]+)`\]\(([^)]+)\)$/.exec(first) ?? [];
    return name === undefined || path === undefined ? [] : [{ name, path: join(dirname(PAGE), path), value }];
  });

test('the page lists the constants of every stage', (t) => {
  const folders = new Set(constants.map(({ path }) => dirname(path)));
  for (const stage of ['detect', 'track', 'swath', 'forecast', 'read', 'sources'])
    t.true(folders.has(`pipeline/${stage}`));
  t.true(constants.length > 100);
});

for (const { name, path, value } of constants)
  test(`${name} of ${path} is ${value} there too`, (t) =>
    t.is(declaredValue(readDocument(path), name), printedNumber(value)));

/** Numbers of the table of worked values that follows a heading and begins with a column of this name. */
function workedValues(heading: string, firstColumn: string): number[][] {
  const section = sectionOf(SCIENCE, heading);
  const table = firstTable(section.slice(section.indexOf(`| ${firstColumn}`)));
  return table.map((row) => row.map(printedNumber));
}

test('the sizes of the page follow from its laws', (t) => {
  const rows = workedValues('## Hail size', 'MESH mm |');
  t.true(rows.length > 4);
  for (const [mesh = 0, ...expected] of rows) {
    const shi = shiOfMesh(mesh);
    const found = [shi, mesh75OfShi(shi), mesh95OfShi(shi)].map((value) => Number(value.toFixed(1)));
    t.deepEqual([...found, Math.round(poshOfShi(shi, 2.5)), Math.round(poshOfShi(shi, 4))], expected, `${mesh} mm`);
  }
});

test('the categories of the page are those of the code', (t) => {
  const [, bounds = ''] = /^Categories begin at ([^:]+):/m.exec(SCIENCE) ?? [];
  const named = [...bounds.matchAll(/(\d+)[^(]*\(([a-z ]+)\)/g)].map(([, mm, word = '']) => [
    Number(mm),
    word.replace(' ', '_'),
  ]);
  const expected = SIZE_BANDS.map(({ threshold_mm, category }) => [threshold_mm, category]);
  t.deepEqual(named, expected);
});

test('the confidences of the page follow from its weights', (t) => {
  const rows = workedValues('## Detections', 'MESH mm |');
  t.true(rows.length > 4);
  for (const [mesh_mm = 0, scan_count = 0, posh_pct = 0, hdqi = 0, expected] of rows) {
    const confidence = detectionConfidence({ mesh_mm, scan_count, posh_pct, hdqi, small: false, spike: false });
    t.is(Number(confidence.toFixed(3)), expected, `${mesh_mm} mm`);
  }
});

test('the survivals of the page follow from its constant', (t) => {
  const rows = workedValues('## Nowcast', 'lead min |');
  t.true(rows.length > 3);
  for (const [lead = 0, expected] of rows) t.is(Number(survival(lead).toFixed(3)), expected, `${lead} min`);
});

test('the quality index of the page is that of one radar on flat ground', (t) => {
  const section = sectionOf(SCIENCE, '## Radar coverage');
  const line = (start: string) =>
    (section.split('\n').find((one) => one.startsWith(start)) ?? '')
      .split('|')
      .slice(2, -1)
      .map((cell) => Number(cell));
  const distances = line('| distance km, one radar');
  const radar = { id: 'TEST', lat: 38, lon: -98, antenna_m: 0 };
  t.is(distances.length, 7);
  const found = distances.map(
    (km) => detectionQuality(destination(radar, 90, km), { sites: [radar], freezing_level_km: 4, ground_m: 0 }).hdqi,
  );
  t.deepEqual(found, line('| hdqi |'));
});

test('the organised storms of the page are those of the simulator', (t) => {
  const section = sectionOf(SCIENCE, '## Simulated weather');
  const [days = '', , storms = ''] = section.split('\n').filter((line) => line.startsWith('|'));
  const cells = (line: string) =>
    line
      .split('|')
      .slice(2, -1)
      .map((cell) => cell.trim());
  const named = cells(days).map((day, index) => [day, Number(cells(storms)[index])]);
  const expected = Object.entries(DAY_TYPE_PARAMETERS).map(([day, { organised_per_day }]) => [day, organised_per_day]);
  t.deepEqual(named, expected);
});

test('every section of the page that a comment cites is there', (t) => {
  const sections = new Set([...SCIENCE.matchAll(/^## (.+)$/gm)].map(([, name]) => name));
  const files = ['schemas', 'pipeline', 'api', 'test'].flatMap((folder) =>
    readdirSync(join(PROJECT, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .map((name) => join(folder, name)),
  );
  const citations = files.flatMap((file) =>
    [...readDocument(file).matchAll(/SCIENCE\.md, "([^"]+)"/g)].map(([, section = '']) => ({ file, section })),
  );
  t.true(citations.length > 3);
  const missing = citations.filter(({ section }) => !sections.has(section));
  t.deepEqual(missing, []);
});
