/*
 * Where the parts of the map page meet: a drawing has the clicks, one thing is closed at a time, a link restores all, and
 * nothing that the service or a link says is more than text.
 */
import type { Route } from 'playwright-core';
import { answerInstead, colorsOf, drawn, pressMap, ready, said, serviceTest } from '../support/browser/browser.ts';
import { startWebServer, type WebServer } from '../support/data/web-server.ts';

const SCAN = '/viewer#view=scan&date=2026-05-02&map=8.00/35.2000/-97.4000';
const POPUP = '.maplibregl-popup-content';
const WIDE = { x: 330, y: 130, width: 760, height: 430 };
const NICKEL = '244,191,69';

serviceTest(
  'a drawing has the clicks, and escape closes only what lies on top',
  { is_shared: true, path: SCAN },
  async (t, { page, complaints }) => {
    await drawn(page);
    const isWatching = () => page.locator('#watch').isVisible();
    await pressMap(page, [700, 420]);
    t.true(await page.locator(POPUP).isVisible());
    await page.locator('#open-watch').click();
    await page.keyboard.press('Escape');
    t.false(await page.locator(POPUP).isVisible());
    t.true(await isWatching(), 'the card of the place was on top');
    await page.locator('#watch-circle').click();
    await page.waitForTimeout(1500);
    await pressMap(page, [640, 400]);
    t.false(await page.locator(POPUP).isVisible(), 'the drawing has the clicks');
    await page.locator('#close-watch').click();
    await page.locator('#open-watch').click();
    await page.locator('#find-text').focus();
    await page.keyboard.press('Escape');
    t.true(await isWatching(), 'the search box has its own escape');
    await page.locator('#map canvas').focus();
    t.true(await isWatching());
    await page.keyboard.press('Escape');
    t.false(await isWatching());
    t.deepEqual(complaints, []);
  },
);

for (const [how, answer] of [
  ['fails', (route: Route) => route.fulfill({ status: 503 })],
  ['hangs', () => {}],
] as const)
  serviceTest(
    `an archive that ${how} costs itself only, no hail is claimed there, and another date is drawn`,
    { path: '/viewer#view=day&date=2026-05-01&map=8.00/35.2000/-97.0000' },
    async (t, { page }) => {
      const open = async (date: string, words: string) => {
        await page.evaluate((hash) => location.assign(hash), `#view=day&date=${date}&map=8.00/35.2000/-97.0000`);
        await page.waitForFunction((title) => document.title.includes(title), words);
      };
      await page.route(/daily\/2026-05-02/, answer);
      await open('2026-05-02', '2 May');
      await page.waitForTimeout(6000);
      await pressMap(page, [640, 300]);
      t.regex(await said(page, POPUP), /^Nothing is shown here/);
      t.false((await colorsOf(page, WIDE)).has(NICKEL));
      await open('2026-05-01', '1 May');
      await drawn(page);
      t.true((await colorsOf(page, WIDE)).has(NICKEL));
    },
  );

let site: WebServer;

serviceTest(
  'a named site shows the map in a frame, without a key, dialogs and pins; the browser shows it to no other site',
  {
    settings: async (t) => {
      site = await startWebServer(t);
      return { HAIL_VIEWER: 'public', HAIL_EMBED_ORIGINS: site.url };
    },
    ...{ has_key: false, path: '/livez' },
  },
  async (t, { page, complaints, service }) => {
    const embed = `${SCAN.replace('viewer#', 'embed?')}&pin=35.20000,-97.40000`;
    const frame = `<iframe src="${service.url}${embed}" width="900" height="700"></iframe>`;
    site.answers.set('/', (_, response) => response.writeHead(200, { 'content-type': 'text/html' }).end(frame));
    await page.goto(site.url);
    const map = page.frameLocator('iframe');
    await map.locator('html[data-ready=true]').waitFor({ state: 'attached' });
    t.true(await map.locator('#simulated').isVisible());
    await map.locator('canvas').focus();
    for (const key of ['c', 'p', '/']) await page.keyboard.press(key);
    for (let i = 0; i < 20; i++) {
      const reached = await map.locator('body').evaluate(() => document.activeElement?.id ?? '');
      t.notRegex(reached, /^(open|close|ask|find|key|layer|pin|tab|watch)/);
      await page.keyboard.press('Tab');
    }
    await pressMap(page, [500, 370]);
    await map.locator(POPUP).waitFor();
    t.is(await map.locator(':is(dialog, #find, #pin, .pin-here):visible').count(), 0);
    t.deepEqual(complaints, []);
    await page.goto(site.url.replace('127.0.0.1', 'localhost'));
    await page.waitForTimeout(500);
    t.deepEqual(complaints.length, 1);
    t.regex(complaints[0] ?? '', /^Framing .* violates/);
  },
);

