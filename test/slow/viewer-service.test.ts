import { serviceTest } from '../support/browser/browser.ts';

serviceTest('the map of the real service opens without a complaint', {}, async (t, { page, complaints, picture }) => {
  t.regex(await page.title(), /Hail/);
  await picture('opening');
  t.deepEqual(complaints, []);
});
