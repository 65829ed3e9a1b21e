import { existsSync } from 'node:fs';
import test, { type ExecutionContext } from 'ava';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import type { Usage } from '../../../schemas/resources/usage.ts';
import { ownCopy } from '../data/world.ts';
import { runCommand } from '../kill/command.ts';
import { type ServeChild, startServe } from '../service/serve-child.ts';
import { WHOLE_NOW_MS, wholeRoot } from '../service/whole-service.ts';
import { ARGUMENTS, CHROMIUM, PATIENCE_MS } from './chromium.ts';

const DESKTOP = { viewport: { width: 1280, height: 800 } };
export const PHONE = { viewport: { width: 390, height: 844 }, deviceScaleFactor: 2, isMobile: true, hasTouch: true };

const hasBrowser = existsSync(CHROMIUM);
let opened: Promise<Browser> | undefined;

/** Chromium, started once for the tests of a file. */
function browser(): Promise<Browser> {
  opened ??= chromium.launch({ executablePath: CHROMIUM, headless: true, args: ARGUMENTS });
  return opened;
}

if (hasBrowser)
  test.after.always('the browser is closed', async () => {
    await (await opened)?.close();
    for (const service of shared.values()) await (await service).end('SIGKILL');
  });

/** A page at an address, and what it did and said. */
export type Tab = Awaited<ReturnType<typeof openTab>>;

interface TabOptions extends BrowserContextOptions {
  /** Key that the map page finds in this browser; null for none. */
  readonly key: string | null;
}

/** Opens an address in a browser of its own: desktop size unless the options say otherwise. */
export async function openTab(address: string, { key, ...screen }: TabOptions) {
  const context = await (await browser()).newContext({ ...DESKTOP, ...screen });
  context.setDefaultTimeout(PATIENCE_MS);
  const page = await context.newPage();
  /** Errors of the page, lines of its console that are errors, and its files that were refused; refused calls are not among them. */
  const complaints: string[] = [];
  /** Every request of the page to the host of its address so far: method, path with query, and Range. */
  const requests: string[] = [];
  const { origin } = new URL(address);
  page.on('request', (request) => {
    const { range } = request.headers();
    requests.push(`${request.method()} ${request.url().replace(origin, '')}${range ? ` ${range}` : ''}`);
  });
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('response', (response) => {
    const refused = response.status() >= 400 && !new URL(response.url()).pathname.includes('/v1/');
    if (refused) complaints.push(`${response.status()} ${response.url()}`);
  });
  page.on('console', (message) => {
    if (message.type() === 'error' && !message.text().includes('the server responded with a status'))
      complaints.push(message.text());
  });
  if (key !== null) await page.addInitScript((text) => localStorage.setItem('hail.key', text), key);
  try {
    await page.goto(address);
  } catch (error) {
    await context.close();
    throw error;
  }
  return { page, complaints, requests, close: () => context.close() };
}

/** What a test on the real service looks at. */
export interface Visit extends Omit<Tab, 'close'> {
  readonly service: ServeChild;
  readonly key: string;
}

type Settings = Readonly<Record<string, string>>;

interface Visitor extends BrowserContextOptions {
  /** Path and hash that are opened; the map when left out. */
  readonly path?: string;
  /** The browser knows the live key, unless this is false. */
  readonly has_key?: boolean;
  /** Data root in place of the world around midnight with all its feeds; it is copied. */
  readonly root?: (t: ExecutionContext) => Promise<string>;
  readonly now_ms?: number;
  /** The service may be one that other tests of the file ask, too: this test changes none of its records, nor counts its credits. */
  readonly is_shared?: boolean;
  /** Further settings of the service, or what makes them for a test. */
  readonly settings?: Settings | ((t: ExecutionContext) => Promise<Settings>);
}

const shared = new Map<string, Promise<ServeChild>>();

/** A service on a copy of a root for several tests of a file; their calls together pass no rate. */
function sharedService(root: string, now_ms: number): Promise<ServeChild> {
  const start = async () => {
    const folder = ownCopy(root);
    const service = await startServe(folder, now_ms, 'error');
    const plan = await runCommand('hail-api', ['plan', 'set', 'default', '--rate', '100000'], { HAIL_DATA: folder });
    if (plan.code !== 0) throw new Error(`the rate of the shared service was not raised: ${plan.told}`);
    return service;
  };
  const name = `${root} ${now_ms}`;
  const found = shared.get(name) ?? start();
  shared.set(name, found);
  return found;
}

/** Registers a test; where there is no browser it shows as skipped, with the reason in its title. */
export function browserOnly(title: string, body: (t: ExecutionContext) => Promise<void>): void {
  if (hasBrowser) test.serial(title, body);
  else test.skip(`${title} (needs ${CHROMIUM}, which is absent)`, () => {});
}

