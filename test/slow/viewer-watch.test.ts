import type { Page } from 'playwright-core';
import { AREA_MIN_MM } from '../../api/alerts/places.ts';
import { drawn, said, serviceTest } from '../support/browser/browser.ts';
import { type Receiver, startReceiver } from '../support/service/receiver.ts';

const MAP = '/viewer#view=scan&date=2026-05-02&map=8.00/35.2000/-97.4000';
let receiver: Receiver;
const settings = async (t: Parameters<typeof startReceiver>[0]) => {
  receiver = await startReceiver(t);
  return { HAIL_WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8', HAIL_WEBHOOK_CA_FILE: receiver.ca_file };
};

/** Presses on places of the page, as a hand does: moves there first, and rests. */
async function press(page: Page, ...places: readonly (readonly [number, number])[]): Promise<void> {
  for (const [x, y] of places) {
    await page.mouse.move(x, y, { steps: 5 });
    await page.mouse.down();
    await page.mouse.up();
    await page.waitForTimeout(300);
  }
}

serviceTest(
  'a circle drawn on the map becomes an alert subscription, and its secret is shown once',
  { path: MAP, settings },
  async (t, { page, complaints, picture, service, key }) => {
    await drawn(page);
    await page.locator('#open-watch').click();
    await page.locator('#watch-circle').click();
    await page.waitForTimeout(1500);
    await press(page, [640, 400], [720, 400]);
    await page.waitForSelector('#watch-form:not([hidden])');
    t.regex(await said(page, '#watch-words'), /^A circle with a radius of \d+\.\d km\.$/);
    await page.locator('#watch-name').fill('Depot');
    await page.locator('#watch-url').fill(receiver.url);
    await picture('watch-circle');
    await page.locator('#watch-form button').click();
    await page.waitForSelector('#watch-secret:not([hidden])');
    t.regex(await said(page, '#watch-secret-text'), /^whsec_/);
    await picture('watched');
    const listed = await fetch(`${service.url}/v1/alerts`, { headers: { Authorization: `Bearer ${key}` } });
    const { subscriptions } = (await listed.json()) as { subscriptions: Record<string, number | string>[] };
    t.is(subscriptions.length, 1);
    const { name, lat, lon, radius_km, min_size_mm } = subscriptions[0] as Record<string, number>;
    t.is(String(name), 'Depot');
    t.is(min_size_mm, 25);
    t.true(Math.abs((lat ?? 0) - 35.2) < 0.05 && Math.abs((lon ?? 0) + 97.4) < 0.05, `${lat} ${lon}`);
    t.true((radius_km ?? 0) > 5 && (radius_km ?? 0) < 60, String(radius_km));
    t.deepEqual(complaints, []);
    await page.locator('#close-watch').click();
    t.false(await page.locator('#watch').isVisible());
  },
);

serviceTest(
  'an area drawn on the map becomes a monitored area with a webhook',
  { path: MAP, settings },
  async (t, { page, complaints, service, key }) => {
    await drawn(page);
    await page.locator('#open-watch').click();
    await page.locator('#watch-polygon').click();
    await page.waitForTimeout(1500);
    await press(page, [600, 350], [700, 350], [700, 450], [600, 350]);
    await page.waitForSelector('#watch-form:not([hidden])');
    t.true((await said(page, '#watch-price')).endsWith(`Hail of ${AREA_MIN_MM} mm or more counts.`));
    await page.locator('#watch-name').fill('Solar park');
    await page.locator('#watch-url').fill(receiver.url);
    await page.locator('#watch-form button').click();
    await page.waitForSelector('#watch-form[hidden]', { state: 'attached' });
    t.regex(await said(page, '#watch-words'), /^“Solar park” is watched\./);
    t.regex(await said(page, '#watch-secret-text'), /^whsec_/);
    const call = async (path: string) =>
      (await fetch(`${service.url}${path}`, { headers: { Authorization: `Bearer ${key}` } })).json();
    const { areas } = (await call('/v1/areas')) as { areas: { name: string; kind: string }[] };
    t.deepEqual(
      areas.map(({ name, kind }) => [name, kind]),
      [['Solar park', 'polygon']],
    );
    t.is(((await call('/v1/webhooks')) as { count: number }).count, 1);
    t.deepEqual(complaints, []);
  },
);

serviceTest(
  'an address that the service refuses is named, and nothing is saved',
  { path: MAP },
  async (t, { page }) => {
    await drawn(page);
    await page.locator('#open-watch').click();
    await page.locator('#watch-circle').click();
    await page.waitForTimeout(1500);
    await press(page, [640, 400], [720, 400]);
    await page.waitForSelector('#watch-form:not([hidden])');
    await page.locator('#watch-name').fill('Depot');
    await page.locator('#watch-url').fill('https://127.0.0.1/hook');
    await page.locator('#watch-form button').click();
    await page.waitForSelector('#watch-trouble:not([hidden])');
    t.regex(await said(page, '#watch-trouble'), /webhook_url/);
    t.true(await page.locator('#watch-form').isVisible(), 'it can be mended');
  },
);
