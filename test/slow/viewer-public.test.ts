import { drawn, serviceTest } from '../support/browser/browser.ts';

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
