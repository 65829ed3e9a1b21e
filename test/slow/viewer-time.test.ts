import { writeFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { ExecutionContext } from 'ava';
import type { Page } from 'playwright-core';
import { browserOnly, creditsUsed, drawn, openTab, ready, said, serviceTest } from '../support/browser/browser.ts';
import { drawnScan } from '../support/data/drawn-scans.ts';
import { copyFolder, prepared } from '../support/data/prepared.ts';
import { ingest, ownCopy, preparedRoot, scansBetween, scratch } from '../support/data/world.ts';
import { startServe } from '../support/service/serve-child.ts';

const CLOCK = pathToFileURL(fileURLToPath(new URL('../support/kill/clock.ts', import.meta.url))).href;
const [FIRST_DATE, SECOND_DATE] = ['2026-05-01', '2026-05-02'];
const at = (time: string) => Date.parse(`2026-05-0${time}Z`);
const evening = (from: string, to: string) => async () => preparedRoot(await scansBetween(from, to));
const [UNTIL_2350, UNTIL_0010] = [evening('23:20', '23:50'), evening('23:20', '00:10')];

const WINDOW = { row0: 1900, col0: 3200, rows: 150, cols: 200 };
const NOON_SCANS = ['2T11:50', '2T11:54', '2T11:58'];
const NOON_BLOB = { lat: 35.3, lon: -97.2, mm: 42, radius_px: 6 };

/** The evening until 00:50, an outage, and three scans before noon. */
async function untilNoon(): Promise<string> {
  const whole = await preparedRoot(await scansBetween('23:20', '00:50'));
  return prepared(`${basename(whole)}-noon`, async (folder) => {
    copyFolder(whole, folder);
    const times = NOON_SCANS.map((time) => at(`${time}:00`));
    const files = await Promise.all(times.map((time) => drawnScan(`${folder}-raw`, WINDOW, time, [NOON_BLOB])));
    await ingest(folder, files, { now_ms: at('2T12:00:00') });
  });
}

/** Calls of the interface that the page makes from now on. */
function callsOf(page: Page): string[] {
  const calls: string[] = [];
  page.on('request', (request) => {
    const { pathname, search } = new URL(request.url());
    if (pathname.startsWith('/v1/')) calls.push(`${pathname}${search}`);
  });
  return calls;
}

const charged = (calls: readonly string[]) => calls.filter((path) => path !== '/v1/health');

/** Seconds of the slider, as value and as maximum. */
const slider = async (page: Page) => {
  const scrubber = page.locator('#scrubber');
  return { value: Number(await scrubber.inputValue()), max: Number(await scrubber.getAttribute('max')) };
};
const pressed = (page: Page, id: string) => page.locator(`#view-${id}`).getAttribute('aria-pressed');

for (const [clock, root, now, says, outages, both] of [
  ['23:50', UNTIL_2350, '1T23:50:00', /at 23:\d\d UTC, 14 scans in 24 hours\.$/, /^No scans before 23:2\d UTC$/, false],
  ['00:10', UNTIL_0010, '2T00:10:00', /, 24 scans in 24 hours\.$/, /^No scans before 23:2\d UTC$/, true],
  ['12:00', untilNoon, '2T12:00:00', /scans in 24 hours\.$/, /^No scans before 23:2\d, 00:4\d–11:50 UTC$/, true],
] as const)
  serviceTest(
    `at ${clock} UTC the first screen shows the scans and the hail of the last 24 hours, of ${both ? 'both dates' : 'one date, because there is no other'}`,
    { is_shared: true, root, now_ms: at(now) },
    async (t, { page, complaints }) => {
      await page.waitForTimeout(400);
      t.is(await pressed(page, 'recent'), 'true');
      t.regex(await said(page, '#summary'), says);
      t.regex(await said(page, '#outages'), outages);
      t.is(await said(page, '#clock-utc'), '24 hours');
      t.regex(await said(page, '#clock-own'), /^until \w{3} \d\d:\d\d CDT$/, 'the zone of the middle of the map');
      t.regex(page.url(), /#view=recent&map=/, 'the address stays true tomorrow');
      const sources = await page.evaluate(() => performance.getEntriesByType('resource').map(({ name }) => name));
      const days = new Set(sources.flatMap((name) => /tiles\/daily\/(.{10})\.pmtiles/.exec(name)?.[1] ?? []));
      t.deepEqual([...days].sort(), both ? [FIRST_DATE, SECOND_DATE] : [FIRST_DATE]);
      t.deepEqual(complaints, []);
    },
  );

serviceTest(
  'the last 24 hours, their scans and the whole day are three views of what was paid once',
  { root: UNTIL_0010, now_ms: at('2T00:10:00') },
  async (t, { page, complaints, ...visit }) => {
    t.is(await creditsUsed(visit), 10, 'two dates');
    const calls = callsOf(page);
    await page.keyboard.press('v');
    await drawn(page);
    t.is(await pressed(page, 'scan'), 'true');
    await page.locator('#scrubber').press('Home');
    await drawn(page);
    t.regex(page.url(), /view=scan&date=2026-05-01&frame=20260501T23\d{4}Z/, 'the address names the date of the scan');
    await page.click('#view-day');
    await page.waitForFunction(() => location.hash.startsWith('#view=day&date=2026-05-02'));
    await drawn(page);
    t.regex(await said(page, '#summary'), /, \d+ scans\.$/);
    t.deepEqual(charged(calls), []);
    await page.keyboard.press('h');
    await page.waitForFunction(() => location.hash.startsWith('#view=recent'));
    await page.click('#play');
    await page.waitForSelector('#view-scan[aria-pressed=true]');
    await page.click('#view-recent');
    await page.waitForTimeout(2000);
    t.is(await pressed(page, 'recent'), 'true', 'playing ends');
    t.deepEqual(complaints, []);
  },
);

serviceTest(
  'times are given in UTC, at the middle of the map and on the clock of the reader',
  {
    is_shared: true,
    root: UNTIL_0010,
    now_ms: at('2T00:10:00'),
    timezoneId: 'Europe/Berlin',
    path: '/viewer#view=scan&date=2026-05-02',
  },
  async (t, { page }) => {
    t.regex(await said(page, '#clock-utc'), /^00:0\d UTC$/);
    t.regex(await said(page, '#clock-local'), /^Fri 19:0\d CDT$/);
    t.regex(await said(page, '#clock-own'), /^your clock Sat 02:0\d GMT\+2$/);
    await page.evaluate(() => {
      location.hash = location.hash.replace(/map=.*/, 'map=7.00/39.7000/-105.0000');
    });
    await page.waitForFunction(() => document.getElementById('clock-local')?.textContent?.endsWith('MDT'));
    t.regex(await said(page, '#clock-local'), /^Fri 18:0\d MDT$/);
  },
);

serviceTest(
  'the timeline is true to time: scans lie where their time lies, and an outage is a stretch with words',
  { is_shared: true, root: untilNoon, now_ms: at('2T12:00:00') },
  async (t, { page }) => {
    await page.click('#view-scan');
    await drawn(page);
    const end = await slider(page);
    t.is(end.value, end.max);
    await page.locator('#scrubber').press('ArrowLeft');
    await page.waitForFunction(() => location.hash.includes('frame=20260502T115400Z'));
    t.is((await slider(page)).value, end.max - 240, 'four minutes before the end');
    t.is(await said(page, '#clock-utc'), '11:54 UTC');
    // A pointer inside the outage chooses the nearer scan.
    await page.locator('#scrubber').fill(String(end.max - 2 * 3600));
    await page.waitForFunction(() => location.hash.includes('frame=20260502T115000Z'));
    t.is((await slider(page)).value, end.max - 480);
    await drawn(page);
    t.regex(await said(page, '#outages'), /00:4\d–11:50 UTC$/);
    const labels = await page.locator('.bars time:visible').count();
    await page.setViewportSize({ width: 700, height: 800 });
    t.true((await page.locator('.bars time:visible').count()) < labels);
  },
);

serviceTest(
  'playing goes at four speeds, and an outage does not hold it up',
  { root: untilNoon, now_ms: at('2T12:00:00'), path: `/viewer#view=scan&date=${SECOND_DATE}` },
  async (t, { page }) => {
    const speed = page.locator('#speed');
    const seen = [await speed.textContent()];
    for (const _ of [2, 4, 8, 1]) {
      await page.keyboard.press('s');
      seen.push(await speed.textContent());
    }
    t.deepEqual(seen, ['1×', '2×', '4×', '8×', '1×']);
    await page.keyboard.press('s');
    await page.keyboard.press('s');
    await page.locator('#scrubber').press('Home');
    await drawn(page);
    await page.evaluate(() => (document.activeElement as HTMLElement).blur());
    // An archive that cannot be read costs its own scan, and is told.
    await page.route(/tiles\/scan\/.*T00[2-4].*pmtiles/, (route) => route.abort());
    await page.keyboard.press(' ');
    t.is(await page.locator('#play').getAttribute('aria-label'), 'Pause');
    await page.waitForFunction(() => /frame=20260502T00[1-4]/.test(location.hash));
    await page.waitForFunction(() => document.querySelector('#clock-utc')?.textContent?.startsWith('11:'));
    await page.keyboard.press(' ');
    t.regex(await said(page, '#trouble-words'), /^Part of the map cannot be drawn: /);
    t.is(await page.locator('#play').getAttribute('aria-label'), 'Play');
  },
);

serviceTest(
  'the list of hail days is requested when it is first needed and kept; ‹ skips days without hail, and with shift does not',
  { root: untilNoon, now_ms: at('2T12:00:00') },
  async (t, { page, complaints, ...visit }) => {
    const calls = callsOf(page);
    const before = await creditsUsed(visit);
    await page.keyboard.press('c');
    await page.waitForSelector('#days-list li');
    await page.waitForTimeout(300);
    t.regex(await said(page, '#days-words'), /^2 days with hail of 19 mm or more, 3 May 2025 to 2 May 2026$/);
    await page.getByRole('button', { name: /^1 May 2026/ }).click();
    await page.waitForFunction(() => location.hash.startsWith('#view=day&date=2026-05-01'));
    await drawn(page);
    t.false(await page.locator('#days').isVisible());
    t.is((await creditsUsed(visit)) - before, 15, 'the date was paid with the last 24 hours');

    await page.keyboard.press('ArrowLeft');
    await page.waitForSelector('#notice:not([hidden])');
    t.regex(await said(page, '#notice'), /^No hail of 19 mm or more between 3 May 2025 and 1 May 2026\./);
    await page.keyboard.press('ArrowRight');
    await page.waitForFunction(() => location.hash.includes('date=2026-05-02'));
    t.deepEqual(
      charged(calls).filter((path) => !path.startsWith('/v1/usage')),
      ['/v1/events?date_start=2025-05-03&date_end=2026-05-02'],
    );
    await page.click('#later', { modifiers: ['Shift'] });
    await page.waitForFunction(() => location.hash.includes('date=2026-05-03'));
    await drawn(page);
    t.is(await said(page, '#summary'), 'Nothing is published for 3 May 2026: no scans, so hail or none is not known.');
    t.deepEqual(complaints, []);
  },
);

for (const [what, hash, says, shown] of [
  [
    'an unknown scan',
    `#view=scan&date=${SECOND_DATE}&frame=20260502T000300Z`,
    /^No scan of 2 May 2026 00:03 UTC is published\. The nearest is shown, of 00:0[234] UTC\.$/,
    /date=2026-05-02&frame=20260502T000[234]/,
  ],
  [
    'a date that does not exist',
    '#view=day&date=2026-02-30',
    /^This link names the date “2026-02-30”, which does not exist\. The newest data are shown\.$/,
    /view=day&date=2026-05-02/,
  ],
  [
    'what is no scan',
    `#view=scan&date=${SECOND_DATE}&frame=yesterday`,
    /^This link names the scan “yesterday”, which is not the name of a scan\./,
    /date=2026-05-02&frame=/,
  ],
] as const)
  serviceTest(
    `a link to ${what} says so in words and shows the nearest`,
    { root: UNTIL_0010, now_ms: at('2T00:10:00'), path: `/viewer${hash}` },
    async (t, { page, complaints }) => {
      await drawn(page);
      await page.waitForSelector('#notice:not([hidden])');
      t.regex(await said(page, '#notice'), says);
      t.regex(page.url(), shown);
      t.false(await page.locator('#panel').evaluate((panel) => panel.classList.contains('empty')));
      t.deepEqual(complaints, []);
    },
  );

/** The page on a service whose clock goes on, and whose data root gets further scans. */
async function liveVisit(t: ExecutionContext, until: string) {
  const root = ownCopy(await evening('23:20', until)());
  const begin_ms = at(`1T${until}:00`);
  const clock = `${await scratch(t)}-clock`;
  await writeFile(clock, '0');
  const service = await startServe(root, begin_ms, 'error', {
    NODE_OPTIONS: `--import ${CLOCK}`,
    CLOCK_FROM_MS: String(begin_ms),
    CLOCK_AHEAD_MS_IN: clock,
  });
  t.teardown(() => service.end('SIGKILL'));
  const key = service.keys?.live ?? '';
  const { close, ...tab } = await openTab(`${service.url}/viewer`, { key });
  t.teardown(close);
  await ready(tab.page);
  /** Publishes the scans of a few minutes, at their time. */
  const publish = async (from: string, to: string) => {
    const scans = await scansBetween(from, to);
    const now_ms = (scans.at(-1)?.time_ms ?? 0) + 60_000;
    await writeFile(clock, String(now_ms - begin_ms));
    await ingest(root, scans, { now_ms });
    return scans.at(-1)?.scan_id ?? '';
  };
  return { ...tab, service, key, publish };
}

/** What the page hears when the reader goes to another window and comes back. */
const setHidden = (page: Page, hidden: boolean) =>
  page.evaluate((value) => {
    Object.defineProperty(document, 'hidden', { configurable: true, get: () => value });
    document.dispatchEvent(new Event('visibilitychange'));
  }, hidden);

const LOOK_WITHIN_MS = 25_000;
const isList = (path: string) => path.startsWith('/v1/tiles/');

browserOnly('a further scan appears by itself, for one charge, and looking for it is free', async (t) => {
  const { page, complaints, publish, ...visit } = await liveVisit(t, '23:56');
  t.regex(await said(page, '#age'), /^Newest scan (just now|\d min ago)$/);
  await page.click('#view-scan');
  await drawn(page);
  const calls = callsOf(page);
  await page.waitForRequest('**/v1/health', { timeout: LOOK_WITHIN_MS });
  t.is(await creditsUsed(visit), 10);
  t.deepEqual(charged(calls), []);

  const place = /map=.*/.exec(page.url())?.[0] ?? '-';
  const further = await publish('23:56', '23:59');
  await page.waitForFunction((scan_id) => location.hash.includes(`frame=${scan_id}`), further, {
    timeout: LOOK_WITHIN_MS,
  });
  await drawn(page);
  t.regex(await said(page, '#age'), /^Newest scan [12] min ago$/);
  t.true(page.url().endsWith(place), 'the map stays where it was');
  t.deepEqual(calls.filter(isList), ['/v1/tiles/scan', '/v1/tiles/daily?date=2026-05-01']);
  t.is(await creditsUsed(visit), 15);

  // Nobody looks at the page: nothing is asked for, until somebody does.
  await setHidden(page, true);
  calls.length = 0;
  const afterMidnight = await publish('00:00', '00:04');
  await page.waitForTimeout(LOOK_WITHIN_MS);
  t.deepEqual(calls, []);
  await setHidden(page, false);
  await page.waitForFunction((scan_id) => location.hash.includes(`frame=${scan_id}`), afterMidnight);
  await drawn(page);
  t.is(await page.locator('#date').inputValue(), SECOND_DATE as string);
  t.deepEqual(calls.filter(isList), [
    '/v1/tiles/scan',
    '/v1/tiles/daily?date=2026-05-02',
    '/v1/tiles/scan?date=2026-05-01',
    '/v1/tiles/daily?date=2026-05-01',
  ]);

  // The newest scan is followed after the page was loaded again, too.
  await page.reload();
  await ready(page);
  const next = await publish('00:04', '00:06');
  await page.waitForFunction((scan_id) => location.hash.includes(`frame=${scan_id}`), next);

  // Without “Live” the page rests, from the middle of a look.
  calls.length = 0;
  const published = publish('00:06', '00:10');
  await page.route('**/v1/health', (route) => published.then(() => page.uncheck('#live')).then(() => route.continue()));
  await published;
  await page.waitForTimeout(LOOK_WITHIN_MS);
  t.deepEqual(calls, ['/v1/health']);
  t.deepEqual(complaints, []);
});

serviceTest(
  'while the service does not answer, the page looks ever more rarely, and one answer brings it back',
  { root: UNTIL_0010, now_ms: at('2T00:10:00') },
  async (t, { page }) => {
    let attempts = 0;
    await page.route('**/v1/health', (route) => {
      attempts++;
      return route.abort();
    });
    await page.clock.install();
    await page.reload();
    await ready(page);
    for (let minute = 0; minute < 15; minute++)
      for (let i = 0; i < 6; i++) {
        await page.clock.runFor(10_000);
        await page.waitForTimeout(20);
      }
    t.true(attempts >= 4 && attempts <= 7, `${attempts} attempts in a quarter of an hour`);
    await page.unroute('**/v1/health');
    const answered = page.waitForResponse('**/v1/health');
    for (let i = 0; i < 34; i++) await page.clock.runFor(10_000);
    await answered;
    const again = page.waitForResponse('**/v1/health');
    await page.waitForTimeout(300);
    await page.clock.runFor(25_000);
    t.is((await again).status(), 200);

    // An older date gets no further scans: nothing is looked for.
    await page.keyboard.press('[');
    await page.clock.runFor(1000);
    await page.waitForFunction((date) => location.hash.includes(`date=${date}`), FIRST_DATE);
    const calls = callsOf(page);
    for (let i = 0; i < 12; i++) await page.clock.runFor(10_000);
    await page.waitForTimeout(500);
    t.deepEqual(calls, []);
  },
);
