import { readFile } from 'node:fs/promises';
import type { Page } from 'playwright-core';
import { drawn, PHONE, said, serviceTest } from '../support/browser/browser.ts';
import { WHOLE_NOW_MS } from '../support/service/whole-service.ts';

const DAY = '/viewer#view=day&date=2026-05-01';

serviceTest(
  'an adjuster finds a ZIP, sees what fell, opens the history, verifies the date and downloads the report',
  { path: DAY, acceptDownloads: true },
  async (t, { page, complaints, picture }) => {
    await page.clock.setFixedTime(WHOLE_NOW_MS);
    await drawn(page);
    await page.locator('#find-text').fill('73069');
    await page.locator('#find-list [role=option]').first().waitFor();
    await picture('find-list');
    await page.locator('#find-list [role=option]').first().click();
    await page.locator('#pin').waitFor();
    await page.waitForTimeout(3000);
    await picture('pin');
    await page.locator('#ask-fell').click();
    await page.locator('#fell-answer .headline').waitFor();
    t.log(await said(page, '#fell-answer'));
    await picture('fell');
    await page.locator('#tab-history').click();
    await page.locator('#history-radius').selectOption('10');
    await page.locator('#ask-history').click();
    await page.locator('#history-answer svg').waitFor();
    t.log(await said(page, '#history-answer'));
    await picture('history');
    await page.locator('#tab-verify').click();
    await page.locator('#ask-verify').click();
    await page.locator('#verify-answer .headline').waitFor();
    t.log(await said(page, '#verify-answer'));
    await picture('verify');
    await page.locator('#ask-report').click();
    await page.locator('#verify-answer a').waitFor();
    const [download] = await Promise.all([page.waitForEvent('download'), page.locator('#verify-answer a').click()]);
    t.is((await readFile(await download.path())).subarray(0, 4).toString(), '%PDF');
    await picture('report');
    t.deepEqual(complaints, []);
  },
);
