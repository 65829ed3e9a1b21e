import type { ExecutionContext } from 'ava';
import type { Page } from 'playwright-core';
import {
  answerInstead,
  ask,
  cardsApart,
  colorsOf,
  creditsUsed,
  PHONE,
  said,
  serviceTest,
  smallTargets,
  type Visit,
} from '../support/browser/browser.ts';
import { alertsFile, publishFeeds, reportList, ringOf } from '../support/data/feeds.ts';
import { midnight, ownCopy, preparedRoot } from '../support/data/world.ts';
import { WHOLE_NOW_MS, wholeRoot } from '../support/service/whole-service.ts';

const [FIRST_DATE, SECOND_DATE] = ['2026-05-01', '2026-05-02'];
/** The map between the panel and the card of layers, above the legend. */
const MIDDLE = { x: 330, y: 70, width: 515, height: 450 };
/** Colours that only the marks of a layer have. */
const MARKS = {
  storms: ['31,95,168'],
  warnings: ['224,134,0'],
  watches: ['179,83,156'],
  outlooks: ['184,150,0'],
  reports: ['11,122,75'],
  areas: ['103,65,168'],
  alerts: ['194,37,92'],
} as const;
const NICKEL = '244,191,69';

/** The whole root with ground reports of both dates, and a warning that ended before midnight. */
async function reportedRoot(): Promise<string> {
  const root = ownCopy(await wholeRoot());
  const reports = [
    { time: '2355', inches: 1.75, lat: 35.2, lon: -97.4 },
    { time: '0008', inches: 1, lat: 35.4, lon: -97.6 },
  ];
  const earlier = {
    ...{ id: 'urn:oid:sim.2', sent: '2026-05-01T23:20:00Z', ends: '2026-05-01T23:58:00Z' },
    ...{ event_number: 102, box: [-97.9, 34.6, -97.3, 35.2] as const },
  };
  const files = [reportList(FIRST_DATE, reports, WHOLE_NOW_MS), alertsFile(WHOLE_NOW_MS, earlier)];
  await publishFeeds(root, files, WHOLE_NOW_MS);
  return root;
}

/** Waits until nothing is being read and the map has drawn. */
async function settled(page: Page): Promise<void> {
  await page.waitForFunction(() => document.querySelector('.layer.busy, #panel.busy, #clock.loading') === null);
  await page.waitForTimeout(900);
}

/** Presses the switch of a layer as a reader does. */
async function press(page: Page, id: string): Promise<void> {
  await page.click(`label:has(#layer-${id})`);
  await settled(page);
}

/** Presses the button of a layer that is on; its words. */
async function readAgain(page: Page, id: string): Promise<string | null> {
  const button = page.locator(`.layer:has(#layer-${id}) .layer-read`);
  const words = await button.textContent();
  await button.click();
  await settled(page);
  return words;
}

const noteOf = (page: Page, id: string) => said(page, `#layer-${id}-note`);
const has = (colors: ReadonlySet<string>, wanted: readonly string[]) => wanted.some((color) => colors.has(color));

/** Switches a layer on, off, on and off again: each time it is drawn or gone, and it is paid for once. */
async function switchThrough(t: ExecutionContext, visit: Visit, id: string, price: number, marks: readonly string[]) {
  const { page } = visit;
  const isDrawn = async () => has(await colorsOf(page, MIDDLE), marks);
  const before = await creditsUsed(visit);
  t.false(await isDrawn(), `${id} is off`);
  await press(page, id);
  t.true(await isDrawn(), `${id} is on`);
  t.true(page.url().includes(`layers=hail,${id}`), page.url());
  await press(page, id);
  t.false(await isDrawn(), `${id} is off again`);
  await press(page, id);
  t.is((await creditsUsed(visit)) - before, price, `${id} costs what the card says, once`);
  await press(page, id);
}

const SCAN_OF_TWO = { root: reportedRoot, path: `/viewer#view=scan&date=${SECOND_DATE}` };

