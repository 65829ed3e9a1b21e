import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { DuckDBInstance } from '@duckdb/node-api';
import test, { type ExecutionContext } from 'ava';
import { asyncBufferFromFile, parquetReadObjects } from 'hyparquet';
import { compressors } from 'hyparquet-compressors';
import { EXAMPLE_URL, GUIDES } from '../../api/docs/pages.ts';
import { writeCatalogue } from '../../pipeline/catalogues/catalogue.ts';
import { readNewest } from '../../pipeline/publish/manifests.ts';
import { SIZE_COLORS } from '../../schemas/palette.ts';
import {
  ask,
  browserOnly,
  colorsOf,
  openTab,
  PHONE,
  said,
  serviceTest,
  type Visit,
} from '../support/browser/browser.ts';
import { codeBlocks, codeSpans, firstTable, PROJECT, readDocument, statementsOf } from '../support/data/markdown.ts';
import { pythonTest, runOn, runProgram } from '../support/data/python.ts';
import { type Answer, filesIn, freePort, startWebServer } from '../support/data/web-server.ts';
import { copyOf, deliver, filesOf, midnight, publishedRoot, scratch } from '../support/data/world.ts';
import { startReceiver } from '../support/service/receiver.ts';
import { type ServeChild, startServe } from '../support/service/serve-child.ts';
import { WHOLE_NOW_MS, wholeRoot } from '../support/service/whole-service.ts';
import { until } from '../support/until.ts';

/** Opens pages and fails where one complains, is wider than the screen, or asks another host. */
async function openAll(t: ExecutionContext, { page, service, complaints }: Visit, paths: readonly string[]) {
  const elsewhere: string[] = [];
  page.on('request', (request) => {
    if (!/^(data|blob):/.test(request.url()) && !request.url().startsWith(`${service.url}/`))
      elsewhere.push(request.url());
  });
  for (const path of paths) {
    await page.goto(`${service.url}${path}`);
    if (path === '/docs') await page.getByRole('heading', { name: 'Hail around a point' }).waitFor();
    t.is(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth), 0, `${path} is too wide`);
  }
  t.deepEqual(complaints, []);
  t.deepEqual(elsewhere, []);
}

for (const [screen, options] of [
  ['a desktop', {}],
  ['a phone in the dark', { ...PHONE, colorScheme: 'dark' }],
] as const)
  serviceTest(
    `start page, page of a link, reference and guides fit on the screen of ${screen}, complain of nothing and ask no other host`,
    { is_shared: true, path: '/docs', ...options },
    (t, visit) => openAll(t, visit, ['/', '/link', '/docs', '/docs/guides', ...GUIDES.map((name) => `/docs/${name}`)]),
  );

