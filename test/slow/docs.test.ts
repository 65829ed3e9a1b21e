import test from 'ava';
import type { Page } from 'playwright-core';
import { AXE, violationsOn } from '../support/browser/axe.ts';
import { PHONE, ready, said, serviceTest } from '../support/browser/browser.ts';

/** Pages of the documentation and the map. */
const PAGES = ['/docs', '/docs/receive-events', '/docs/errors', '/docs/legacy', '/viewer'];

const opened = (page: Page) => page.waitForSelector('html[data-ready=true]', { state: 'attached' });

/** What has the focus, as `a`, `input#search-text`, `pre`. */
const focused = (page: Page) =>
  page.evaluate(() => {
    const { tagName = '', id = '' } = document.activeElement ?? {};
    return `${tagName.toLowerCase()}${id === '' ? '' : `#${id}`}`;
  });

for (const colorScheme of ['light', 'dark'] as const)
  serviceTest(
    `the documentation and the map break no rule of accessibility, ${colorScheme}`,
    { is_shared: true, path: '/docs', colorScheme },
    async (t, { page, service, complaints, picture }) => {
      for (const path of PAGES) {
        await page.goto(`${service.url}${path}`);
        if (path === '/viewer') await ready(page);
        await picture(`${path.slice(1).replaceAll('/', '-')}-${colorScheme}`);
        t.deepEqual(await violationsOn(page), [], path);
      }
      t.deepEqual(complaints, []);
    },
  );

serviceTest(
  'the search finds endpoints, their fields, errors, events and guides',
  { is_shared: true, path: '/docs' },
  async (t, { page, complaints }) => {
    await opened(page);
    const field = page.getByRole('searchbox');
    for (const [words, path] of [
      ['nowcast', '/docs#getHailNowcast'],
      ['verification_hash', '/docs#postVerify'],
      ['idempotency', '/docs/credits-and-pages#'],
      ['constant time signature', '/docs/receive-events#'],
    ] as const) {
      await field.fill(words);
      await page.locator(`#found a[href*="${path}"]`).first().waitFor();
    }
    await field.fill('xyzzy quux');
    await page.getByText('Nothing contains').waitFor();
    t.is(await page.locator('#found li').count(), 0);
    t.deepEqual(complaints, []);
  },
);

serviceTest(
  'the search is used by the keyboard alone',
  { is_shared: true, path: '/docs/legacy' },
  async (t, { page, complaints }) => {
    await opened(page);
    await page.keyboard.press('/');
    t.is(await focused(page), 'input#q');
    await page.keyboard.type('nowcast');
    await page.locator('#found a').first().waitFor();
    await page.keyboard.press('ArrowDown');
    t.is(await focused(page), 'a');
    await page.keyboard.press('ArrowUp');
    t.is(await focused(page), 'input#q');
    await page.keyboard.press('ArrowDown');
    const to = await page.evaluate(() => document.activeElement?.getAttribute('href'));
    await page.keyboard.press('Enter');
    await page.waitForURL((url) => url.href === to);
    t.deepEqual(complaints, []);
  },
);

serviceTest(
  'without scripts the search is a page, and examples are read in each language',
  { is_shared: true, path: '/docs', javaScriptEnabled: false },
  async (t, { page }) => {
    await page.locator('#getStorms input[value=python]').check();
    t.true(await page.locator('#getStorms pre[data-language=python]').isVisible());
    t.false(await page.locator('#getStorms pre[data-language=curl]').isVisible());
    t.false(await page.locator('#getStorms button.try').isVisible());
    await page.getByRole('searchbox').fill('nowcast');
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/docs\/search\?q=nowcast$/);
    t.true((await page.locator('a[href="../docs#getHailNowcast"]').count()) > 0);
  },
);

serviceTest(
  'a call is tried with the key of the map: status, charge, headers and answer are shown',
  { path: '/docs' },
  async (t, { page, complaints, key, service }) => {
    await opened(page);
    const asked: string[] = [];
    page.on('request', (request) => asked.push(request.url()));
    const call = page.locator('#getHailCurrent');
    await call.getByRole('button', { name: 'Try it' }).click();
    t.is(await call.getByLabel('Your key').inputValue(), key);
    await call.getByLabel('radius_km').fill('100');
    await call.getByRole('button', { name: 'Send' }).click();
    await call.getByText(/^200 OK · \d+ ms · 15 credits$/).waitFor();
    t.regex(await said(page, '#getHailCurrent .outcome pre >> nth=0'), /^x-credits-charged: 15$/m);
    const answer = JSON.parse(await said(page, '#getHailCurrent .outcome > pre >> nth=1'));
    t.is(answer.active, true);
    t.true(asked.some((url) => url.endsWith('/v1/hail/current?lat=35.22&lon=-97.44&radius_km=100')));
    t.deepEqual(
      asked.filter((url) => !url.startsWith(`${service.url}/`)),
      [],
    );
    t.false(page.url().includes(key));
    t.deepEqual(complaints, []);
  },
);

