import { readFile } from 'node:fs/promises';
import { said, serviceTest } from '../support/browser/browser.ts';
import { type Receiver, startReceiver } from '../support/service/receiver.ts';

const PATH = '/viewer/account';
let receiver: Receiver;

serviceTest(
  'the account page shows what calls have cost, day by day and by operation',
  { path: PATH },
  async (t, { page, complaints, picture, service, key }) => {
    await page.waitForSelector('#account:not([hidden])');
    t.regex(await said(page, '#balance'), /^0 credits used, no monthly limit\. Plan: self-hosted\.$/);
    t.regex(await said(page, '#operations'), /No call was charged in this month/);
    const call = (path: string) => fetch(`${service.url}${path}`, { headers: { Authorization: `Bearer ${key}` } });
    for (const path of ['/v1/tiles/scan', '/v1/tiles/scan', '/v1/tiles/daily']) t.is((await call(path)).status, 200);
    await page.reload();
    await page.waitForSelector('#account:not([hidden])');
    await picture('account');
    t.regex(await said(page, '#balance'), /^8 credits used/);
    const rows = await page.locator('#operations tbody tr').allInnerTexts();
    t.deepEqual(
      rows.map((row) => row.split('\t')),
      [
        ['tiles.daily', '1', '2', '2'],
        ['tiles.scan', '2', '3', '6'],
      ],
    );
    t.regex(await said(page, '#daily title >> nth=1'), /^2026-05-02: 8 credits$/);
    await page.locator('#earlier-month').click();
    await page.waitForFunction(() => document.querySelector('#month')?.textContent === 'April 2026');
    t.regex(await said(page, '#balance'), /^0 credits used/);
    t.deepEqual(complaints, []);
  },
);

serviceTest('all operations of the month are saved as CSV', { path: PATH }, async (t, { page, service, key }) => {
  await fetch(`${service.url}/v1/tiles/scan`, { headers: { Authorization: `Bearer ${key}` } });
  await page.waitForSelector('#account:not([hidden])');
  const [download] = await Promise.all([page.waitForEvent('download'), page.locator('#save-usage').click()]);
  t.is(download.suggestedFilename(), 'usage-2026-05.csv');
  t.is(await readFile(await download.path(), 'utf8'), 'operation,count,credits,cost_per_call\r\ntiles.scan,1,3,3\r\n');
});

serviceTest(
  'a webhook is tested from the account page, and its attempts are listed',
  {
    path: PATH,
    settings: async (t) => {
      receiver = await startReceiver(t);
      return { HAIL_WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8', HAIL_WEBHOOK_CA_FILE: receiver.ca_file };
    },
  },
  async (t, { page, complaints, picture, service, key }) => {
    await page.waitForSelector('#account:not([hidden])');
    await page.locator('#load-webhooks').click();
    await page.waitForSelector('#webhooks p');
    t.is(await said(page, '#webhooks'), 'This account has no webhook.');
    const made = await fetch(`${service.url}/v1/webhooks`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ url: receiver.url }),
    });
    t.is(made.status, 200);
    await page.locator('#load-webhooks').click();
    await page.getByRole('button', { name: 'Send a test' }).click();
    await page.waitForFunction(() => document.querySelector('.webhook .result')?.textContent !== '');
    t.is(await said(page, '.webhook .result'), 'The test was answered 200.');
    t.is(receiver.received.length, 1);
    await page.getByRole('button', { name: 'Show attempts' }).click();
    await page.waitForSelector('.webhook table');
    t.regex(await said(page, '.webhook table'), /Nothing has been sent to this webhook yet/);
    await picture('webhooks');
    t.deepEqual(complaints, []);
  },
);

serviceTest('without a key the page requests one', { path: PATH, has_key: false }, async (t, { page, key }) => {
  await page.waitForSelector('#key-dialog[open]');
  t.false(await page.locator('#account').isVisible());
  await page.locator('#key').fill(key);
  await page.locator('#key-form button.primary').click();
  await page.waitForSelector('#account:not([hidden])');
  t.true(await page.locator('#trouble').isHidden());
});

serviceTest('a key that is not valid is refused in words', { path: PATH, has_key: false }, async (t, { page }) => {
  await page.waitForSelector('#key-dialog[open]');
  await page.locator('#key').fill('hs_live_wrong');
  await page.locator('#key-form button.primary').click();
  await page.waitForSelector('#key-trouble:not([hidden])');
  t.regex(await said(page, '#key-trouble'), /not accepted/);
});
