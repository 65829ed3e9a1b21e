import type { ExecutionContext } from 'ava';
import { GUIDES } from '../../api/docs/pages.ts';
import { ask, colorsOf, PHONE, said, serviceTest, type Visit } from '../support/browser/browser.ts';
import { codeBlocks, PROJECT, readDocument } from '../support/data/markdown.ts';
import { type Answer, filesIn, startWebServer } from '../support/data/web-server.ts';
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
    `the reference and every guide fit on the screen of ${screen}, complain of nothing and ask no other host`,
    { is_shared: true, path: '/docs', ...options },
    (t, visit) => openAll(t, visit, ['/docs', '/docs/guides', ...GUIDES.map((name) => `/docs/${name}`)]),
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
