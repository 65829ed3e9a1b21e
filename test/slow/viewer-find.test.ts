import type { Page } from 'playwright-core';
import { drawn, PHONE, said, serviceTest, smallTargets } from '../support/browser/browser.ts';
import { type Answer, startWebServer } from '../support/data/web-server.ts';
import { WHOLE_NOW_MS } from '../support/service/whole-service.ts';

const DAY = '/viewer#view=day&date=2026-05-01';
/** A place over which no storm passed. */
const DRY = '&pin=35.22000,-97.44000&map=9.00/35.2200/-97.4400';

/** Options of the search box for a text. */
async function optionsFor(page: Page, text: string): Promise<string[]> {
  await page.locator('#find-text').fill(text);
  await page.locator('#find-list button').first().waitFor();
  return page.locator('#find-list span:first-child').allTextContents();
}

/** Waits until the map has stopped, with the pin in its address. */
async function pinned(page: Page): Promise<{ lat: number; lng: number }> {
  await page.waitForFunction(() => location.hash.includes('pin='));
  await page.locator('#pin').waitFor();
  const [, lat, lng] = /pin=(-?[\d.]+),(-?[\d.]+)/.exec(page.url()) ?? [];
  return { lat: Number(lat), lng: Number(lng) };
}

/** Waits until the map draws a pin, or none. */
const pinDrawn = (page: Page, is_drawn: boolean) =>
  page.waitForFunction((wanted) => {
    const { hailMap } = globalThis as unknown as { readonly hailMap: { querySourceFeatures(id: string): unknown[] } };
    return hailMap.querySourceFeatures('pin').length > 0 === wanted;
  }, is_drawn);

serviceTest(
  'towns, counties and coordinates are found, and what is nowhere is said so',
  { is_shared: true, path: DAY },
  async (t, { page, complaints }) => {
    t.is((await optionsFor(page, 'norm'))[0], 'Norman, OK');
    t.is((await optionsFor(page, 'cleveland county, ok'))[0], 'Cleveland County, OK');
    await page.locator('#find-text').fill('xyzzy');
    await page.locator('#find-note').waitFor();
    t.regex(await said(page, '#find-note'), /Nothing is called “xyzzy”/);
    await page.locator('#find-text').blur();
    t.true(await page.locator('#find-note').isHidden());
    await optionsFor(page, "35°13'N 97°26'W");
    await page.locator('#find-text').press('Enter');
    t.deepEqual(await pinned(page), { lat: 35.21667, lng: -97.43333 });
    await pinDrawn(page, true);
    await page.locator('#remove-pin').click();
    t.true(await page.locator('#pin').isHidden());
    t.false(page.url().includes('pin='));
    await pinDrawn(page, false);
    t.deepEqual(complaints, []);
  },
);

serviceTest(
  'a link keeps the pin; where the steps of the map cannot tell, they say so, and a click can be pinned',
  { path: `${DAY}${DRY}` },
  async (t, { page, complaints }) => {
    await drawn(page);
    t.is(await said(page, '#pin-place'), '35.220° N, 97.440° W');
    await page.waitForFunction(() => document.querySelector('#pin-free')?.textContent !== '');
    t.regex(await said(page, '#pin-free'), /Less than 19 mm by the map’s steps/);
    await page.mouse.click(900, 250);
    await page.locator('.pin-here').waitFor();
    t.regex(await said(page, '.maplibregl-popup'), /Less than 19 mm by the map’s steps/);
    await page.locator('.pin-here').click();
    await page.waitForFunction(() => document.querySelector('#pin-place')?.textContent !== '35.220° N, 97.440° W');
    t.notDeepEqual(await pinned(page), { lat: 35.22, lng: -97.44 });
    await page.evaluate((hash) => location.assign(hash), `#view=recent${DRY}`);
    await drawn(page);
    t.is(await said(page, '#pin-day'), 'Fri 1 May 19:00 CDT–Sat 2 May 19:00 CDT');
    t.deepEqual(complaints, []);
  },
);

serviceTest(
  'a location that may not be read is said in words',
  { is_shared: true, path: DAY },
  async (t, { page, complaints }) => {
    await page.locator('#locate').click();
    await page.waitForFunction(() => document.querySelector('#find-note')?.textContent?.includes('may not tell'));
    t.true(await page.locator('#pin').isHidden());
    t.deepEqual(complaints, []);
  },
);

