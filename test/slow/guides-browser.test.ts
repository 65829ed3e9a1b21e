import { GUIDES } from '../../api/routes/docs-guides.ts';
import { PHONE, serviceTest } from '../support/browser/browser.ts';

for (const [screen, options] of [
  ['a desktop', {}],
  ['a phone', PHONE],
  ['a desktop in the dark', { colorScheme: 'dark' }],
  ['a phone in the dark', { ...PHONE, colorScheme: 'dark' }],
] as const)
  serviceTest(
    `every guide fits on the screen of ${screen}, and none complains`,
    { is_shared: true, path: '/docs/guides', has_key: false, ...options },
    async (t, { page, complaints, picture, service }) => {
      for (const name of ['guides', ...GUIDES]) {
        await page.goto(`${service.url}/docs/${name}`);
        const beyond = await page.evaluate(
          () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
        );
        t.is(beyond, 0, `${name} is wider than the screen`);
        await picture(`guide-${name}-${screen.replaceAll(' ', '-')}`);
      }
      t.deepEqual(complaints, []);
    },
  );

serviceTest(
  'the search of the guides answers while one types, a result leads to its section, and a block is copied',
  { is_shared: true, path: '/docs/quickstart', has_key: false, permissions: ['clipboard-read', 'clipboard-write'] },
  async (t, { page, complaints }) => {
    await page.keyboard.press('/');
    await page.keyboard.type('check signature');
    await page.locator('#found .results a').first().click();
    await page.waitForURL('**/docs/receive-events#check-the-signature');
    const block = page.locator('figure.code').first();
    await block.getByRole('button', { name: 'Copy' }).click();
    await block.getByRole('button', { name: 'Copied' }).waitFor();
    const copied = await page.evaluate(() => navigator.clipboard.readText());
    t.true(copied.startsWith('export HAIL_URL=http://127.0.0.1:'));
    t.deepEqual(complaints, []);
  },
);

serviceTest(
  'on a wide screen the list of sections is open, stays in view, and covers nothing of the text',
  { path: '/docs/quickstart', has_key: false, viewport: { width: 1440, height: 900 } },
  async (t, { page, complaints, picture }) => {
    const contents = page.locator('details.contents[open]');
    await contents.waitFor();
    const edge = async () => (await contents.boundingBox())?.x ?? Number.NaN;
    for (const block of await page.locator('main > :not(details)').all()) {
      const { x = 0, width = Number.NaN } = (await block.boundingBox()) ?? {};
      t.true(x + width < (await edge()), (await block.textContent())?.slice(0, 60));
    }
    await page.mouse.move(700, 450);
    await page.mouse.wheel(0, 2000);
    await page.waitForFunction(() => scrollY >= 2000);
    const { y = Number.NaN } = (await contents.boundingBox()) ?? {};
    t.true(y > 0 && y < 200, `the list is at ${y}`);
    await picture('guide-wide');
    t.deepEqual(complaints, []);
  },
);

serviceTest(
  'without a script the search is a form that leads to its results',
  { is_shared: true, path: '/docs/quickstart', has_key: false, javaScriptEnabled: false },
  async (t, { page }) => {
    await page.getByRole('searchbox').fill('retries');
    await page.keyboard.press('Enter');
    await page.waitForURL('**/docs/search?q=retries');
    t.true((await page.locator('.results li').count()) > 0);
  },
);