serviceTest(
  'storms, warnings and outlooks are drawn when switched on and gone when switched off, cost what the card says, and are not read twice',
  SCAN_OF_TWO,
  async (t, visit) => {
    const { page, complaints } = visit;
    await page.click('#layers-fold');
    await settled(page);
    t.is(await noteOf(page, 'warnings'), 'Costs 8 credits');
    t.is(await noteOf(page, 'outlooks'), 'Costs 5 credits');
    await switchThrough(t, visit, 'storms', 0, MARKS.storms);
    await switchThrough(t, visit, 'warnings', 8, MARKS.warnings);
    await switchThrough(t, visit, 'outlooks', 5, MARKS.outlooks);
    await page.click('#view-day');
    await settled(page);
    t.true((await colorsOf(page, MIDDLE)).has(NICKEL));
    await press(page, 'hail');
    t.false((await colorsOf(page, MIDDLE)).has(NICKEL));
    t.true(page.url().includes('layers=&'), page.url());
    await press(page, 'hail');
    t.true((await colorsOf(page, MIDDLE)).has(NICKEL));
    await press(page, 'smooth');
    t.regex(await noteOf(page, 'smooth'), /squares of 1 km/);
    t.true((await colorsOf(page, MIDDLE)).has(NICKEL));
    t.true(page.url().includes('layers=hail,smooth&'), page.url());
    t.deepEqual(complaints, []);
  },
);

serviceTest(
  'own locations, areas and alerts are drawn when switched on and gone when switched off, cost what the card says, and are not read twice',
  SCAN_OF_TWO,
  async (t, visit) => {
    const { page, complaints } = visit;
    const locations = [{ name: 'Depot', lat: 35.25, lon: -97.75 }];
    await ask(visit, '/portfolio/locations', { format: 'json', data: locations });
    const geometry = { type: 'Polygon', coordinates: [ringOf([-97.9, 34.8, -97.5, 35.1])] };
    await ask(visit, '/areas', { kind: 'polygon', name: 'South', geometry });
    const circle = { lat: 35.3, lon: -97.5, radius_km: 20, name: 'Circle' };
    await ask(visit, '/alerts/subscribe', { ...circle, webhook_url: 'https://192.0.32.7/hail' });
    await page.click('#layers-fold');
    await settled(page);
    t.is(await noteOf(page, 'areas'), 'Costs 1 credit, and 1 for each area');
    t.is(await noteOf(page, 'alerts'), 'Costs 1 credit');
    await switchThrough(t, visit, 'areas', 2, MARKS.areas);
    await switchThrough(t, visit, 'alerts', 1, MARKS.alerts);
    const before = await creditsUsed(visit);
    await press(page, 'locations');
    t.is(await noteOf(page, 'locations'), '1 location.');
    t.is((await creditsUsed(visit)) - before, 1);
    await page.click('#layers-fold');
    await page.goto(`${page.url().replace(/map=.*/, '')}map=9/35.2500/-97.7500`);
    await settled(page);
    await page.mouse.click(640, 400);
    t.deepEqual(await page.locator('.facts-title').allTextContents(), ['Depot']);
    t.deepEqual(complaints, []);
  },
);

serviceTest(
  'ground reports are read when they are switched on and when the button is pressed, and are those of the date and the scan',
  { root: reportedRoot, path: `/viewer#view=day&date=${SECOND_DATE}` },
  async (t, visit) => {
    const { page, complaints } = visit;
    await page.click('#layers-fold');
    await settled(page);
    const before = await creditsUsed(visit);
    t.is(await noteOf(page, 'reports'), 'Costs 40 credits');
    await press(page, 'reports');
    t.is((await creditsUsed(visit)) - before, 40);
    t.is(await noteOf(page, 'reports'), '1 report. As of 2 May 2026 00:12 UTC.');
    t.true(has(await colorsOf(page, MIDDLE), MARKS.reports));

    await page.click('#view-scan');
    await settled(page);
    t.regex(await noteOf(page, 'reports'), /^1 within 15 minutes of this scan, of 1 report read\./);
    await page.keyboard.press('[');
    await page.waitForFunction((date) => location.hash.includes(`date=${date}`), FIRST_DATE);
    await settled(page);
    t.is(await noteOf(page, 'reports'), 'Read for 2 May 2026; not drawn for what is shown.');
    t.false(has(await colorsOf(page, MIDDLE), MARKS.reports));
    t.is((await creditsUsed(visit)) - before - 5, 40, 'another date is not read by itself');
    await answerInstead(page, /exports\/exp_/, 503, { message: 'busy' });
    await readAgain(page, 'reports');
    t.is(await noteOf(page, 'reports'), 'Busy.');
    await page.unroute(/exports\/exp_/);
    t.is(await readAgain(page, 'reports'), 'Read again · 40 credits');
    t.regex(await noteOf(page, 'reports'), /^1 within 15 minutes of this scan, of 1 report read\./);
    t.is((await creditsUsed(visit)) - before - 5, 80, 'what is paid for and did not come is not paid for again');
    t.deepEqual(complaints, []);
  },
);

