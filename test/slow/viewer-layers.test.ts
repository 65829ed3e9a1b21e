import type { Page } from 'playwright-core';
import { drawn, PHONE, ready, said, serviceTest } from '../support/browser/browser.ts';

const settle = (page: Page) => page.waitForTimeout(900);

serviceTest('probe', {}, async (t, { page, complaints, picture, service, key }) => {
  const { width } = page.viewportSize() as { width: number };
  await settle(page);
  await picture('folded');
  await page.click('#layers-fold');
  await page.waitForTimeout(800);
  await picture('open');
  for (const id of ['warnings', 'outlooks', 'reports', 'locations', 'areas', 'alerts']) {
    await page.click(`label:has(#layer-${id})`);
    await page.waitForSelector(`.layer:has(#layer-${id}):not(.busy)`);
  }
  await page.waitForTimeout(2500);
  await picture('on');
  t.log(await page.locator('#layers-list').innerText());
  await page.click('#view-scan');
  await drawn(page);
  await page.click('label:has(#layer-storms)');
  await page.waitForTimeout(1500);
  await picture('scan');
  t.log(await page.locator('#layers-list').innerText(), page.url());
  t.log(complaints, width, service.url, key.length, ready, said, PHONE);
  t.pass();
});
