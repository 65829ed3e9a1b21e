import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import test from 'ava';

const root = fileURLToPath(new URL('..', import.meta.url));
const SIDES = ['schemas', 'pipeline', 'api'];

/** Floors from the ground up; a file may import from its own floor's earlier entries, and from every floor below. */
const FLOORS: readonly (readonly RegExp[])[] = [
  [/^schemas\/[^/]+\.ts$/, /^schemas\/geo\//, /^schemas\/reference\//],
  [/^schemas\/tables\//, /^schemas\/resources\//, /^schemas\/nowcast\//],
  // The map page runs in browsers: of the service it knows the interface alone.
  [/^api\/viewer\//],
  [
    /^pipeline\/(error|grid|duckdb|files|json|log|config|raw-file|storm-paths|worker-pool)\.ts$/,
    /^pipeline\/grib2\//,
    /^api\/config\.ts$/,
    /^api\/(http|published)\//,
  ],
  [
    /^pipeline\/(sources|read|simulate|detect|track|swath|tiles)\//,
    /^api\/(rules|queries|records|accounts|billing|pdf)\//,
  ],
  [
    /^pipeline\/(publish|catalogues)\/|^pipeline\/feed\.ts$/,
    /^api\/(jobs|webhooks|alerts|portfolio|metrics)\//,
    /^api\/(services\.ts$|server\/)/,
  ],
  [/^pipeline\/(scans|feeds|forecast)\//, /^api\/(routes|legacy|docs)\//, /^api\/workers\.ts$/],
  [/^pipeline\/metrics\//],
  [/^(pipeline|api)\/commands\//],
  [/^(pipeline|api)\/main\.ts$/],
];

/**
 * Stages of the pipeline: none imports another, so that each can be read and tested alone. `grib2` is a package that any stage may import.
 */
const STAGE = /^pipeline\/(sources|read|simulate|detect|track|swath|tiles)\//;

/** Rooms of the pipeline on one floor, each for one flow of files; what two of them need stands below. */
const ROOM = /^pipeline\/(scans|feeds|forecast)\//;

/** Rings between folders that are known and still to be opened: folders in order of their names. */
const KNOWN_RINGS: readonly string[] = [];

interface Import {
  readonly from: string;
  readonly to: string;
}

const files = SIDES.flatMap((side) => sourceFiles(side));
const imports = files.flatMap((file) => importsOf(file));

function sourceFiles(side: string): string[] {
  try {
    return readdirSync(join(root, side), { recursive: true, encoding: 'utf8' })
      .filter((name) => /\.tsx?$/.test(name) && !name.endsWith('.d.ts'))
      .map((name) => `${side}/${name}`)
      .sort();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

/** Imports of other files of the house, `import type` included. */
function importsOf(file: string): Import[] {
  const source = readFileSync(join(root, file), 'utf8');
  const found = [
    ...source.matchAll(
      /(?:^|\n)(?:import|export)\b[^;]*?from\s+'(\.[^']+)'|import\('(\.[^']+)'\)|new URL\('(\.[^']+\.tsx?)'/g,
    ),
  ];
  return found
    .map((match) => relative(root, join(root, dirname(file), (match[1] ?? match[2] ?? match[3]) as string)))
    .filter((to) => /\.tsx?$/.test(to))
    .map((to) => ({ from: file, to }));
}

function floorOf(file: string): number {
  return FLOORS.findIndex((floor) => floor.some((pattern) => pattern.test(file)));
}

test('every source file stands on a floor of the house', (t) => {
  const homeless = files.filter((file) => floorOf(file) === -1);
  t.deepEqual(homeless, []);
  t.true(files.length > 50);
});

test('the pipeline and the API never import each other', (t) => {
  const crossing = imports.filter(
    ({ from, to }) =>
      [from, to].some((file) => file.startsWith('pipeline/')) && [from, to].some((file) => file.startsWith('api/')),
  );
  t.deepEqual(crossing, []);
});

test('imports only go down the floors', (t) => {
  const upwards = imports.filter(({ from, to }) => floorOf(to) > floorOf(from));
  t.deepEqual(upwards, []);
});

for (const [title, pattern] of [
  ['no stage of the pipeline imports another stage', STAGE],
  ['scans, feeds and forecast do not import each other', ROOM],
] as const)
  test(title, (t) => {
    const roomOf = (file: string) => pattern.exec(file)?.[1] ?? null;
    const crossing = imports.filter(
      ({ from, to }) => roomOf(from) !== null && roomOf(to) !== null && roomOf(from) !== roomOf(to),
    );
    t.deepEqual(crossing, []);
  });

/** Folder of a file below its side, such as `pipeline/scans`; null for a file that lies directly in its side. */
function folderOf(file: string): string | null {
  const [side, folder, ...rest] = file.split('/');
  return rest.length === 0 ? null : `${side}/${folder}`;
}

/** Ways along imports that lead back to where they began, one for each import that closes one. */
function circlesOf(edges: readonly Import[]): string[][] {
  const targets = Map.groupBy(edges, ({ from }) => from);
  const done = new Set<string>();
  const circles: string[][] = [];
  const visit = (place: string, path: readonly string[]) => {
    if (path.includes(place)) circles.push(path.slice(path.indexOf(place)));
    if (done.has(place) || path.includes(place)) return;
    for (const { to } of targets.get(place) ?? []) visit(to, [...path, place]);
    done.add(place);
  };
  for (const place of targets.keys()) visit(place, []);
  return circles;
}

/** A package in its own right: `index.ts` is its only door, and it can be taken out of the house as it is. */
const GRIB2 = 'pipeline/grib2/';

test('nothing outside grib2 imports past its index', (t) => {
  const past = imports.filter(
    ({ from, to }) => !from.startsWith(GRIB2) && to.startsWith(GRIB2) && to !== `${GRIB2}index.ts`,
  );
  t.deepEqual(past, []);
});

test('grib2 imports nothing from outside but pipeline/error.ts and packages', (t) => {
  const inside = imports.filter(({ from }) => from.startsWith(GRIB2));
  const outwards = inside.filter(({ to }) => !to.startsWith(GRIB2) && to !== 'pipeline/error.ts');
  t.deepEqual(outwards, []);
  t.true(inside.length > 0);
});

test('no imports run in a circle, types included', (t) => {
  const circles = circlesOf(imports).map((circle) => circle.join(' -> '));
  t.deepEqual(circles, []);
});

test('no folders import each other in a circle, types included', (t) => {
  const edges = imports.flatMap(({ from, to }) => {
    const [a, b] = [folderOf(from), folderOf(to)];
    return a === null || b === null || a === b ? [] : [{ from: a, to: b }];
  });
  t.deepEqual([...new Set(circlesOf(edges).map((circle) => circle.toSorted().join(', ')))].sort(), KNOWN_RINGS);
  t.deepEqual(circlesOf(['xy', 'yx'].map(([from = '', to = '']) => ({ from, to }))), [['x', 'y']]);
});

test('the environment is read in the two config.ts only', (t) => {
  const readers = files.filter((file) => /process\.env\b/.test(readFileSync(join(root, file), 'utf8')));
  const others = readers.filter((file) => file !== 'pipeline/config.ts' && file !== 'api/config.ts');
  t.deepEqual(others, []);
});

test('nothing that runs looks beside the project', (t) => {
  const outside = files.filter((file) => readFileSync(join(root, file), 'utf8').includes('../shared'));
  t.deepEqual(outside, []);
});