serviceTest(
  'a wrong key and a wrong value show what the service says, and a forgotten key is gone',
  { path: '/docs', has_key: false },
  async (t, { page, complaints, key }) => {
    await opened(page);
    const call = page.locator('#getHailCurrent');
    await call.getByRole('button', { name: 'Try it' }).click();
    const send = call.getByRole('button', { name: 'Send' });
    await send.click();
    await call.getByText('A key is needed').waitFor();
    await call.getByLabel('Your key').fill('hs_live_wrong');
    await send.click();
    await call.getByText(/^401 /).waitFor();
    t.regex(await said(page, '#getHailCurrent .outcome'), /"error": "unauthorized"/);
    await call.getByLabel('Your key').fill(key);
    await call.getByLabel('lat').fill('99');
    await send.click();
    await call.getByText(/^400 .* 0 credits$/).waitFor();
    t.regex(await said(page, '#getHailCurrent .outcome'), /"message": "lat /);
    t.is(await page.evaluate(() => localStorage.getItem('hail.key')), key);
    await call.getByRole('button', { name: 'Forget key' }).click();
    t.is(await page.evaluate(() => localStorage.getItem('hail.key')), null);
    t.is(await call.getByLabel('Your key').inputValue(), '');
    t.deepEqual(complaints, []);
  },
);

serviceTest(
  'a call with a body, and one that needs no key, are tried too',
  { path: '/docs' },
  async (t, { page, complaints }) => {
    await opened(page);
    const batch = page.locator('#postHailCurrentBatch');
    await batch.getByRole('button', { name: 'Try it' }).click();
    await batch.getByLabel('estimate').selectOption('true');
    await batch.getByRole('button', { name: 'Send' }).click();
    await batch.getByText(/^200 OK · \d+ ms · 0 credits$/).waitFor();
    const description = page.locator('#getOpenapiJson');
    await description.getByRole('button', { name: 'Try it' }).click();
    t.is(await description.getByLabel('Your key').count(), 0);
    await description.getByRole('button', { name: 'Send' }).click();
    await description.getByText(/^200 OK/).waitFor();
    t.regex(await said(page, '#getOpenapiJson .outcome'), /characters in all/);
    t.deepEqual(complaints, []);
  },
);

serviceTest(
  'trying is reached, sent and closed by the keyboard',
  { is_shared: true, path: '/docs' },
  async (t, { page, complaints }) => {
    await opened(page);
    await page.locator('#getHailCurrent button.try').focus();
    await page.keyboard.press('Enter');
    await page.locator('#getHailCurrent form').waitFor();
    t.is(await focused(page), 'input#try-getHailCurrent-lat');
    await page.keyboard.press('Enter');
    await page
      .locator('#getHailCurrent')
      .getByText(/^200 OK/)
      .waitFor();
    const seen = new Set<string>();
    for (let k = 0; k < 12; k++) {
      await page.keyboard.press('Tab');
      seen.add(await page.evaluate(() => document.activeElement?.textContent ?? ''));
      if (await page.evaluate(() => document.activeElement?.textContent === 'Close')) break;
    }
    t.true(
      ['Forget key', 'Send', 'Close'].every((name) => seen.has(name)),
      [...seen].join(),
    );
    await page.keyboard.press('Enter');
    t.is(await page.locator('#getHailCurrent form').count(), 0);
    t.true(await page.evaluate(() => document.activeElement?.matches('button.try') ?? false));
    t.deepEqual(complaints, []);
  },
);

serviceTest(
  'the language of the examples is chosen once for all, and remembered',
  { is_shared: true, path: '/docs', ...PHONE },
  async (t, { page, complaints }) => {
    await opened(page);
    const shown = (id: string) => page.locator(`#${id} .example pre:visible`).allInnerTexts();
    t.regex((await shown('getStorms')).join(), /^curl /);
    await page.locator('#getHailCurrent').getByLabel('Python').check();
    for (const id of ['getHailCurrent', 'getStorms']) t.regex((await shown(id)).join(), /^import os\nimport requests/);
    await page.reload();
    await opened(page);
    t.regex((await shown('getStorms')).join(), /^import os/);
    await page.locator('#getStorms').getByLabel('TypeScript').focus();
    await page.keyboard.press('Space');
    t.regex(
      (await shown('getHailCurrent')).join(),
      /^import \{ env \} from 'node:process';\n\nconst response = await fetch\(/,
    );
    t.is(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth), 0);
    t.deepEqual(complaints, []);
  },
);

serviceTest(
  'on a phone the endpoints are folded, so that the text is on the first screen, and a link of the list leads to its call',
  { is_shared: true, path: '/docs', ...PHONE },
  async (t, { page, complaints, picture }) => {
    await opened(page);
    const list = page.locator('#all-endpoints');
    t.false(await list.isVisible());
    const { y = Number.NaN } = (await page.locator('h1').boundingBox()) ?? {};
    t.true(y < 400, `the text begins at ${y}`);
    await picture('docs-phone');
    await page.getByRole('link', { name: 'All endpoints and guides' }).click();
    await picture('docs-phone-unfolded');
    await list.locator('a[href="#getStorms"]').click();
    await list.waitFor({ state: 'hidden' });
    t.true(await page.locator('#getStorms h3').isVisible());
    t.true(new URL(page.url()).hash === '#getStorms');
    t.deepEqual(complaints, []);
  },
);

test('the check of accessibility is the real one', (t) => t.regex(AXE, /axe v4/));
