import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import test, { type ExecutionContext } from 'ava';
import { asyncBufferFromFile, parquetReadObjects } from 'hyparquet';
import { compressors } from 'hyparquet-compressors';
import { writeCatalogue } from '../../pipeline/catalogues/catalogue.ts';
import { readNewest } from '../../pipeline/publish/manifests.ts';
import { SIZE_COLORS } from '../../schemas/palette.ts';
import { browserOnly, colorsOf, openTab } from '../support/browser/browser.ts';
import { codeBlocks, codeSpans, firstTable, PROJECT, readDocument, statementsOf } from '../support/data/markdown.ts';
import { pythonTest, runOn } from '../support/data/python.ts';
import { filesIn, startWebServer } from '../support/data/web-server.ts';
import { midnight, publishedRoot, scratch } from '../support/data/world.ts';

const FOLDER = 'data/examples';
const README = readDocument(`${FOLDER}/README.md`);
const DATES = ['2026-05-01', '2026-05-02'];

/** A root with two open dates and its catalogue. */
async function rootOf(t: ExecutionContext): Promise<string> {
  const root = await publishedRoot(t, await midnight());
  await writeCatalogue(root, { out: root, location: root });
  return root;
}

/** Rows of a table of a date, by a reader that no example but the JavaScript uses. */
async function rowsOf(root: string, date: string, table: string): Promise<Record<string, unknown>[]> {
  const files = (await readNewest(root, date))?.files.filter((file) => file.table === table) ?? [];
  const read = files.map(async ({ path }) =>
    parquetReadObjects({ file: await asyncBufferFromFile(join(root, path)), compressors }),
  );
  return (await Promise.all(read)).flat();
}

/** Hail of each date: pixels of 19 and of 25 mm and more, and the largest. */
async function hailDays(root: string): Promise<[date: string, severe: number, quarter: number, largest: number][]> {
  return Promise.all(
    DATES.map(async (date) => {
      const pixels = new Map<string, number>();
      for (const { row, col, max_mm, interpolated } of await rowsOf(root, date, 'day-max'))
        if (interpolated !== true)
          pixels.set(`${row} ${col}`, Math.max(Number(max_mm), pixels.get(`${row} ${col}`) ?? 0));
      const sizes = [...pixels.values()];
      const atLeast = (mm: number) => sizes.filter((size) => size >= mm).length;
      return [date, atLeast(19), atLeast(25), Math.round(Math.max(...sizes) * 10) / 10];
    }),
  );
}

/** Lines of what a program printed, split at spaces. */
const words = (printed: string) =>
  printed
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/\s+/));

test('the list of examples names every file of the folder', (t) => {
  const named = [...README.matchAll(/\]\((\w[\w./-]+)\)/g)].map(([, name]) => name);
  const present = readdirSync(join(PROJECT, FOLDER), { withFileTypes: true })
    .filter(({ name }) => !/^(README|.*\.png$|__pycache__)/.test(name))
    .map((entry) => (entry.isDirectory() ? `${entry.name}/README.md` : entry.name));
  t.deepEqual([...new Set(named)].sort(), present.sort());
});

test('every command of the list names a file that is there', (t) => {
  const commands = firstTable(README).flatMap((row) => codeSpans(row.at(-1) ?? ''));
  t.true(commands.length >= 7);
  for (const [path] of commands.join(' ').matchAll(/data\/examples\/[\w.-]+|node_modules\/[\w./-]+/g))
    t.true(existsSync(join(PROJECT, path)), path);
});

test.serial('DuckDB: the SQL counts the hail of each date', async (t) => {
  const root = await rootOf(t);
  const before = process.cwd();
  process.chdir(root);
  t.teardown(() => process.chdir(before));
  const connection = await (await DuckDBInstance.create()).connect();
  const statements = statementsOf(readFileSync(join(PROJECT, FOLDER, 'hail-days.sql'), 'utf8'));
  for (const statement of statements.slice(0, -1)) await connection.run(statement);
  const rows = (await connection.runAndReadAll(statements.at(-1) ?? '')).getRowObjectsJson();
  t.deepEqual(
    rows.map((row) => [row.storm_date, Number(row.severe_pixels), Number(row.quarter_pixels), row.largest_mm]),
    await hailDays(root),
  );
  t.deepEqual(new Set(rows.map(({ source }) => source)), new Set(['simulated']));
});

for (const [file, modules, heading] of [
  ['hail_days.py', ['pandas', 'pyarrow'], 1],
  ['hail_days_polars.py', ['polars'], 0],
] as const)
  pythonTest(`${modules[0]}: the program counts the hail of each date`, modules, async (t) => {
    const root = await rootOf(t);
    const lines = words(await runOn(root, 'python3', [`${FOLDER}/${file}`])).slice(heading);
    t.deepEqual(
      lines.map(([date = '', source, ...figures]) => [date, source, ...figures.map(Number)]),
      (await hailDays(root)).map(([date, ...figures]) => [date, 'simulated', ...figures]),
    );
  });

/** Threshold and area of the swaths of a date, as published. */
async function tiersOf(root: string, date: string): Promise<[mm: number, area_km2: number][]> {
  const rows = await rowsOf(root, date, 'swaths');
  return rows.map(({ threshold_mm, area_km2 }) => [Number(threshold_mm), Number(area_km2)]);
}

