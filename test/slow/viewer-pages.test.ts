import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import test from 'ava';
import type { Page, Route } from 'playwright-core';
import { LINK_MS } from '../../api/accounts/keys.ts';
import { ask, creditsUsed, drawn, PHONE, pressMap, ready, said, serviceTest } from '../support/browser/browser.ts';
import { PROJECT } from '../support/data/markdown.ts';
import { runProgram } from '../support/data/python.ts';
import { commandPath } from '../support/kill/command.ts';
import { type Receiver, startReceiver } from '../support/service/receiver.ts';
import { WHOLE_NOW_MS } from '../support/service/whole-service.ts';

/** Source of axe-core. */
const AXE = readFileSync(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8');

/** Violations of the rules of accessibility on a page, as `rule: element`. */
async function violationsOn(page: Page): Promise<string[]> {
  // Not as a script of the page, which its policy refuses.
  const session = await page.context().newCDPSession(page);
  await session.send('Runtime.evaluate', { expression: AXE });
  const { result } = await session.send('Runtime.evaluate', {
    expression:
      'axe.run().then(({ violations }) => violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => [id, html].join(": "))))',
    awaitPromise: true,
    returnByValue: true,
  });
  return result.value;
}

test('the check of accessibility is the real one', (t) => t.regex(AXE, /axe v4/));

const PINNED = '/viewer#view=scan&date=2026-05-02&pin=35.2000,-97.4000&map=8.00/35.2000/-97.4000';

for (const colorScheme of ['light', 'dark'] as const)
  serviceTest(
    `the map with its layers, a pinned place and each dialog open, and the other pages break no rule of accessibility, ${colorScheme}`,
    { is_shared: true, path: PINNED, colorScheme },
    async (t, { page, service, complaints }) => {
      await drawn(page);
      t.true(await page.locator('#pin').isVisible());
      await page.locator('#layers-fold').click();
      await page.locator('#layers-body').waitFor();
      t.deepEqual(await violationsOn(page), []);
      for (const dialog of ['days', 'account', 'share', 'help']) {
        await page.click(`#open-${dialog}`);
        await page.waitForTimeout(400);
        t.deepEqual(await violationsOn(page), [], dialog);
        await page.click(`#close-${dialog}`);
      }
      for (const path of ['', 'link#token', 'docs/receive-events', 'docs/search?q=hail', 'embed']) {
        await page.goto(`${service.url}/${path}`);
        if (path === 'embed') await ready(page);
        t.deepEqual(await violationsOn(page), [], path);
      }
      t.deepEqual(complaints, []);
    },
  );

serviceTest(
  'a public map without a key has scans, hail days and links, and offers the dialog where a key is needed',
  {
    has_key: false,
    settings: { HAIL_VIEWER: 'public' },
    path: '/viewer#view=scan&date=2026-05-02&pin=35.20000,-97.40000',
  },
  async (t, { page, complaints, service, key }) => {
    const asked: string[] = [];
    page.on('request', (request) => asked.push(new URL(request.url()).pathname));
    await drawn(page);
    t.false(await page.locator('#key-dialog').isVisible());
    t.true(await page.locator('#trouble').isHidden());
    await page.waitForSelector('#live-row:not([hidden])');
    t.regex(await said(page, '#age'), /^Newest scan /);
    t.regex(await said(page, '#clock-utc'), /^00:\d\d UTC$/);
    await page.click('#open-days');
    await page.waitForSelector('#days-list li');
    await page.click('#close-days');

    await page.click('#layers-fold');
    t.is(await said(page, '#layer-warnings-note'), 'Needs a key of this service.');
    t.false(asked.includes('/v1/health'));
    await page.click('.layer:has(#layer-alerts) .layer-read');
    t.true(await page.locator('#key-dialog').isVisible());
    await page.click('#close-key-dialog');
    await page.click('#layers-fold');
    await page.click('#tab-verify');
    await page.click('#ask-verify');
    await page.waitForSelector('#verify-answer .refused');
    t.is(await said(page, '#verify-answer .refused'), 'A key of this service is needed for this.');
    await page.fill('#key', key);
    await page.keyboard.press('Enter');
    await page.waitForSelector('#key-dialog', { state: 'hidden' });
    await page.reload();
    await drawn(page);
    await page.waitForTimeout(1000);
    t.is(await creditsUsed({ service, key }), 0, 'with a key stored the map is free, too');
    t.deepEqual(complaints, []);
  },
);

serviceTest(
  'on paper there are the map as it is shown with its pin, its summary, the scale of sizes, the time and the caution, and nothing to press',
  { is_shared: true, path: PINNED.replace('scan', 'day').replace('8.00', '7.00') },
  async (t, { page, complaints }) => {
    await drawn(page);
    await page.click('#layers-fold');
    await page.waitForTimeout(400);
    const seen = await page.evaluate(async () => {
      dispatchEvent(new Event('beforeprint'));
      const image = document.querySelector('#printed') as HTMLImageElement;
      await image.decode();
      const pen = new OffscreenCanvas(image.width, image.height).getContext('2d') as OffscreenCanvasRenderingContext2D;
      pen.drawImage(image, 0, 0);
      const { data } = pen.getImageData(0, 0, image.width, image.height);
      const nickel = data.some((_, i) => i % 4 === 0 && data[i] === 244 && data[i + 1] === 191);
      return { width: image.width, nickel, pin: [...pen.getImageData(640, 392, 1, 1).data] };
    });
    t.deepEqual(seen, { width: 1280, nickel: true, pin: [34, 48, 60, 255] });
    await page.click('#panel-fold');
    // As wide as a sheet less its margins.
    await page.setViewportSize({ width: 717, height: 1000 });
    await page.emulateMedia({ media: 'print' });
    for (const part of [
      '#printed',
      '#simulated',
      '#summary',
      '#legend-steps',
      '#legend .hatched',
      '#clock-own',
      '#caution',
    ])
      t.true(await page.locator(part).isVisible(), part);
    for (const part of ['#map', '#find', '#layers', '#pin', '#timeline', 'button:visible', 'input:visible'])
      t.false(await page.locator(part).first().isVisible(), part);
    t.deepEqual(complaints, []);
  },
);

const MAP = '/viewer#view=scan&date=2026-05-02&map=8.00/35.2000/-97.4000';
let receiver: Receiver;
const settings = async (t: Parameters<typeof startReceiver>[0]) => {
  receiver = await startReceiver(t);
  return receiver.settings;
};

serviceTest(
  'a circle drawn on the map becomes an alert subscription, once its address is one that is taken, and its secret is shown once',
  { path: MAP, settings },
  async (t, { page, complaints, service, key }) => {
    await drawn(page);
    await page.locator('#open-watch').click();
    await page.locator('#watch-circle').click();
    await page.waitForTimeout(1500);
    await pressMap(page, [640, 400], [720, 400]);
    await page.waitForSelector('#watch-form');
    t.regex(await said(page, '#watch-words'), /^A circle with a radius of \d+\.\d km\.$/);
    await page.locator('#watch-name').fill('Depot');
    const size = page.locator('#watch-form select');
    t.is(await size.inputValue(), '25');
    await size.selectOption({ index: 3 });
    const size_mm = await size.inputValue();
    t.not(size_mm, '25');
    await page.locator('#watch-url').fill('https://10.0.0.1/hook');
    await page.locator('#watch-form button').click();
    await page.locator('#watch-answer .refused').getByText('webhook_url').waitFor();
    await page.locator('#watch-url').fill(receiver.url);
    let answer = () => {};
    const held = new Promise<void>((resolve) => {
      answer = resolve;
    });
    await page.route('**/v1/alerts/subscribe', async (route) => {
      await held;
      await route.continue();
    });
    // The answer to the first attempt is lost on its way.
    const lose = (route: Route) => route.fetch().then(() => route.fulfill({ status: 502 }));
    await page.route('**/v1/alerts/subscribe', lose, { times: 1 });
    await page.locator('#watch-form button').click();
    await page.locator('#watch-answer .refused').getByText('502').waitFor();
    await page.locator('#watch-form button').click();
    t.true(await page.locator('#close-watch').isDisabled(), 'the secret is still to come');
    answer();
    await page.waitForSelector('#watch-secret');
    t.regex(await said(page, '#watch-secret-text'), /^whsec_/);
    await page.keyboard.press('Escape');
    t.true(await page.locator('#watch-secret').isVisible(), 'only the button closes it');
    type Listed = { subscriptions: Record<string, number | string>[] };
    const { subscriptions } = await ask<Listed>({ service, key }, '/alerts');
    t.is(subscriptions.length, 1);
    const { name, lat, lon, radius_km, min_size_mm } = subscriptions[0] as Record<string, number>;
    t.is(String(name), 'Depot');
    t.is(String(min_size_mm), size_mm);
    t.true(Math.abs((lat ?? 0) - 35.2) < 0.05 && Math.abs((lon ?? 0) + 97.4) < 0.05, `${lat} ${lon}`);
    t.true((radius_km ?? 0) > 5 && (radius_km ?? 0) < 60, String(radius_km));
    t.deepEqual(complaints, []);
    await page.locator('#close-watch').click();
    t.false(await page.locator('#watch').isVisible());
  },
);

serviceTest(
  'credits of the month by operation and the keys are listed, and without a key one is asked for',
  { path: MAP, has_key: false },
  async (t, { page, complaints, service, key }) => {
    await page.locator('#close-key-dialog').click();
    await page.locator('#open-account').click();
    await page.waitForSelector('#key-dialog[open]');
    await page.locator('#key').fill(key);
    await page.locator('#key-form button.primary').click();
    await drawn(page);
    const used = await creditsUsed({ service, key });
    await page.locator('#open-account').click();
    await page.waitForSelector('#operations dd');
    t.is(await said(page, '#balance'), `2026-05: ${used} credits used, no monthly limit. Plan: self-hosted.`);
    const spent = await page.locator('#operations > div').allTextContents();
    t.deepEqual(spent, ['tiles.daily1 call, 2 credits', 'tiles.scan1 call, 3 credits']);
    t.true((await page.locator('#keys dd').count()) > 0);
    t.deepEqual(complaints, []);
  },
);

serviceTest(
  'on a phone the printed link gives the browser a key, once and in time, and the map opens with it',
  { ...PHONE, has_key: false, path: '/docs' },
  async (t, { page, complaints, service }) => {
    const print = async (now_ms: number) => {
      const settings = { HAIL_DATA: service.data_root, HAIL_BASE_URL: `${service.url}/v1` };
      const env = { ...settings, HAIL_NOW: new Date(now_ms).toISOString() };
      const args = [commandPath('hail-api'), 'key', 'link', 'default'];
      return /http\S+/.exec(await runProgram(process.execPath, args, { cwd: PROJECT, env }))?.[0] ?? '';
    };
    const use = async (link: string, says: string) => {
      await page.goto('about:blank');
      await page.goto(link);
      await page.tap('#use');
      await page.locator('#outcome').getByText(says).waitFor();
      t.false(page.url().includes('#'));
    };
    const link = await print(WHOLE_NOW_MS);
    const late = await print(WHOLE_NOW_MS - LINK_MS);
    const failed = 'Ask for another one.';
    for (const wrong of [`${link}x`, late]) await use(wrong, failed);
    t.is(await page.evaluate(() => localStorage.getItem('hail.key')), null);
    await use(link, 'This browser has a key of default.');
    await page.getByRole('link', { name: 'Open the map' }).tap();
    await ready(page);
    t.regex(await said(page, '#summary'), /^Largest /);
    t.false(await page.locator('#key-dialog').isVisible());
    await use(link, failed);
    t.deepEqual(complaints, []);
  },
);
