/*
 * What three people do with the map page, from the first click to the last.
 */
import { readFile } from 'node:fs/promises';
import { AREA_MIN_MM } from '../../api/alerts/places.ts';
import { ask, drawn, openTab, pressMap, ready, said, serviceTest } from '../support/browser/browser.ts';
import { type Receiver, startReceiver } from '../support/service/receiver.ts';
import { WHOLE_NOW_MS } from '../support/service/whole-service.ts';

const SCAN = '/viewer#view=scan&date=2026-05-02&map=8.00/35.2000/-97.4000';
let receiver: Receiver;

const DOWNLOADING = { path: '/viewer#view=day&date=2026-05-01', acceptDownloads: true };

serviceTest('an adjuster finds a ZIP, verifies a date, gets a report', DOWNLOADING, async (t, { page, complaints }) => {
  await page.clock.setFixedTime(WHOLE_NOW_MS);
  await drawn(page);
  await page.locator('#find-text').fill('74010');
  await page.locator('#find-list button').click();
  await page.waitForFunction(() => location.hash.includes('pin=35.82100,-96.37600'));
  t.is(await said(page, '#pin-name'), '74010 · Bristow, OK');
  await page.waitForFunction(() => document.querySelector('#pin-free')?.textContent?.includes('Nearest storm: '));

  t.is(await said(page, '#ask-fell'), 'What fell here · 50 credits');
  await page.locator('#ask-fell').click();
  await page.locator('#fell-answer .headline').waitFor();
  const fell = await said(page, '#fell-answer');
  t.regex(fell, /Within 3 miles1\.\d in \(\d\d mm\), [\d.]+ mi away, Fri 1 May 18:\d\d–18:\d\d CDT \(23:/);
  t.regex(fell, /Radar quality(good|fair|excellent|limited) \(/);
  t.regex(fell, /hail at other times is not known/);

  await page.locator('#tab-history').click();
  t.is(await said(page, '#ask-history'), 'Show 365 days · 60 credits');
  await page.locator('#history-radius').selectOption('10');
  await page.locator('#ask-history').click();
  await page.locator('#history-answer .dot').first().waitFor();
  t.regex(await said(page, '#history-answer'), /2 days with hail of 10 mm or more within 10 miles/);
  t.is(await page.locator('#history-answer .dot').count(), 2);
  t.is(await page.locator('#history-answer .day').count(), 2);

  await page.locator('#tab-verify').click();
  t.is(await page.locator('#pin-date').inputValue(), '2026-05-01');
  t.is(await said(page, '#ask-verify'), 'Verify · 50 credits');
  await page.locator('#ask-verify').click();
  await page.locator('#verify-answer .headline').waitFor();
  t.regex(
    await said(page, '#verify-answer'),
    /^(Hit|Marginal): .*1 May 2026 \(UTC\)Fri 1 May [\d:–]+ CDT .*(hit|marg)/,
  );

  t.is(await said(page, '#ask-report'), 'PDF report · 100 credits');
  await page.locator('#pin-reference').fill('2026-004711');
  await page.locator('#ask-report').click();
  const link = page.locator('#report-answer a');
  await link.waitFor();
  const [download] = await Promise.all([page.waitForEvent('download'), link.click()]);
  t.is((await readFile(await download.path())).subarray(0, 5).toString(), '%PDF-');
  t.deepEqual(complaints, []);
});

serviceTest(
  'a solar operator draws the area of a plant, has its events sent to a webhook',
  {
    path: SCAN,
    settings: async (t) => {
      receiver = await startReceiver(t);
      return receiver.settings;
    },
  },
  async (t, { page, complaints, service, key }) => {
    await drawn(page);
    await page.locator('#open-watch').click();
    await page.locator('#watch-polygon').click();
    await page.waitForTimeout(1500);
    await pressMap(page, [600, 350], [700, 350], [700, 450], [600, 350]);
    await page.waitForSelector('#watch-form');
    t.true(await page.locator('#watch-least').isVisible());
    t.is(await said(page, '#watch-least'), `Hail of ${AREA_MIN_MM} mm or more counts.`);
    await page.locator('#watch-name').fill('Solar park');
    await page.locator('#watch-url').fill(receiver.url);
    await page.locator('#watch-form button').click();
    await page.waitForSelector('#watch-form', { state: 'detached' });
    t.regex(await said(page, '#watch-words'), /^“Solar park” is watched\./);
    t.regex(await said(page, '#watch-secret-text'), /^whsec_/);
    const { areas } = await ask<{ areas: { name: string; kind: string }[] }>({ service, key }, '/areas');
    const areasMade = areas.map(({ name, kind }) => [name, kind]);
    t.deepEqual(areasMade, [['Solar park', 'polygon']]);
    t.is((await ask<{ count: number }>({ service, key }, '/webhooks')).count, 1);
    t.deepEqual(complaints, []);
  },
);

serviceTest(
  'a map maker opens a scan, copies its link, opens it elsewhere and reads the guide of the tiles',
  { path: SCAN },
  async (t, { page, complaints, service, key }) => {
    await drawn(page);
    await page.locator('#scrubber').press('Home');
    await drawn(page);
    const time = await said(page, '#clock-utc');
    await page.locator('#open-share').click();
    const link = await page.locator('#share-link').inputValue();
    await page.locator('#copy-link').click();
    await page.waitForFunction(() => document.querySelector('#share-note')?.textContent !== '');
    t.regex(await said(page, '#share-note'), /Copied\.|The link is selected/);

    const elsewhere = await openTab(link, { key });
    t.teardown(elsewhere.close);
    await ready(elsewhere.page);
    await drawn(elsewhere.page);
    t.is(await said(elsewhere.page, '#clock-utc'), time);
    t.is(elsewhere.page.url(), link);

    await elsewhere.page.goto(`${service.url}/docs/guides`);
    await elsewhere.page.getByRole('link', { name: /tiles/i }).first().click();
    await elsewhere.page.waitForURL(/\/docs\/[^/]*tiles/);
    t.regex(await said(elsewhere.page, 'main'), /PMTiles/);
    t.deepEqual([...complaints, ...elsewhere.complaints], []);
  },
);