serviceTest(
  'the last 24 hours have the ground reports of both their dates, for the price of one reading',
  { root: reportedRoot, path: '/viewer#view=recent&layers=hail,warnings,reports' },
  async (t, visit) => {
    const { page, complaints } = visit;
    await page.click('#layers-fold');
    await settled(page);
    t.is(await noteOf(page, 'warnings'), 'Not read yet.', 'a link reads nothing');
    await readAgain(page, 'warnings');
    t.regex(await noteOf(page, 'warnings'), /in the last 24 hours, within 200 km/);
    const before = await creditsUsed(visit);
    t.is(await readAgain(page, 'reports'), 'Read · 40 credits');
    t.is(await noteOf(page, 'reports'), '2 reports. As of 2 May 2026 00:12 UTC.');
    t.is((await creditsUsed(visit)) - before, 40);
    await page.click('#view-day');
    await settled(page);
    t.regex(await noteOf(page, 'reports'), /^1 report\. /, 'those of the date, without another reading');
    t.is((await creditsUsed(visit)) - before, 40);
    t.deepEqual(complaints, []);
  },
);

serviceTest(
  'warnings are those of the time shown, and what the service has for now alone is greyed with its reason',
  { root: reportedRoot, path: `/viewer#view=scan&date=${SECOND_DATE}&layers=hail,warnings,outlooks` },
  async (t, { page, complaints, requests }) => {
    await settled(page);
    await page.click('#layers-fold');
    for (const id of ['warnings', 'outlooks']) await readAgain(page, id);
    t.regex(await noteOf(page, 'warnings'), /^2 areas in force at this scan, within 200 km of the middle of the map\./);
    t.regex(await noteOf(page, 'outlooks'), /^Up to Slight Risk\. Issued 1 May 2026 20:00 UTC/);
    const colors = await colorsOf(page, MIDDLE);
    t.true(has(colors, MARKS.warnings) && has(colors, MARKS.watches));

    await page.keyboard.press('ArrowLeft');
    await page.waitForFunction((date) => location.hash.includes(`date=${date}`), FIRST_DATE);
    await settled(page);
    t.is(await noteOf(page, 'outlooks'), 'The service has the outlook of today only. Choose the newest date.');
    t.false(has(await colorsOf(page, MIDDLE), MARKS.outlooks));
    t.regex(await noteOf(page, 'warnings'), /^Read for 2 May 2026 around .* N, .* W; not drawn for what is shown\.$/);
    await readAgain(page, 'warnings');
    t.regex(await noteOf(page, 'warnings'), /^1 area in force at this scan/);
    t.true(requests.join().includes('days=2'), 'a reading reaches the begin of its date');
    await page.locator('#scrubber').fill('0');
    await settled(page);
    t.regex(await noteOf(page, 'warnings'), /^2 areas in force at this scan/);
    t.deepEqual(complaints, []);
  },
);

serviceTest(
  'a click says what is known of the warning, the watch, the outlook and the storm at a place',
  { path: `/viewer#view=scan&date=${SECOND_DATE}&layers=hail,storms,warnings,outlooks&map=8/35.2000/-97.3000` },
  async (t, { page, complaints }) => {
    await page.click('#layers-fold');
    for (const id of ['warnings', 'outlooks']) await readAgain(page, id);
    await page.mouse.click(640, 400);
    await page.waitForSelector('.facts');
    const titles = await page.locator('.facts-title').allTextContents();
    t.true(titles.includes('Severe Thunderstorm Warning'), titles.join());
    t.true(titles.includes('Severe Thunderstorm Watch 159'), titles.join());
    t.true(titles.includes('Outlook: Slight Risk'), titles.join());
    t.regex(await said(page, '.facts >> nth=0'), /2 May 2026 00:00 UTC to 00:45 UTC/);
    t.deepEqual(complaints, []);
  },
);

serviceTest(
  'a service that collected nothing says so at its layers, and a storm has a motion in a single scan only',
  { root: async () => preparedRoot(await midnight()), path: `/viewer#view=day&date=${SECOND_DATE}` },
  async (t, { page, complaints }) => {
    await page.click('#layers-fold');
    await settled(page);
    t.regex(await noteOf(page, 'storms'), /choose “Scan by scan”/);
    t.true(await page.locator('#layer-storms').isDisabled());
    await press(page, 'warnings');
    t.regex(await noteOf(page, 'warnings'), /^Nothing was ever collected of warnings and watches/);
    await press(page, 'outlooks');
    t.is(await noteOf(page, 'outlooks'), 'This service has never collected outlooks.');
    await press(page, 'reports');
    t.is(await noteOf(page, 'reports'), 'Ground reports of 2 May 2026 were never collected.');
    t.deepEqual(complaints, []);
  },
);

