import { readFileSync } from 'node:fs';
import { extname } from 'node:path';
import type { ExecutionContext } from 'ava';
import { colorsOf, said, serviceTest } from '../support/browser/browser.ts';
import { codeBlocks, PROJECT, readDocument } from '../support/data/markdown.ts';
import { type Answer, startWebServer } from '../support/data/web-server.ts';
import type { ServeChild } from '../support/service/serve-child.ts';

const GUIDE = readDocument('api/docs/tiles.md');
const EXAMPLE = 'https://hail.example.com/tiles/daily/2026-05-02.pmtiles';
const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css',
  '.js': 'text/javascript',
  '.mjs': 'text/javascript',
};
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
async function startFolder(t: ExecutionContext, archive: string) {
  const page = fileOf('html', 'index.html').replace(EXAMPLE, archive);
  const server = await startWebServer(t, {
    '/': sendAs('text/html', page),
    '/map.js': sendAs('text/javascript', fileOf('js', 'map.js')),
    '/metadata.js': sendAs('text/javascript', fileOf('js', 'metadata.js')),
  });
  const packages = [...page.matchAll(/node_modules\/[^"]+/g)].map(([path]) => path);
  const worker = ['shared', 'worker'].map((part) => `node_modules/maplibre-gl/dist/maplibre-gl-${part}.mjs`);
  for (const path of [...packages, ...worker])
    server.answers.set(`/${path}`, sendAs(TYPES[extname(path)] ?? '', readFileSync(`${PROJECT}${path}`, 'utf8')));
  return server;
}

/** What a call of the service answers. */
async function ask({ url }: ServeChild, key: string, path: string) {
  const reply = await fetch(`${url}/v1/${path}`, { headers: { Authorization: `Bearer ${key}` } });
  return reply.json();
}

serviceTest(
  'the page of the guide draws the hail of a day from another origin, and a peak says its size',
  { path: '/docs/tiles', has_key: false },
  async (t, { page, complaints, picture, service, key }) => {
    const { url: archive } = await ask(service, key, 'tiles/daily');
    const folder = await startFolder(t, archive);
    await page.goto(folder.url);
    await page.waitForSelector('canvas');
    const whole = { x: 0, y: 0, width: 1280, height: 800 };
    let colors = new Set<string>();
    for (let k = 0; k < 60 && !HAIL_COLORS.every((color) => colors.has(color)); k++) {
      await page.waitForTimeout(500);
      colors = await colorsOf(page, whole);
    }
    await picture('guide-map');
    t.deepEqual(
      HAIL_COLORS.filter((color) => !colors.has(color)),
      [],
    );
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
    const { frames } = await ask(service, key, 'tiles/scan');
    const folder = await startFolder(t, frames.at(-1).url);
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
      [`${folder.url}/metadata.js`, frames.at(-1).url] as const,
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