serviceTest(
  'where the browser keeps nothing the map is shown and its cards fold, the reference is shown, and a link says why it gives no key',
  { settings: { HAIL_VIEWER: 'public' }, has_key: false, path: SCAN },
  async (t, { page, complaints, service }) => {
    await page.addInitScript(() =>
      Object.defineProperty(window, 'localStorage', {
        get() {
          throw new DOMException('refused', 'SecurityError');
        },
      }),
    );
    complaints.length = 0;
    await page.reload();
    await drawn(page);
    await page.locator('#panel-fold').click();
    t.true(await page.locator('#panel.folded').isVisible());
    await page.goto(`${service.url}/docs`);
    await page.getByRole('heading', { name: 'Hail around a point' }).waitFor();
    await page.goto(`${service.url}/link#token`);
    await page.getByText('This browser keeps no data of this page').waitFor();
    t.true(await page.locator('#use').isDisabled());
    t.deepEqual(complaints, []);
  },
);

serviceTest(
  'a key that another page of the service is given is used, and forgotten with it',
  { is_shared: true, has_key: false, path: SCAN },
  async (t, { page, service, key, complaints }) => {
    const other = await page.context().newPage();
    await other.goto(`${service.url}/docs`);
    await page.locator('#key-dialog').waitFor();
    await other.evaluate((text) => localStorage.setItem('hail.key', text), key);
    await page.waitForSelector('#summary:not(:empty)');
    t.false(await page.locator('#key-dialog').isVisible());
    await other.evaluate(() => localStorage.clear());
    await page.locator('#open-account').click();
    await page.locator('#key-dialog').waitFor();
    t.deepEqual(complaints, []);
  },
);

serviceTest(
  'letters and arrows in a field, a choice or a row of tabs are no shortcuts',
  { path: `${SCAN}&pin=35.20000,-97.40000` },
  async (t, { page, requests }) => {
    await drawn(page);
    const address = page.url();
    await page.locator('#find-text').focus();
    await page.keyboard.type('hevpm');
    await page.locator('#find-text').fill('');
    await page.locator('#tab-fell').focus();
    await page.keyboard.press('ArrowRight');
    t.true(await page.locator('#pin-history').isVisible());
    await page.locator('#history-radius').focus();
    await page.keyboard.type('h');
    await page.keyboard.press('ArrowRight');
    await page.waitForTimeout(600);
    t.is(page.url(), address);
    // A letter that is held down counts once: what is shown is requested, and charged, again.
    requests.length = 0;
    await page.locator('#map canvas').focus();
    for (const _ of [1, 2, 3]) await page.keyboard.down('r');
    await page.waitForTimeout(1000);
    t.is(requests.filter((path) => path.startsWith('GET /v1/tiles/daily')).length, 1);
  },
);