serviceTest(
  'the card is opened, read and closed with the keyboard alone, as the legend and the panel are',
  { is_shared: true },
  async (t, { page }) => {
    await page.focus('#layers-fold');
    await page.keyboard.press('Enter');
    t.is(await page.locator('#layers-fold').getAttribute('aria-expanded'), 'true');
    await settled(page);
    const reached: string[] = [];
    for (let i = 0; i < 6; i++) {
      await page.keyboard.press('Tab');
      reached.push(await page.evaluate(() => document.activeElement?.id ?? ''));
      if (reached.at(-1) === 'layer-locations') break;
    }
    const layers = ['hail', 'smooth', 'warnings', 'outlooks', 'reports', 'locations'];
    t.is(reached.join(), layers.map((id) => `layer-${id}`).join());
    await page.keyboard.press(' ');
    await settled(page);
    t.is(await noteOf(page, 'locations'), 'Your portfolio has no locations.');
    t.false(await page.locator('#legend .name').first().isVisible(), 'the legend is small at first');
    await page.focus('#legend-fold');
    await page.keyboard.press('Enter');
    await page.focus('#panel-fold');
    await page.keyboard.press('Enter');
    t.false(await page.locator('#view-day').isVisible());
    t.true(await page.locator('#legend .name').first().isVisible());
    t.is(await page.locator('#panel-fold').getAttribute('aria-expanded'), 'false');
    await page.focus('#panel-fold');
    await page.keyboard.press('Enter');
    t.true(await page.locator('#view-day').isVisible());
  },
);

for (const [held, screen] of [
  ['upright', PHONE],
  ['on its side', { ...PHONE, viewport: { width: 844, height: 390 } }],
  ['on a narrow window', { viewport: { width: 800, height: 700 } }],
  ['on a desk', {}],
] as const)
  serviceTest(
    `the legend is whole, no control sticks out, no card lies on another or beyond the screen, with the layers folded and unfolded (${held})`,
    { ...screen, is_shared: true },
    async (t, { page }) => {
      await settled(page);
      const controls = page.locator('.card :is(button:not(.fold), input, label, a):visible');
      const out = await controls.evaluateAll((all) =>
        all.filter((one) => {
          const [box, card] = [one.getBoundingClientRect(), one.closest('.card')?.getBoundingClientRect() as DOMRect];
          const [beyond_x, beyond_y] = [card.left - box.left, card.top - box.top];
          return Math.max(beyond_x, beyond_y, box.right - card.right, box.bottom - card.bottom) > 1;
        }),
      );
      t.is(out.length, 0, 'controls stick out');
      const open = ['#panel', '#layers', '#legend', '#dock'];
      const [panel, , legend] = await cardsApart(t, page, [...open, '#find .bar', '#tools', '.maplibregl-ctrl-group']);
      if (held === 'on a narrow window') return;
      t.is(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth), 0);
      if (held === 'upright') {
        t.true((legend?.y ?? 0) - (panel?.bottom ?? 0) > 844 * 0.4, 'the map has the middle');
        await page.tap('#open-days');
        await page.waitForSelector('#days-list li');
        t.is((await cardsApart(t, page, ['#days'])).length, 1);
        await page.tap('#close-days');
      }
      const swatches = page.locator('#legend .swatch');
      t.is(await swatches.count(), 8);
      for (const swatch of await swatches.all()) {
        t.true(await swatch.isVisible());
        t.true(await swatch.evaluate((span) => span.scrollWidth <= span.clientWidth + 1));
      }
      if ('hasTouch' in screen) t.deepEqual(await smallTargets(page, 'button, label:has(input), #date, #scrubber'), []);
      if (held === 'on its side') {
        for (const _ of ['unfolded', 'folded again']) await page.click('#panel-fold');
        t.true(await page.locator('#panel.folded').isVisible());
      }
      await page.click('#layers-fold');
      await settled(page);
      const unfolded = await cardsApart(t, page, open);
      t.regex(unfolded.map(({ id }) => id).join(), /^#panel,#layers(,|$)/);
    },
  );
