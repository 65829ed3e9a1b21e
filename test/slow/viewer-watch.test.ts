import { drawn, pressMap, said, serviceTest } from '../support/browser/browser.ts';
import { type Receiver, startReceiver } from '../support/service/receiver.ts';

const MAP = '/viewer#view=scan&date=2026-05-02&map=8.00/35.2000/-97.4000';
let receiver: Receiver;
const settings = async (t: Parameters<typeof startReceiver>[0]) => {
  receiver = await startReceiver(t);
  return { HAIL_WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8', HAIL_WEBHOOK_CA_FILE: receiver.ca_file };
};

serviceTest(
  'a circle drawn on the map becomes an alert subscription, and its secret is shown once',
  { path: MAP, settings },
  async (t, { page, complaints, picture, service, key }) => {
    await drawn(page);
    await page.locator('#open-watch').click();
    await page.locator('#watch-circle').click();
    await page.waitForTimeout(1500);
    await pressMap(page, [640, 400], [720, 400]);
    await page.waitForSelector('#watch-form:not([hidden])');
    t.regex(await said(page, '#watch-words'), /^A circle with a radius of \d+\.\d km\.$/);
    await page.locator('#watch-name').fill('Depot');
    await page.locator('#watch-url').fill(receiver.url);
    await picture('watch-circle');
    let answer = () => {};
    const held = new Promise<void>((resolve) => {
      answer = resolve;
    });
    await page.route('**/v1/alerts/subscribe', async (route) => {
      await held;
      await route.continue();
    });
    await page.locator('#watch-form button').click();
    t.true(await page.locator('#close-watch').isDisabled(), 'the secret is still to come');
    answer();
    await page.waitForSelector('#watch-secret:not([hidden])');
    t.regex(await said(page, '#watch-secret-text'), /^whsec_/);
    await page.keyboard.press('Escape');
    t.true(await page.locator('#watch-secret').isVisible(), 'only the button closes it');
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
  'an address that the service refuses is named, and nothing is saved',
  { path: MAP },
  async (t, { page }) => {
    await drawn(page);
    await page.locator('#open-watch').click();
    await page.locator('#watch-circle').click();
    await page.waitForTimeout(1500);
    await pressMap(page, [640, 400], [720, 400]);
    await page.waitForSelector('#watch-form:not([hidden])');
    await page.locator('#watch-name').fill('Depot');
    await page.locator('#watch-url').fill('https://127.0.0.1/hook');
    await page.locator('#watch-form button').click();
    await page.waitForSelector('#watch-trouble:not([hidden])');
    t.regex(await said(page, '#watch-trouble'), /webhook_url/);
    t.true(await page.locator('#watch-form').isVisible(), 'it can be mended');
  },
);