pythonTest(
  'GeoPandas: the map has the published areas of the swaths',
  ['geopandas', 'pyarrow', 'matplotlib'],
  async (t) => {
    const root = await rootOf(t);
    const picture = join(await scratch(t), '../swaths.png');
    const borders = 'node_modules/us-atlas/states-10m.json';
    const printed = words(await runOn(root, 'python3', [`${FOLDER}/swaths_map.py`, DATES[0] ?? '', picture, borders]));
    t.deepEqual(
      printed.map(([mm, , area]) => [Number(mm), Number(area)]),
      (await tiersOf(root, DATES[0] ?? '')).map(([mm, area]) => [mm, Number(area.toFixed(1))]),
    );
    for (const [, , published, , , drawn] of printed)
      t.true(Math.abs(Number(published) - Number(drawn)) < 0.2 + Number(published) / 500);
    t.is(readFileSync(picture).subarray(1, 4).toString(), 'PNG');
  },
);

pythonTest(
  'QGIS: the project opens two files of the date beside it, which GDAL reads',
  ['geopandas', 'pyarrow'],
  async (t) => {
    const root = await rootOf(t);
    const out = join(await scratch(t), '../project');
    await runOn(root, 'python3', [`${FOLDER}/qgis_project.py`, DATES[0] ?? '', out]);
    const project = readFileSync(join(out, 'hail.qgs'), 'utf8');
    const sources = [...project.matchAll(/<datasource>\.\/(.+)<\/datasource>/g)].map(([, name = '']) =>
      join(out, name),
    );
    const rows = [(await rowsOf(root, DATES[0] ?? '', 'tracks')).filter(({ state }) => state === 'tracked').length];
    rows.push((await tiersOf(root, DATES[0] ?? '')).length);
    const count = 'import sys, geopandas\nfor path in sys.argv[1:]: print(len(geopandas.read_file(path)))';
    const counted = words(await runOn(root, 'python3', ['-c', count, ...sources])).map(([features]) =>
      Number(features),
    );
    t.deepEqual(counted, rows);
  },
);

test('QGIS: the project has the colours of the hail sizes', (t) => {
  const project = readFileSync(join(PROJECT, FOLDER, 'hail.qgs'), 'utf8');
  const fills = [...project.matchAll(/name="color" type="QString" value="(\d+),(\d+),(\d+),255"/g)].slice(1);
  const hex = fills.map(
    (rgb) =>
      `#${rgb
        .slice(1, 4)
        .map((part) => Number(part).toString(16).padStart(2, '0'))
        .join('')}`,
  );
  t.deepEqual(
    hex,
    SIZE_COLORS.flatMap(({ category, color }) => (category === null ? [] : [color])),
  );
});

for (const file of ['map.html', 'swaths_map.py'])
  test(`${file} has the bounds and the colours of the hail sizes`, (t) => {
    const text = readFileSync(join(PROJECT, FOLDER, file), 'utf8');
    for (const { category, mm_min, color } of SIZE_COLORS)
      if (category !== null) t.regex(text, new RegExp(`\\b${mm_min}[:,] ['"]${color}['"]`));
  });

test('JavaScript: the program follows the catalogue to the published areas of the swaths', async (t) => {
  const root = await rootOf(t);
  const printed = await runOn(root, process.execPath, [`${FOLDER}/stac.js`]);
  const expected = await Promise.all(
    DATES.map(async (date) =>
      (await tiersOf(root, date)).map(([mm, area]) => `${date} (simulated): ${Math.round(area)} km2 of ${mm} mm`),
    ),
  );
  t.deepEqual(
    printed
      .trim()
      .split('\n')
      .map((line) => line.split(',')[0]),
    expected.flat(),
  );
});

test('the program of the guide to catalogues finds the swaths of every date on a web server', async (t) => {
  const root = await rootOf(t);
  const { url } = await startWebServer(t, {}, filesIn([['/', root]]));
  const program = join(await scratch(t), '../stac.mjs');
  writeFileSync(program, codeBlocks(readDocument('api/docs/catalogues.md'), 'js')[0] ?? '');
  const lines = words(await runOn(root, process.execPath, [program, `${url}/stac/catalog.json`]));
  t.deepEqual(
    lines.map(([date]) => date),
    DATES,
  );
  for (const [date = '', rows, address = ''] of lines) {
    t.is(Number(rows), (await tiersOf(root, date)).length);
    t.is((await fetch(address)).status, 200);
  }
});

browserOnly(
  'MapLibre: the page draws the hail of each date from the files alone, and says that it is simulated',
  async (t) => {
    const root = await rootOf(t);
    const folders = [
      ['/data/examples/', join(PROJECT, FOLDER)],
      ['/data/', root],
      ['/', PROJECT],
    ] as const;
    const { url } = await startWebServer(t, {}, filesIn(folders));
    const { page, complaints, close } = await openTab(`${url}/data/examples/map.html`, { key: null });
    t.teardown(close);
    await page.waitForSelector('body[data-drawn]');
    t.deepEqual(await page.locator('#date option').allTextContents(), [
      '2026-05-02 (simulated)',
      '2026-05-01 (simulated)',
    ]);
    t.is(await page.textContent('#source'), 'Simulated, not observed');
    const map = { x: 320, y: 20, width: 880, height: 740 };
    const quarter = '240,138,60';
    for (const date of DATES) {
      await page.selectOption('#date', { label: `${date} (simulated)` });
      await page.waitForSelector(`body[data-drawn="${date}"]`);
      t.true((await colorsOf(page, map)).has(quarter), date);
    }
    t.deepEqual(complaints, []);
  },
);