/** Registers a test in a browser on the real `serve` command; where there is no browser it shows as skipped, with the reason. */
export function serviceTest(
  title: string,
  visitor: Visitor,
  body: (t: ExecutionContext, visit: Visit) => Promise<void>,
): void {
  browserOnly(title, async (t) => {
    const {
      path = '/viewer',
      has_key = true,
      root = wholeRoot,
      now_ms = WHOLE_NOW_MS,
      settings,
      is_shared = false,
      ...screen
    } = visitor;
    const own = typeof settings === 'function' ? await settings(t) : settings;
    const published = await root(t);
    const service = is_shared
      ? await sharedService(published, now_ms)
      : await startServe(ownCopy(published), now_ms, 'error', own);
    if (!is_shared) t.teardown(() => service.end('SIGKILL'));
    const key = service.keys?.live ?? '';
    const { close, ...tab } = await openTab(`${service.url}${path}`, { key: has_key ? key : null, ...screen });
    t.teardown(close);
    if (path.startsWith('/viewer')) await ready(tab.page);
    await body(t, { ...tab, service, key });
  });
}

/** Waits until the map page has shown what it opened with. */
export async function ready(page: Page): Promise<void> {
  await page.waitForSelector('html[data-ready=true]', { state: 'attached' });
}

/** Waits until what was asked for is drawn on the map. */
export async function drawn(page: Page): Promise<void> {
  await page.waitForSelector('#panel:not(.busy)');
  await page.waitForSelector('#clock:not(.loading)');
}

/** Text of an element. */
export const said = async (page: Page, selector: string) => (await page.locator(selector).textContent()) ?? '';

/** Colours of a part of the page, as `r,g,b`. */
export async function colorsOf(
  page: Page,
  clip: { x: number; y: number; width: number; height: number },
): Promise<Set<string>> {
  const png = (await page.screenshot({ clip })).toString('base64');
  const colors = await page.evaluate(async (base64) => {
    const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
    const image = await createImageBitmap(new Blob([bytes]));
    const pen = new OffscreenCanvas(image.width, image.height).getContext('2d') as OffscreenCanvasRenderingContext2D;
    pen.drawImage(image, 0, 0);
    const { data } = pen.getImageData(0, 0, image.width, image.height);
    const seen = new Set<string>();
    for (let i = 0; i < data.length; i += 4) seen.add(`${data[i]},${data[i + 1]},${data[i + 2]}`);
    return [...seen];
  }, png);
  return new Set(colors);
}

/** Presses on places of the page, as a hand does: moves there first, and rests. */
export async function pressMap(page: Page, ...places: readonly (readonly [number, number])[]): Promise<void> {
  for (const [x, y] of places) {
    await page.mouse.move(x, y, { steps: 5 });
    await page.mouse.down();
    await page.mouse.up();
    await page.waitForTimeout(300);
  }
}

/** Answers calls of a path in place of the service. */
export async function answerInstead(
  page: Page,
  path: RegExp,
  status: number,
  body: object,
  headers: Record<string, string> = {},
): Promise<void> {
  await page.unroute(path);
  await page.route(path, (route) =>
    route.fulfill({ status, headers, contentType: 'application/json', body: JSON.stringify(body) }),
  );
}

type Asking = Pick<Visit, 'service' | 'key'>;

/** Calls the service of a visit with its key, sending a body where there is one; the body of its answer. */
export async function ask<Answer>({ service, key }: Asking, path: string, body?: object): Promise<Answer> {
  const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' };
  const sent = body === undefined ? { headers } : { method: 'POST', headers, body: JSON.stringify(body) };
  const reply = await fetch(`${service.url}/v1${path}`, sent);
  if (!reply.ok) throw new Error(`${path} answers ${reply.status} ${await reply.text()}`);
  return (await reply.json()) as Answer;
}

/** Credits that the business of a key has used so far. */
export async function creditsUsed(visit: Asking): Promise<number> {
  return (await ask<Usage>(visit, '/usage')).credits.used;
}

/** A card of the map page, px. */
export type Card = Awaited<ReturnType<typeof cardsApart>>[number];

/** Fails where cards that are shown meet or leave the screen; these in order. */
export async function cardsApart(t: ExecutionContext, page: Page, selectors: readonly string[]) {
  const { width, height } = page.viewportSize() ?? DESKTOP.viewport;
  const boxes = await Promise.all(selectors.map(async (id) => ({ id, box: await page.locator(id).boundingBox() })));
  const cards = boxes.flatMap(({ id, box }) =>
    box === null ? [] : [{ id, ...box, right: box.x + box.width, bottom: box.y + box.height }],
  );
  for (const [i, one] of cards.entries()) {
    t.true(one.x >= 0 && one.y >= 0 && one.right <= width && one.bottom <= height, `${one.id} is on the screen`);
    for (const other of cards.slice(i + 1)) {
      const apart = one.right <= other.x || other.right <= one.x || one.bottom <= other.y || other.bottom <= one.y;
      t.true(apart, `${one.id} and ${other.id}`);
    }
  }
  return cards;
}

/** Parts of a page that are shown, and too small for a thumb. */
export const smallTargets = (page: Page, selector: string) =>
  page
    .locator(selector)
    .evaluateAll((targets) =>
      targets
        .map((target) => ({ name: target.id || target.className, box: target.getBoundingClientRect() }))
        .filter(({ box: { width, height } }) => width > 0 && Math.min(width, height) < 44),
    );