serviceTest(
  'an operation of the reference is found by its name, priced, and tried with the key of the map',
  { path: '/docs#getHailCurrent' },
  async (t, { page, complaints, service, key }) => {
    await page.waitForURL(/#tag\/hail-detection\/GET\/v1\/hail\/current$/);
    await page.getByText('15 to 25 credits a call').first().waitFor();
    await page
      .getByRole('button', { name: /Test Request/ })
      .first()
      .click();
    const asked = page.waitForRequest((request) => request.url().startsWith(`${service.url}/v1/hail/current`));
    await page.getByRole('button', { name: /^Send get request/ }).click();
    const request = await asked;
    t.is(request.headers().authorization, `Bearer ${key}`);
    t.is((await request.response())?.status(), 200);
    t.deepEqual(complaints, []);
  },
);

serviceTest(
  'the search of the guides leads to a section, and a block is copied',
  { is_shared: true, path: '/docs/quickstart', permissions: ['clipboard-read', 'clipboard-write'] },
  async (t, { page, complaints }) => {
    await page.getByRole('searchbox').fill('check signature');
    await page.keyboard.press('Enter');
    await page.locator('.results a').first().click();
    await page.waitForURL('**/docs/receive-events#check-the-signature');
    const block = page.locator('figure').first();
    await block.getByRole('button', { name: 'Copy' }).click();
    await block.getByRole('button', { name: 'Copied' }).waitFor();
    const copied = await page.evaluate(() => navigator.clipboard.readText());
    t.true(copied.startsWith('export HAIL_URL=http://127.0.0.1:'));
    t.deepEqual(complaints, []);
  },
);

const GUIDE = readDocument('api/docs/tiles.md');
const EXAMPLE = 'https://hail.example.com/tiles/daily/2026-05-02.pmtiles';
/** Fill colours of the guide for hail of 19, 25 and 38 mm, as `r,g,b`. */
const HAIL_COLORS = ['255,224,138', '247,165,65', '226,87,43'];

/** The block of the guide whose comment names a file. */
function fileOf(language: string, name: string): string {
  const code = codeBlocks(GUIDE, language).find((block) => block.split('\n', 2).join().includes(` ${name}`));
  if (code === undefined) throw new Error(`no ${language} block of the guide names ${name}`);
  return code;
}

const sendAs =
  (type: string, text: string): Answer =>
  (_, response) =>
    response.writeHead(200, { 'content-type': type }).end(text);

/** The folder that the guide describes, on a server of its own: its files, and packages under node_modules. */
function startFolder(t: ExecutionContext, archive: string) {
  const page = fileOf('html', 'index.html').replace(EXAMPLE, archive);
  const files = {
    '/': sendAs('text/html', page),
    '/map.js': sendAs('text/javascript', fileOf('js', 'map.js')),
    '/metadata.js': sendAs('text/javascript', fileOf('js', 'metadata.js')),
  };
  return startWebServer(t, files, filesIn([['/node_modules/', `${PROJECT}node_modules/`]]));
}

serviceTest(
  'the page of the guide draws the hail of a day from another origin, and a peak says its size',
  { path: '/docs/tiles', has_key: false },
  async (t, { page, complaints, service, key }) => {
    const { url: archive } = await ask<{ url: string }>({ service, key }, '/tiles/daily');
    const folder = await startFolder(t, archive);
    await page.goto(folder.url);
    await page.waitForSelector('canvas');
    const whole = { x: 0, y: 0, width: 1280, height: 800 };
    await until(async () => {
      const colors = await colorsOf(page, whole);
      return HAIL_COLORS.every((color) => colors.has(color));
    });
    const at = await page.evaluate(
      async ([module, address]) => {
        const { drawDay } = await import(module);
        document.querySelector('#map')?.replaceChildren();
        const map = await drawDay('map', address);
        await map.once('idle');
        const [{ geometry, properties }] = map.queryRenderedFeatures({ layers: ['peaks'] });
        return { ...map.project(geometry.coordinates), mm: properties.peak_mm };
      },
      [`${folder.url}/map.js`, archive] as const,
    );
    await page.mouse.click(at.x, at.y);
    t.regex(await said(page, '.maplibregl-popup-content'), /^[\d.]+ mm at 2026-05-0\dT/);
    t.deepEqual(complaints, []);
  },
);

serviceTest(
  'the code of the guide reads from an archive what it holds, and where no radar looked',
  { path: '/docs/tiles', has_key: false },
  async (t, { page, complaints, service, key }) => {
    const { frames } = await ask<{ frames: { url: string }[] }>({ service, key }, '/tiles/scan');
    const archive = frames.at(-1)?.url ?? '';
    const folder = await startFolder(t, archive);
    await page.goto(folder.url);
    const { described, ...covered } = await page.evaluate(
      async ([module, address]) => {
        const { describe, isCovered } = await import(module);
        const described = await describe(address);
        const { uncovered } = described;
        const place = { lat: 35.2, lon: -97 };
        const row = Math.floor((uncovered.north - place.lat) / uncovered.step_deg);
        const column = Math.floor((place.lon - uncovered.west) / uncovered.step_deg);
        const blind = (...run: number[]) => isCovered({ ...uncovered, runs: [run] }, place);
        return {
          described,
          inside: isCovered(uncovered, place),
          blind: blind(row, column, column + 1),
          before_blind: blind(row, column + 1, column + 2),
          above_blind: blind(row + 1, column, column + 1),
          beyond: isCovered(uncovered, { lat: 60, lon: -97 }),
          unknown: isCovered(null, place),
        };
      },
      [`${folder.url}/metadata.js`, archive] as const,
    );
    t.is(described.source, 'simulated');
    t.deepEqual(covered, {
      inside: true,
      blind: false,
      before_blind: true,
      above_blind: true,
      beyond: false,
      unknown: null,
    });
    t.deepEqual(complaints, []);
  },
);
/** A shell block of a guide with the sample answer printed below it. */
interface GuideStep {
  readonly code: string;
  /** JSON of the block that follows; null where none follows. */
  readonly sample: string | null;
}

/** Origin that the guides write in place of that of the service. */
const EXAMPLE_ORIGIN = EXAMPLE_URL.replace('/v1', '');
/** Key that the guides write in place of a real one. */
const EXAMPLE_KEY = 'hs_live_…';
/** How the guides ask for the time. */
const CLOCK = "jq -rn 'now";
const STEP = /^```sh\n([\s\S]*?)^```$(?:\n\n```json\n([\s\S]*?)^```$)?/gm;
const END_OF_STEP = '\u001e';
/** Commands that a reader runs in a terminal of their own. */
const LASTING = /^((?:HAIL_\w+=\S+ )*(?:make serve|make stream SOURCE=simulate|npm run .* webhook listen))\b.*$/gm;
/** Runs such a command in the background and waits until it works. */
const IN_BACKGROUND = `$1 > last.log 2>&1 &
until grep -Eq 'listens at|Listening at|Publish:Done' last.log; do kill -0 $! || { cat last.log; exit 1; }; sleep 0.2; done`;

/** Shell blocks of a guide, in order, without those that are files. */
function guideSteps(text: string): GuideStep[] {
  return [...text.matchAll(STEP)]
    .map(([, code = '', sample = null]) => ({ code, sample }))
    .filter(({ code }) => !code.startsWith('# verify-'));
}

/** What this reader has in place of what the guide writes. */
interface Reader {
  readonly data_root: string;
  /** Settings of the product. */
  readonly env: Readonly<Record<string, string>>;
  readonly texts: Readonly<Record<string, string>>;
}

/**
 * Runs the shell blocks of a guide in one bash, as a reader would who pastes them in order in a clone of the project, and
 * returns what each printed. Throws with the complaint of the first that fails.
 */
async function runShell(steps: readonly GuideStep[], { data_root, env, texts }: Reader, folder: string) {
  for (const name of readdirSync(PROJECT)) if (name !== 'data') symlinkSync(join(PROJECT, name), join(folder, name));
  symlinkSync(data_root, join(folder, 'data'));
  const script = [
    `set -euo pipefail; trap 'trap "" TERM; kill 0' EXIT`,
    ...steps.map(({ code }) => {
      const own_text = Object.entries(texts).reduce((so_far, [from, to]) => so_far.replaceAll(from, to), code);
      return `${own_text.replaceAll(LASTING, IN_BACKGROUND)}\nprintf '${END_OF_STEP}'`;
    }),
  ].join('\n');
  const child = spawn('bash', ['-c', script], {
    cwd: folder,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  const [stdout, stderr, [status]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  const printed = stdout.split(END_OF_STEP);
  if (status !== 0)
    throw new Error(`step ${printed.length} of the guide ended with ${status}: ${printed.at(-1)} ${stderr}`);
  return printed.slice(0, -1);
}

const README = readDocument('README.md');
const guide = (name: string) => readDocument(`api/docs/${name}.md`);

function scratchFolder(t: ExecutionContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'hail-guide-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  return folder;
}

/** The real service over the world around midnight, which may send to a receiver on this machine, and a reader of its guides. */
async function serve(t: ExecutionContext): Promise<ServeChild & Reader> {
  const receiver = await startReceiver(t);
  const data_root = await copyOf(t, await wholeRoot());
  const service = await startServe(data_root, WHOLE_NOW_MS, 'error', receiver.settings);
  t.teardown(() => service.end('SIGKILL'));
  const { pid } = service.child;
  return {
    ...service,
    env: { HAIL_NOW: new Date(WHOLE_NOW_MS).toISOString(), HAIL_PORT: new URL(service.url).port },
    texts: {
      [EXAMPLE_ORIGIN]: service.url,
      [EXAMPLE_KEY]: service.keys?.live ?? '',
      [CLOCK]: `jq -rn '${WHOLE_NOW_MS / 1000}`,
      'https://hooks.example.com/hail': receiver.url,
      'webhooks/wh_…/': 'webhooks/$(hail "$HAIL_URL/webhooks" | jq -r ".webhooks[-1].id")/',
      // One service at a time has the records.
      'HAIL_WEBHOOK_ALLOW_CIDRS=': `kill ${pid}; while kill -0 ${pid} 2>&-; do sleep 0.1; done\nHAIL_WEBHOOK_ALLOW_CIDRS=`,
    },
  };
}

/** Names of the members of a value, however deep; `[]` for the members of a list. */
function shapeOf(value: unknown, path = ''): string[] {
  if (Array.isArray(value)) return value.length === 0 ? [] : shapeOf(value[0], `${path}[]`);
  if (typeof value !== 'object' || value === null) return [path];
  return Object.entries(value).flatMap(([name, member]) => shapeOf(member, `${path}.${name}`));
}

/** What each guide prints where no sample of JSON follows, by its step. */
const SHELL_GUIDES = {
  quickstart: {},
  'follow-a-storm': {},
  'verify-a-date': { 6: '%PDF-', 7: 'the same finding\n' },
  'credits-and-pages': {
    1: 'X-Credits-Charged: 5\r\n',
    4: '304\n',
    6: 'Depot\nFarm\nYard\n',
    7: '0\n1\nthe same bytes\n',
  },
  'receive-events': {},
  tiles: {},
  'earlier-variant': {},
  files: {},
} as const satisfies Record<string, Readonly<Record<number, string>>>;

for (const [name, expected] of Object.entries(SHELL_GUIDES))
  test.serial(`the commands of ${name} run as printed, and answer in the shape that the guide shows`, async (t) => {
    const steps = guideSteps(guide(name));
    const printed = await runShell(steps, await serve(t), scratchFolder(t));
    t.notRegex(printed.join(), /"error": ?["{]/, 'a call was refused');
    t.is(
      steps.some(({ sample }) => sample !== null),
      name !== 'files',
    );
    for (const [k, { code, sample }] of steps.entries())
      if (sample !== null) t.deepEqual(shapeOf(JSON.parse(printed[k] ?? '')), shapeOf(JSON.parse(sample)), code);
    for (const [k, words] of Object.entries(expected)) t.is(printed[Number(k)], words);
  });

test.serial(
  'the commands of the README run as printed on a machine without data, but those that ask the public bucket',
  async (t) => {
    const raw = await deliver(await scratch(t, 'mrms'), filesOf(await midnight()));
    const data_root = await scratch(t);
    mkdirSync(data_root);
    const port = await freePort();
    const texts = {
      [EXAMPLE_ORIGIN]: `http://127.0.0.1:${port}`,
      [EXAMPLE_KEY]: '$(grep -om1 "hs_live_\\w*" last.log)',
      '/path/to/mrms': raw,
      'inspect FILE': `inspect ${join(raw, readdirSync(raw)[0] ?? '')}`,
      'make ingest SOURCE=noaa': ':',
      'make stream  ': ':',
    };
    const printed = await runShell(
      guideSteps(README),
      { data_root, env: { HAIL_PORT: `${port}` }, texts },
      scratchFolder(t),
    );
    t.regex(printed[0] ?? '', /^Published \d+ simulated scans of/m);
    t.true('active' in JSON.parse(printed[1] ?? ''));
    t.regex(
      printed[2] ?? '',
      / simulated scans of[\s\S]* simulated\n[\s\S]*storm_date[\s\S]*All is as the manifests say/,
    );
  },
);

/** Writes the block of a guide whose first comment names a file. */
function writeProgram(folder: string, name: string, language: string, file: string): void {
  const code = codeBlocks(guide(name), language).find((block) => block.split('\n')[0]?.includes(file));
  if (code === undefined) throw new Error(`no ${language} block of ${name} names ${file}`);
  writeFileSync(join(folder, file), code);
}

test.serial('the TypeScript of the quickstart and of following a storm prints what the service knows', async (t) => {
  const service = await serve(t);
  const folder = scratchFolder(t);
  const env = { HAIL_URL: `${service.url}/v1`, HAIL_KEY: service.keys?.live ?? '' };
  writeProgram(folder, 'quickstart', 'ts', 'current.ts');
  t.regex(await runProgram(process.execPath, ['current.ts'], { cwd: folder, env }), /^hail up to \d+(\.\d)? mm\n$/);
  await runShell(guideSteps(guide('follow-a-storm')), service, folder);
  const { track_id, date } = JSON.parse(readFileSync(join(folder, 'storm.json'), 'utf8'));
  writeProgram(folder, 'follow-a-storm', 'ts', 'follow.ts');
  const followed = await runProgram(process.execPath, ['follow.ts', track_id, date, '2', '0'], { cwd: folder, env });
  t.regex(followed, /^2026-05-02T00:11:08Z: [\d.]+ mm at [\d.]+, -[\d.]+, \w+\nno new scan\n$/);
  await t.throwsAsync(runProgram(process.execPath, ['follow.ts', 'nothing', date], { cwd: folder, env }));
});

pythonTest('the Python of the quickstart prints what the service knows, or why it was refused', ['sys'], async (t) => {
  const service = await serve(t);
  const folder = scratchFolder(t);
  const env = { HAIL_URL: `${service.url}/v1`, HAIL_KEY: service.keys?.live ?? '' };
  writeProgram(folder, 'quickstart', 'python', 'current.py');
  t.regex(await runProgram('python3', ['current.py'], { cwd: folder, env }), /^hail up to \d+(\.\d)? mm\n$/);
  const refused = runProgram('python3', ['current.py'], { cwd: folder, env: { ...env, HAIL_KEY: 'hs_live_wrong' } });
  await t.throwsAsync(refused, { message: /unauthorized: .+ \(req_\w+\)/ });
});

let exported: Promise<string> | undefined;
/** A folder with the three files that the guide of exports downloads. */
function exportedFiles(t: ExecutionContext): Promise<string> {
  exported ??= serve(t).then(async (service) => {
    const folder = mkdtempSync(join(tmpdir(), 'hail-exported-'));
    const steps = guideSteps(guide('exports'));
    const printed = await runShell(steps, service, folder);
    t.deepEqual(shapeOf(JSON.parse(printed.at(-1) ?? '')), shapeOf(JSON.parse(steps.at(-1)?.sample ?? '')));
    return folder;
  });
  return exported;
}
test.after.always('the downloaded files are deleted', async () => {
  if (exported !== undefined) rmSync(await exported, { recursive: true });
});

test.serial(
  'the commands of exports download three files, which DuckDB and hyparquet read as the guide shows',
  async (t) => {
    const folder = await exportedFiles(t);
    t.is(readFileSync(join(folder, 'detections.parquet')).subarray(0, 4).toString(), 'PAR1');
    t.true(readFileSync(join(folder, 'reports.csv'), 'utf8').split('\n')[0]?.includes('time'));
    const sql = codeBlocks(guide('files'), 'sql').find((block) => block.includes('detections.parquet')) ?? '';
    const connection = await (await DuckDBInstance.create()).connect();
    const rows = (
      await connection.runAndReadAll(sql.replace("'detections.parquet'", `'${join(folder, 'detections.parquet')}'`))
    ).getRowObjectsJson();
    t.is(rows.length, 5);
    t.true(rows.every(({ max_mm, detections }) => Number(max_mm) >= 25 && Number(detections) > 0));

    writeProgram(folder, 'files', 'js', 'read.js');
    const code = readFileSync(join(folder, 'read.js'), 'utf8');
    writeFileSync(
      join(folder, 'read.mjs'),
      code.replace("'hyparquet'", `'${PROJECT}node_modules/hyparquet/src/node.js'`),
    );
    const said = await runProgram(process.execPath, ['read.mjs'], { cwd: folder });
    t.is(Number(/largest ([\d.]+) mm/.exec(said)?.[1]), Number(rows[0]?.max_mm));
  },
);

pythonTest('the pandas of the guide reads the downloaded files', ['pandas', 'pyarrow'], async (t) => {
  const folder = await exportedFiles(t);
  writeProgram(folder, 'files', 'python', 'read.py');
  const said = await runProgram('python3', ['read.py'], { cwd: folder });
  t.regex(said, /^\d+ detections\nlargest [\d.]+ mm at 2026-05-02 [\d:.+]+\n\d+ reports from the ground\n$/);
});

pythonTest('the GeoPandas of the guide reads the downloaded files as maps', ['geopandas', 'pyarrow'], async (t) => {
  const folder = await exportedFiles(t);
  writeProgram(folder, 'files', 'python', 'areas.py');
  const said = await runProgram('python3', ['areas.py'], { cwd: folder });
  t.regex(said, /threshold_mm +hull_km2 +max_size_mm\n(?: +[\d.]+ +[\d.]+ +[\d.]+\n)+/);
  t.regex(said, /\n(?:EPSG:4326|OGC:CRS84) \[/);
});
const FOLDER = 'data/examples';
const EXAMPLES = readDocument(`${FOLDER}/README.md`);
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
  const named = [...EXAMPLES.matchAll(/\]\((\w[\w./-]+)\)/g)].map(([, name]) => name);
  const present = readdirSync(join(PROJECT, FOLDER), { withFileTypes: true })
    .filter(({ name }) => !/^(README|.*\.png$|__pycache__)/.test(name))
    .map((entry) => (entry.isDirectory() ? `${entry.name}/README.md` : entry.name));
  t.deepEqual([...new Set(named)].sort(), present.sort());
});

test('every command of the list names a file that is there', (t) => {
  const commands = firstTable(EXAMPLES).flatMap((row) => codeSpans(row.at(-1) ?? ''));
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
      ['/data/reference/', join(PROJECT, 'data/reference')],
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
