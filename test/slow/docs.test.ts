import test, { type ExecutionContext } from 'ava';
import { GUIDES } from '../../api/docs/pages.ts';
import { AXE, violationsOn } from '../support/browser/axe.ts';
import { PHONE, ready, serviceTest, type Visit } from '../support/browser/browser.ts';

/** Opens pages and fails where one complains, is wider than the screen, or asks another host. */
async function openAll(t: ExecutionContext, { page, service, complaints, picture }: Visit, paths: readonly string[]) {
  const elsewhere: string[] = [];
  page.on('request', (request) => {
    if (!/^(data|blob):/.test(request.url()) && !request.url().startsWith(`${service.url}/`))
      elsewhere.push(request.url());
  });
  for (const path of paths) {
    await page.goto(`${service.url}${path}`);
    if (path === '/docs') await page.getByRole('heading', { name: 'Hail around a point' }).waitFor();
    t.is(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth), 0, `${path} is too wide`);
    await picture(`${path.slice(1).replaceAll('/', '-')}-${page.viewportSize()?.width}`);
  }
  t.deepEqual(complaints, []);
  t.deepEqual(elsewhere, []);
}

for (const [screen, options] of [
  ['a desktop', {}],
  ['a phone in the dark', { ...PHONE, colorScheme: 'dark' }],
] as const)
  serviceTest(
    `the reference and every guide fit on the screen of ${screen}, complain of nothing and ask no other host`,
    { is_shared: true, path: '/docs', ...options },
    (t, visit) => openAll(t, visit, ['/docs', '/docs/guides', ...GUIDES.map((name) => `/docs/${name}`)]),
  );

serviceTest(
  'an operation of the reference is found by its name, priced, and tried with the key of the map',
  { path: '/docs#getHailCurrent' },
  async (t, { page, complaints, service, key, picture }) => {
    await page.waitForURL(/#tag\/hail-detection\/GET\/v1\/hail\/current$/);
    await page.getByText('15 to 25 credits a call').first().waitFor();
    await page
      .getByRole('button', { name: /Test Request/ })
      .first()
      .click();
    const asked = page.waitForRequest((request) => request.url().startsWith(`${service.url}/v1/hail/current`));
    await page.getByRole('button', { name: /^Send get request/ }).click();
    const request = await asked;
    t.is(request.headers().authorization, `Bearer ${key}`);
    t.is((await request.response())?.status(), 200);
    await picture('reference-tried');
    t.deepEqual(complaints, []);
  },
);

serviceTest(
  'the search of the guides leads to a section, and a block is copied',
  { is_shared: true, path: '/docs/quickstart', permissions: ['clipboard-read', 'clipboard-write'] },
  async (t, { page, complaints }) => {
    await page.getByRole('searchbox').fill('check signature');
    await page.keyboard.press('Enter');
    await page.locator('.results a').first().click();
    await page.waitForURL('**/docs/receive-events#check-the-signature');
    const block = page.locator('figure').first();
    await block.getByRole('button', { name: 'Copy' }).click();
    await block.getByRole('button', { name: 'Copied' }).waitFor();
    const copied = await page.evaluate(() => navigator.clipboard.readText());
    t.true(copied.startsWith('export HAIL_URL=http://127.0.0.1:'));
    t.deepEqual(complaints, []);
  },
);

for (const colorScheme of ['light', 'dark'] as const)
  serviceTest(
    `guides and the map break no rule of accessibility, ${colorScheme}`,
    { is_shared: true, path: '/docs/receive-events', colorScheme },
    async (t, { page, service, complaints }) => {
      t.deepEqual(await violationsOn(page), [], 'receive-events');
      await page.goto(`${service.url}/viewer`);
      await ready(page);
      t.deepEqual(await violationsOn(page), [], 'viewer');
      t.deepEqual(complaints, []);
    },
  );

test('the check of accessibility is the real one', (t) => t.regex(AXE, /axe v4/));
