import { readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { runInNewContext } from 'node:vm';
import test from 'ava';
import { detectionConfidence } from '../pipeline/detect/detections.ts';
import { DAY_TYPE_PARAMETERS } from '../pipeline/simulate/weather.ts';
import { detectionQuality } from '../schemas/geo/beam.ts';
import { destination } from '../schemas/geo/distance.ts';
import { survival } from '../schemas/nowcast/probability.ts';
import { mesh75OfShi, mesh95OfShi, poshOfShi, SIZE_BANDS, shiOfMesh } from '../schemas/size.ts';
import { firstTable, PROJECT, readDocument, sectionOf, tables } from './support/data/markdown.ts';

const PAGE = 'pipeline/SCIENCE.md';
const DOCUMENT = readDocument(PAGE);

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

const constants = tables(DOCUMENT)
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
  test(`${name} of ${path} is ${value} there too`, (t) => {
    t.is(declaredValue(readDocument(path), name), printedNumber(value));
  });

/** Numbers of the table of worked values that follows a heading and begins with a column of this name. */
function workedValues(heading: string, firstColumn: string): number[][] {
  const section = sectionOf(DOCUMENT, heading);
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
  const [, bounds = ''] = /^Categories begin at ([^:]+):/m.exec(DOCUMENT) ?? [];
  t.deepEqual(
    [...bounds.matchAll(/(\d+)[^(]*\(([a-z ]+)\)/g)].map(([, mm, word = '']) => [Number(mm), word.replace(' ', '_')]),
    SIZE_BANDS.map(({ threshold_mm, category }) => [threshold_mm, category]),
  );
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
  const section = sectionOf(DOCUMENT, '## Radar coverage');
  const line = (start: string) =>
    (section.split('\n').find((one) => one.startsWith(start)) ?? '')
      .split('|')
      .slice(2, -1)
      .map((cell) => Number(cell));
  const distances = line('| distance km, one radar');
  const radar = { id: 'TEST', lat: 38, lon: -98, antenna_m: 0, ground_m: 0 };
  t.is(distances.length, 7);
  t.deepEqual(
    distances.map((km) => detectionQuality(destination(radar, 90, km), { sites: [radar], freezing_level_km: 4 }).hdqi),
    line('| hdqi |'),
  );
});

test('the organised storms of the page are those of the simulator', (t) => {
  const section = sectionOf(DOCUMENT, '## Simulated weather');
  const [days = '', , storms = ''] = section.split('\n').filter((line) => line.startsWith('|'));
  const cells = (line: string) =>
    line
      .split('|')
      .slice(2, -1)
      .map((cell) => cell.trim());
  t.deepEqual(
    cells(days).map((day, index) => [day, Number(cells(storms)[index])]),
    Object.entries(DAY_TYPE_PARAMETERS).map(([day, { organised_per_day }]) => [day, organised_per_day]),
  );
});

test('every section of the page that a comment cites is there', (t) => {
  const sections = new Set([...DOCUMENT.matchAll(/^## (.+)$/gm)].map(([, name]) => name));
  const files = ['schemas', 'pipeline', 'api', 'test'].flatMap((folder) =>
    readdirSync(join(PROJECT, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .map((name) => join(folder, name)),
  );
  const citations = files.flatMap((file) =>
    [...readDocument(file).matchAll(/SCIENCE\.md, "([^"]+)"/g)].map(([, section = '']) => ({ file, section })),
  );
  t.true(citations.length > 3);
  t.deepEqual(
    citations.filter(({ section }) => !sections.has(section)),
    [],
  );
});