serviceTest(
  'one’s own location is pinned when it is asked for',
  { path: DAY, permissions: ['geolocation'], geolocation: { latitude: 35.4, longitude: -97.1 } },
  async (t, { page, complaints }) => {
    t.false(page.url().includes('pin='));
    await page.locator('#locate').click();
    t.deepEqual(await pinned(page), { lat: 35.4, lng: -97.1 });
    t.is(await said(page, '#pin-name'), 'My location');
    t.deepEqual(complaints, []);
  },
);

serviceTest(
  'with the keyboard alone a place is found and read',
  { is_shared: true, path: DAY },
  async (t, { page, complaints }) => {
    const { keyboard } = page;
    await page.locator('canvas.maplibregl-canvas').focus();
    await keyboard.press('/');
    await keyboard.type('bristow');
    await page.locator('#find-list button').first().waitFor();
    await keyboard.press('Escape');
    t.true(await page.locator('#find-list').isHidden());
    await keyboard.press('/');
    await keyboard.type('bristow');
    await page.locator('#find-list button').first().waitFor();
    await keyboard.press('Tab');
    await keyboard.press('Enter');
    t.true(Math.abs((await pinned(page)).lat - 35.83) < 0.05);
    await page.locator('#tab-fell').focus();
    await keyboard.press('ArrowRight');
    t.true(await page.locator('#pin-history').isVisible());
    t.is(await page.evaluate(() => document.activeElement?.id), 'tab-history');
    t.deepEqual(complaints, []);
  },
);

serviceTest(
  'on a phone the box opens over the panel, and every target is large enough for a thumb',
  { is_shared: true, ...PHONE, path: DAY },
  async (t, { page, complaints }) => {
    await page.clock.setFixedTime(WHOLE_NOW_MS);
    await drawn(page);
    await page.locator('#layers-fold').click();
    await page.locator('#open-find').click();
    await optionsFor(page, 'bristow');
    await page.locator('#find-list button').first().click();
    await pinned(page);
    await page.waitForFunction(() => /map=[\d.]+\/35\.[78]\d+\/-96\.[34]/.test(location.hash));
    t.is(await page.locator('#layers-fold').getAttribute('aria-expanded'), 'false');
    await page.locator('#ask-fell').click();
    await page.locator('#fell-answer .headline').waitFor();
    t.deepEqual(await smallTargets(page, '#find button, #pin button, #pin input, #pin select'), []);
    t.is(await page.evaluate(() => document.documentElement.scrollWidth), PHONE.viewport.width);
    t.deepEqual(complaints, []);
  },
);

const PHOTON = JSON.stringify({
  features: [
    {
      properties: { housenumber: '660', street: 'Parrington Oval', city: 'Norman', state: 'Oklahoma' },
      geometry: { coordinates: [-97.4457, 35.2088] },
    },
  ],
});
const FOUND = '660 Parrington Oval, Norman, Oklahoma© OpenStreetMap contributors';
const FAILED = 'Places cannot be looked up: the server for addresses does not answer';

for (const [answers, answer, says] of [
  ['knows an address', (_, response) => response.end(PHOTON), FOUND],
  ['fails', (_, response) => response.writeHead(500).end(), FAILED],
  ['does not answer', () => {}, FAILED],
] as const satisfies readonly (readonly [string, Answer, string])[])
  serviceTest(
    `where the geocoder ${answers}, enter looks for an address, and towns are found, without a key`,
    {
      ...{ path: DAY, has_key: false },
      settings: async (t) => {
        const { url } = await startWebServer(t, {}, answer);
        return { HAIL_VIEWER: 'public', HAIL_GEOCODER_URL: `${url}/api` };
      },
    },
    async (t, { page, complaints }) => {
      await page.locator('#find-text').fill('660 parrington oval');
      await page.locator('#find-note').getByText('enter looks for an address').waitFor();
      await page.locator('#find-text').press('Enter');
      const option = page.locator('#find-list button').filter({ hasText: FOUND });
      await option.or(page.locator('#find-note').getByText(FAILED)).waitFor();
      t.is(await option.count(), says === FOUND ? 1 : 0);
      if (says === FOUND) {
        await option.click();
        t.deepEqual(await pinned(page), { lat: 35.2088, lng: -97.4457 });
        t.regex(await said(page, '#pin-name'), /^660 Parrington Oval/);
      }
      t.is((await optionsFor(page, 'norman'))[0], 'Norman, OK');
      t.deepEqual(complaints, []);
    },
  );