serviceTest(
  'one link restores the last 24 hours, layers and pin, another one pasted over it as well',
  {
    is_shared: true,
    path: '/viewer#view=recent&layers=hail,locations&pin=35.20000,-97.40000&map=7.00/35.2000/-97.4000',
  },
  async (t, { page, complaints }) => {
    await drawn(page);
    const address = page.url();
    t.regex(address, /#view=recent&layers=hail,locations&pin=35\.20000,-97\.40000&map=7\.00/);
    await page.reload();
    await ready(page);
    t.is(page.url(), address);
    t.true(await page.locator('#pin').isVisible());
    await page.evaluate(() => {
      location.hash = '#view=day&date=2026-05-01&layers=alerts&map=8.00/35.0000/-97.0000';
    });
    await page.waitForFunction(() => (document.getElementById('date') as HTMLInputElement).value === '2026-05-01');
    await drawn(page);
    t.false(await page.locator('#pin').isVisible());
    t.true(await page.locator('#layer-alerts').isChecked());
    t.is(await said(page, '#layer-alerts-note'), 'Not read yet.');
    t.false(await page.locator('#layer-hail').isChecked());
    await page.goBack();
    await page.waitForFunction(() => location.hash.includes('pin=35.20000'));
    await drawn(page);
    t.true(await page.locator('#pin').isVisible());
    t.true(await page.locator('#layer-locations').isChecked());
    t.deepEqual(complaints, []);
  },
);

serviceTest(
  'a link with hostile values opens the map, and what it repeats of them is short text',
  { path: '/viewer' },
  async (t, { page, service, complaints }) => {
    for (const hash of [
      'layers=__proto__,constructor&pin=NaN,NaN&map=1e9/0/0&view=__proto__',
      `date=${'9'.repeat(100_000)}`,
      `pin=${'9'.repeat(400)},0&map=22/84/179&date=<img src=x onerror=alert(1)>`,
    ]) {
      await page.goto(`${service.url}/livez`);
      await page.goto(`${service.url}/viewer#${hash}`);
      await ready(page);
      await drawn(page);
      t.false(await page.locator('#trouble').isVisible());
      t.false(await page.locator('#pin').isVisible());
      t.true((await said(page, '#notice')).length < 200);
      t.is(await page.locator('#notice img').count(), 0);
      t.true(page.url().length < 300);
    }
    t.deepEqual(complaints, []);
  },
);

const HOSTILE = `<img src=x onerror="document.title='owned'"> \u202Eמפעל שמש ${'long '.repeat(60)}`;

serviceTest(
  'names that the service gives are text on the map and in its cards, however they read',
  { path: SCAN },
  async (t, { page, complaints }) => {
    const subscription = {
      ...{ name: HOSTILE, lat: 35.2, lon: -97.4, radius_km: 30, min_size_mm: 25 },
      ...{ status: 'active', trigger_count: 0, last_triggered_at: null },
    };
    await answerInstead(page, /\/v1\/alerts/, 200, { subscriptions: [subscription], next_cursor: null });
    await drawn(page);
    await page.click('#layers-fold');
    await page.click('label:has(#layer-alerts)');
    await page.waitForFunction(() => document.getElementById('layer-alerts-note')?.textContent === '1 subscription.');
    await page.click('#layers-fold');
    await page.waitForTimeout(1500);
    await pressMap(page, [660, 410]);
    t.is(await said(page, `${POPUP} .facts-title`), HOSTILE);
    t.is(await page.locator('img[src=x]').count(), 0);
    t.not(await page.title(), 'owned');
    const box = await page.locator(POPUP).boundingBox();
    t.true(box !== null && box.width <= 300, 'a long name is broken into lines');
    t.deepEqual(complaints, []);
  },
);

serviceTest(
  'an answer that comes late is not shown in the place of what was opened after it',
  { is_shared: true, path: '/viewer#view=day&date=2026-05-02' },
  async (t, { page, complaints }) => {
    await drawn(page);
    await page.route(/tiles\/scan\?date=2026-05-01/, async (route) => {
      await new Promise((resolve) => setTimeout(resolve, 3000));
      await route.continue();
    });
    await page.locator('#date').fill('2026-05-01');
    await page.locator('#date').fill('2026-05-02');
    await drawn(page);
    await page.waitForTimeout(4500);
    t.is(await page.locator('#date').inputValue(), '2026-05-02');
    t.true(page.url().includes('date=2026-05-02'));
    t.regex(await said(page, '#data-time'), /2 May 2026/);
    t.deepEqual(complaints, []);
  },
);

serviceTest(
  'refusals are said in the card that was used, a revoked key can be replaced, and no address or log has a key',
  { path: `${SCAN}&pin=35.20000,-97.40000` },
  async (t, { page, key }) => {
    await drawn(page);
    const lines: string[] = [];
    page.on('console', (message) => lines.push(message.text()));
    page.on('request', (request) => lines.push(`${request.url()} ${request.headers().referer ?? ''}`));
    const fell = page.locator('#fell-answer');
    for (const [status, error, message, words] of [
      [429, 'rate_limited', 'too many', 'Too many.'],
      [500, 'internal_error', '', 'The service answered 500.'],
      [403, 'insufficient_scope', 'the key lacks hail:read', 'The key lacks hail:read.'],
    ] as const) {
      await answerInstead(page, /\/v1\/(hail|verify)/, status, { error, message });
      await page.locator('#ask-fell').or(page.locator('#ask-verify')).first().click();
      await page.waitForFunction((text) => document.getElementById('pin')?.textContent?.includes(text), words);
    }
    await page.locator('#close-key-dialog').click();
    t.true(await page.getByRole('button', { name: 'Enter a key' }).isVisible());
    await answerInstead(page, /\/v1\/health/, 401, { error: 'unauthorized', message: '' });
    await page.locator('#live').uncheck();
    await page.locator('#live').check();
    await page.waitForFunction(() => document.getElementById('trouble-words')?.textContent?.includes('not accepted'));
    await page.unroute(/\/v1\/health/);
    const before = lines.length;
    await page.locator('#trouble-action').click();
    await page.fill('#key', key);
    await page.keyboard.press('Enter');
    await page.waitForSelector('#trouble[hidden]', { state: 'attached' });
    await page.waitForTimeout(1000);
    t.deepEqual(
      lines.slice(before).filter((line) => line.includes('/v1/tiles/scan') && !line.includes('.pmtiles')),
      [],
      'what is shown is not paid for again',
    );
    t.false(lines.some((line) => line.includes('hs_live')));
    t.is(await fell.count(), 1);
  },
);
