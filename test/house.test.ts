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
  [
    /^pipeline\/(error|grid|duckdb|files|json|log|config|storm-paths|worker-pool)\.ts$/,
    /^pipeline\/read\/grib2\//,
    /^api\/(config|die|event-loop|observers|errors|decode|store|thread|duckdb|root-memory|catalog|live|terrain)\.ts$/,
  ],
  [
    /^pipeline\/(sources|read|simulate|detect|track|swath|forecast|derive|tiles|train)\//,
    /^api\/(rules|queries|http|files|records|queue|pdf)\//,
  ],
  [
    /^pipeline\/(publish|picture)\/|^pipeline\/feed\.ts$/,
    /^api\/(jobs|push|middleware)\//,
    /^api\/(state|endpoint|services)\.ts$/,
  ],
  [
    /^pipeline\/(scans|feeds|model-runs|climatology)\//,
    /^api\/(routes|legacy)\//,
    /^api\/(openapi(-\w+)?|workers|app)\.ts$/,
  ],
  [/^pipeline\/run\//],
  [/^(pipeline|api)\/commands\//],
  [/^(pipeline|api)\/main\.ts$/],
];

/**
 * Stages of the pipeline: none imports another, so that each can be read and tested alone. `train` is none: it fits and
 * measures what the others make. `picture` draws what is published, so it stands above `publish`. `read/grib2` is a package
 * that any stage may import.
 */
const STAGE = /^pipeline\/(?!read\/grib2\/)(sources|read|simulate|detect|track|swath|forecast|derive|tiles|picture)\//;

interface Import {
  readonly from: string;
  readonly to: string;
}

const files = SIDES.flatMap((side) => sourceFiles(side));
const imports = files.flatMap((file) => importsOf(file));

function sourceFiles(side: string): string[] {
  try {
    return readdirSync(join(root, side), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts') && !name.endsWith('.d.ts'))
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
      /(?:^|\n)(?:import|export)\b[^;]*?from\s+'(\.[^']+)'|import\('(\.[^']+)'\)|new URL\('(\.[^']+\.ts)'/g,
    ),
  ];
  return found
    .map((match) => relative(root, join(root, dirname(file), (match[1] ?? match[2] ?? match[3]) as string)))
    .filter((to) => to.endsWith('.ts'))
    .map((to) => ({ from: file, to }));
}

function floorOf(file: string): number {
  return FLOORS.findIndex((floor) => floor.some((pattern) => pattern.test(file)));
}

test('every source file stands on a floor of the house', (t) => {
  t.deepEqual(
    files.filter((file) => floorOf(file) === -1),
    [],
  );
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
  t.deepEqual(
    imports.filter(({ from, to }) => floorOf(to) > floorOf(from)),
    [],
  );
});

test('no stage of the pipeline imports another stage', (t) => {
  const stageOf = (file: string) => STAGE.exec(file)?.[1] ?? null;
  const crossing = imports.filter(
    ({ from, to }) => stageOf(from) !== null && stageOf(to) !== null && stageOf(from) !== stageOf(to),
  );
  t.deepEqual(crossing, []);
});

/** A package in its own right: `index.ts` is its only door, and it can be taken out of the house as it is. */
const GRIB2 = 'pipeline/read/grib2/';

test('nothing outside read/grib2 imports past its index', (t) => {
  const past = imports.filter(
    ({ from, to }) => !from.startsWith(GRIB2) && to.startsWith(GRIB2) && to !== `${GRIB2}index.ts`,
  );
  t.deepEqual(past, []);
});

test('read/grib2 imports nothing from outside but pipeline/error.ts and packages', (t) => {
  const inside = imports.filter(({ from }) => from.startsWith(GRIB2));
  t.deepEqual(
    inside.filter(({ to }) => !to.startsWith(GRIB2) && to !== 'pipeline/error.ts'),
    [],
  );
  t.true(inside.length > 0);
});

test('no imports run in a circle, types included', (t) => {
  const targets = Map.groupBy(imports, ({ from }) => from);
  const done = new Set<string>();
  const circles: string[] = [];
  const visit = (file: string, path: readonly string[]) => {
    if (path.includes(file)) circles.push([...path.slice(path.indexOf(file)), file].join(' -> '));
    if (done.has(file) || path.includes(file)) return;
    for (const { to } of targets.get(file) ?? []) visit(to, [...path, file]);
    done.add(file);
  };
  for (const file of files) visit(file, []);
  t.deepEqual(circles, []);
});

test('the environment is read in the two config.ts only', (t) => {
  const readers = files.filter((file) => /process\.env\b/.test(readFileSync(join(root, file), 'utf8')));
  t.deepEqual(
    readers.filter((file) => file !== 'pipeline/config.ts' && file !== 'api/config.ts'),
    [],
  );
});

test('nothing that runs looks beside the project', (t) => {
  const outside = files.filter((file) => readFileSync(join(root, file), 'utf8').includes('../shared'));
  t.deepEqual(outside, []);
});
