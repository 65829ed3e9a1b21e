import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import test from 'ava';
import { parquetReadObjects } from 'hyparquet';
import { compressors } from 'hyparquet-compressors';
import { z } from 'zod';
import { readNewest } from '../pipeline/publish/manifests.ts';
import { DATA_FORMAT } from '../schemas/data-format.ts';
import { Settings } from '../schemas/settings.ts';
import {
  codeBlocks,
  codeSpans,
  firstTable,
  PROJECT,
  readDocument,
  sectionOf,
  statementsOf,
} from './support/data/markdown.ts';
import { midnight, publishedRoot } from './support/data/world.ts';

const README = readDocument('README.md');
const FILES = readDocument('api/docs/files.md');
const OPERATE = readDocument('api/docs/operate.md');
const PACKAGES = readDocument('.github/PACKAGES.md');
const DATE = '2026-05-01';

const Place = z.object({ lat: z.number(), lon: z.number(), max_mm: z.number(), max_time: z.string() });

test.serial(
  'the SQL runs as printed in a data root and gives the largest hail that scans saw at each place of the date',
  async (t) => {
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
    t.deepEqual(
      found.map(({ max_mm }) => max_mm),
      sizes.slice(0, 10),
    );
    for (const { lat, lon, max_mm } of found) t.is(largest.get(`${lat} ${lon}`), max_mm);
  },
);

test('the settings of the guide for operators are those of the schema', (t) => {
  t.deepEqual(
    firstTable(sectionOf(OPERATE, '## Settings'))
      .flatMap(([name = '']) => codeSpans(name))
      .sort(),
    Object.keys(Settings.shape).sort(),
  );
});

test('the page of packages names those of package.json', (t) => {
  const manifest = JSON.parse(readDocument('package.json')) as Record<string, Record<string, string>>;
  const named = firstTable(PACKAGES).flatMap(([name = '']) => codeSpans(name));
  const used = ['dependencies', 'devDependencies', 'optionalDependencies'].flatMap((kind) =>
    Object.keys(manifest[kind] ?? {}),
  );
  t.deepEqual(
    used.filter((name) => !named.includes(name.replace(/^@types\/.*/, '@types/*'))),
    [],
  );
  t.deepEqual(
    named.filter((name) => name !== '@types/*' && !used.includes(name)),
    [],
  );
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
    t.deepEqual(
      links.map((link) => brokenLink(document, link)).filter((fault) => fault !== null),
      [],
    );
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
  t.deepEqual(
    releases,
    releases.toSorted((a, b) => number(b) - number(a)),
  );
  for (const version of releases) {
    const headings = [...sectionOf(CHANGELOG, `## ${version}`).matchAll(/^### (.+)$/gm)].map(([, name]) => name);
    const known = ['Added', 'Changed', 'Deprecated', 'Removed', 'Fixed', 'Security', 'Upgrade'];
    t.true(headings.length > 0, version);
    t.deepEqual(
      headings,
      known.filter((name) => headings.includes(name)),
      version,
    );
  }
});

test('the data format is named in the changelog and in the description of the files', (t) => {
  t.regex(sectionOf(readDocument('data/README.md'), '## Data formats'), new RegExp(`: ${DATA_FORMAT} in this release`));
  t.regex(CHANGELOG, new RegExp(`data format ${DATA_FORMAT}\\b`, 'i'));
});
