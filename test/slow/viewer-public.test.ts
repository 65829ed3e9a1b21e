import { drawn, said, serviceTest } from '../support/browser/browser.ts';

serviceTest(
  'a public map opens without a key and without a question for one',
  { has_key: false, settings: { HAIL_VIEWER: 'public' } },
  async (t, { page, complaints, picture }) => {
    await drawn(page);
    await picture('public');
    t.false(await page.locator('#key-dialog').isVisible());
    t.true(await page.locator('#trouble').isHidden());
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
    t.regex(await said(page, '#clock-utc'), /^00:\d\d UTC$/);
    await page.click('#open-calendar');
    await page.waitForSelector('#hail-days li');
    t.true(await page.locator('#calendar-trouble').isHidden());
    await page.click('#close-calendar');

    await page.click('#layers-fold');
    t.is(await said(page, '#layer-warnings-note'), 'Needs a key of this service.');
    t.false(asked.includes('/v1/health'));
    await page.click('.layer:has(#layer-alerts) .layer-read');
    t.true(await page.locator('#key-dialog').isVisible());
    await page.click('#key-later');
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
    const usage = await fetch(`${service.url}/v1/usage`, { headers: { Authorization: `Bearer ${key}` } });
    t.is(
      ((await usage.json()) as { credits: { used: number } }).credits.used,
      0,
      'with a key stored the map is free, too',
    );
    t.deepEqual(complaints, []);
  },
);
