import { mkdir } from 'node:fs/promises';
import type { ExecutionContext } from 'ava';
import { ERRORS, type ErrorCode } from '../../schemas/errors.ts';
import {
  answerInstead,
  ask,
  type Card,
  cardsApart,
  colorsOf,
  drawn,
  PHONE,
  ready,
  said,
  serviceTest,
  type Visit,
} from '../support/browser/browser.ts';
import { asObserved, midnight, preparedRoot, scratch } from '../support/data/world.ts';

const [FIRST_DATE, SECOND_DATE] = ['2026-05-01', '2026-05-02'] as const;
const SCAN = `/viewer#view=scan&date=${SECOND_DATE}`;
const onPlainRoot = { is_shared: true, root: async () => preparedRoot(await midnight()) };
const withReflectivity = {
  is_shared: true,
  root: async () => preparedRoot(await midnight(), { reflectivity_keep_hours: 1000 }),
};

/** Lists of archives, the state of the service, and the alerts, which a layer shows. */
const LISTS = /\/v1\/(tiles\/|health|alerts)/;

/** The service refuses the next lists. */
function refuse({ page }: Visit, code: ErrorCode, headers: Record<string, string> = {}): Promise<void> {
  const { status, meaning } = ERRORS[code];
  return answerInstead(page, LISTS, status, { error: code, message: meaning, request_id: 'req_1' }, headers);
}

/** Calls of the page that are charged, and whose answers it shows. */
const listed = (requests: readonly string[]) => requests.filter((line) => line.includes('/v1/tiles/'));

interface Frame {
  readonly scan_id: string;
  readonly storms: readonly { lat: number; lon: number; mm: number }[];
}

/** The scans of a date, oldest first. */
async function framesOf(visit: Visit, date: string): Promise<readonly Frame[]> {
  return (await ask<{ frames: readonly Frame[] }>(visit, `/tiles/scan?date=${date}`)).frames;
}

/** Waits until a scan was asked for, and then nothing for a second. */
async function fetchedAhead({ page, requests }: Visit, scan_id: string): Promise<void> {
  for (let asked = -1; asked !== requests.length || !requests.some((line) => line.includes(scan_id)); ) {
    asked = requests.length;
    await page.waitForTimeout(1000);
  }
}

const CARD = '.maplibregl-popup-content';
const HEADLINE = `${CARD} .headline`;
const MIDDLE = { x: 330, y: 130, width: 380, height: 430 };
const NICKEL = '244,191,69';
/** The radar coverage of the newest scan, above the legend of sizes. */
const COVERED = { x: 535, y: 80, width: 510, height: 450 };

serviceTest(
  'the last 24 hours open as a whole: hail, legend, caution, time and origin of the data',
  onPlainRoot,
  async (t, { page, complaints, requests }) => {
    await page.waitForTimeout(400);
    t.is(await page.locator('#date').inputValue(), SECOND_DATE);
    t.is(await page.locator('#view-recent').getAttribute('aria-pressed'), 'true');
    t.is(await said(page, '#caution strong'), 'Radar estimate, not a ground measurement');
    t.regex(await said(page, '#data-time'), /^Data until 2 May 2026 00:1\d UTC$/);
    t.regex(await said(page, '#simulated'), /simulated · not real weather/i);
    t.regex(await page.title(), /simulated/);
    t.deepEqual(await page.locator('#legend .swatch').allTextContents(), [
      '0.2 in',
      '0.4 in',
      '0.75 in',
      '1.00 in',
      '1.50 in',
      '2.50 in',
      '2.75 in',
      '4.00 in',
    ]);
    t.regex(await said(page, '#summary'), /^Largest \d\.\d in \(\d+ mm\) at 00:\d\d UTC, \d+ scans in 24 hours\.$/);
    t.true((await colorsOf(page, MIDDLE)).has(NICKEL));
    t.deepEqual(complaints, []);
    t.deepEqual(
      listed(requests),
      [SECOND_DATE, FIRST_DATE].flatMap((date) => [
        `GET /v1/tiles/scan${date === FIRST_DATE ? `?date=${date}` : ''}`,
        `GET /v1/tiles/daily?date=${date}`,
      ]),
    );
    t.true(requests.filter((line) => line.includes('.pmtiles')).every((line) => line.includes('bytes=')));
  },
);

const OBSERVED = { root: async (t: ExecutionContext) => preparedRoot(await asObserved(t, await midnight())) };
serviceTest('observed data carry no badge and name their source', OBSERVED, async (t, { page }) => {
  t.false(await page.locator('#simulated').isVisible());
  t.is(await said(page, '#source'), 'Source: NOAA MRMS');
  t.notRegex(await page.title(), /simulated/);
});

serviceTest(
  'brackets leaf through all dates, the address follows, and a date without data says so',
  onPlainRoot,
  async (t, { page, requests }) => {
    await page.keyboard.press('[');
    await page.waitForFunction((date) => location.hash.includes(`date=${date}`), FIRST_DATE);
    await drawn(page);
    t.is(await page.locator('#date').inputValue(), FIRST_DATE as string);
    t.regex(await said(page, '#data-time'), /^Data until 1 May 2026 23:5\d UTC$/);

    await page.keyboard.press('[');
    await page.waitForFunction(() => document.getElementById('panel')?.classList.contains('empty'));
    await drawn(page);
    t.is(await said(page, '#summary'), 'Nothing is published for 30 Apr 2026: no scans, so hail or none is not known.');
    t.false((await colorsOf(page, MIDDLE)).has(NICKEL));
    t.true(await page.locator('#play').isDisabled());

    const before = requests.length;
    await page.keyboard.press(']');
    await page.waitForFunction((date) => location.hash.includes(`date=${date}`), FIRST_DATE);
    await drawn(page);
    const calls = requests.slice(before).filter((line) => line.includes('/v1/tiles/'));
    t.deepEqual(calls, [], 'a date seen before is not paid for again');
  },
);

serviceTest(
  'scans are stepped, scrubbed and played, and are there before they are asked for',
  { ...onPlainRoot, path: SCAN },
  async (t, visit) => {
    const { page, complaints, requests } = visit;
    const scrubber = page.locator('#scrubber');
    await scrubber.press('Home');
    await drawn(page);
    await fetchedAhead(visit, (await framesOf(visit, SECOND_DATE))[1]?.scan_id ?? '');
    const first = await said(page, '#clock-utc');
    const before = requests.length;
    await page.locator('#scrubber').blur();
    await page.keyboard.press('.');
    await drawn(page);
    t.true(Number(await scrubber.inputValue()) > 0);
    t.not(await said(page, '#clock-utc'), first);
    t.regex((await scrubber.getAttribute('aria-valuetext')) as string, /^00:\d\d UTC, (largest \d\.\d in|no hail)/);
    const shown = /frame=(\w+)/.exec(page.url())?.[1] as string;
    t.false(
      requests.slice(before).some((line) => line.includes(shown)),
      'the neighbour was fetched ahead',
    );

    await page.keyboard.press(' ');
    t.is(await page.locator('#play').getAttribute('aria-label'), 'Pause');
    await page.waitForFunction(() => Number((document.getElementById('scrubber') as HTMLInputElement).value) >= 400);
    await page.keyboard.press(' ');
    t.is(await page.locator('#play').getAttribute('aria-label'), 'Play');
    await scrubber.press('End');
    await drawn(page);
    await page.waitForTimeout(400);
    t.true(requests.filter((line) => line.includes('.pmtiles')).every((line) => line.includes('bytes=')));
    t.deepEqual(complaints, []);
  },
);

serviceTest(
  'a click on a storm tells its exact size, one beside it the step drawn there, that there is none, or that no radar looked',
  { ...onPlainRoot, path: SCAN },
  async (t, visit) => {
    const { page, service } = visit;
    const frames = await framesOf(visit, SECOND_DATE);
    const scan = frames.findLast(({ storms }) => storms.length > 0) as Frame;
    const storm = scan.storms.reduce((a, b) => (b.mm > a.mm ? b : a));
    await page.goto(
      `${service.url}/viewer#view=scan&date=${SECOND_DATE}&frame=${scan.scan_id}&map=10/${storm.lat}/${storm.lon}`,
    );
    await page.reload();
    await ready(page);
    await page.waitForTimeout(400);
    await page.mouse.click(640, 400);
    t.is(await said(page, HEADLINE), `${(storm.mm / 25.4).toFixed(1)} in (${Math.round(storm.mm)} mm)`);
    t.regex(await said(page, CARD), /Probability of severe hail \d+ %/);

    await page.mouse.click(640, 430);
    t.regex(await said(page, HEADLINE), /^(\d+–\d+ mm|\d+ mm or more)$/);
    await page.mouse.click(1000, 200);
    t.is(await said(page, HEADLINE), 'No hail here');
    t.regex(await said(page, CARD), /Radar looked and saw less than 5 mm/);

    // The world of the tests ends at 36 N: beyond it nothing was looked at.
    await page.goto('about:blank');
    await page.goto(`${service.url}${SCAN}&map=7/37.5/-97.0`);
    await ready(page);
    await page.mouse.click(640, 400);
    t.is(await said(page, HEADLINE), 'No radar coverage here');
    t.regex(await said(page, CARD), /hail or none is not known/);
  },
);

async function emptyRoot(t: ExecutionContext): Promise<string> {
  const root = await scratch(t);
  await mkdir(root);
  return root;
}

serviceTest(
  'before anything is published the page says so, without an error, and offers no date',
  { root: emptyRoot },
  async (t, { page, complaints, requests }) => {
    t.regex(await said(page, '#summary'), /^Nothing is published yet/);
    t.false(await page.locator('#trouble').isVisible());
    t.is(await page.locator('#date').inputValue(), '');
    t.deepEqual(listed(requests), ['GET /v1/tiles/scan']);
    t.deepEqual(complaints, []);
  },
);

serviceTest(
  'another date brings its hail into view, and all hail is shown, storms and what no storm holds',
  { ...onPlainRoot, path: `/viewer#view=day&date=${SECOND_DATE}&map=9/46.0000/-120.0000` },
  async (t, { page }) => {
    t.regex(page.url(), /map=9\.00\/46\.0000\/-120\.0000$/, 'an address shows the place it names');
    await page.keyboard.press('[');
    await page.waitForFunction((date) => location.hash.includes(`date=${date}`), FIRST_DATE);
    await drawn(page);
    await page.waitForFunction(() => !location.hash.includes('map=9.00/46.0000'));
    t.true((await colorsOf(page, MIDDLE)).has(NICKEL));
    await page.click('#fit');
    await page.waitForTimeout(1500);
    t.true((await colorsOf(page, MIDDLE)).has(NICKEL));
  },
);

const REFLECTIVITY_NOTE = '#layer-reflectivity-note';
/** Colours of 30, 35 and 40 dBZ: some of them lie around any hail. */
const ECHO = ['183,218,194', '157,204,180', '131,188,171'];

serviceTest(
  'reflectivity is switched on under the hail of each scan, with its legend, and a link keeps it',
  { ...withReflectivity, path: SCAN },
  async (t, { page, complaints, requests }) => {
    const shows = async (...wanted: readonly string[]) => {
      const seen = await colorsOf(page, COVERED);
      return wanted.some((color) => seen.has(color));
    };
    const legend = page.locator('.layer:has(#layer-reflectivity) .layer-key');
    t.false(await shows(...ECHO));
    t.false(
      requests.some((line) => line.includes('/tiles/reflectivity/')),
      'off: nothing is fetched',
    );
    await page.click('#layers-fold');
    t.false(await legend.isVisible());
    await page.locator('#layer-reflectivity').check();
    t.is((await legend.locator('li').allTextContents()).join(' '), '20 25 30 35 40 45 50 55 60 65 70 75');
    await page.click('#layers-fold');
    await drawn(page);
    await page.waitForTimeout(400);
    t.true(await shows(...ECHO));
    t.true(await shows(NICKEL), 'hail lies on top');
    t.is(await said(page, REFLECTIVITY_NOTE), 'dBZ, this much or more');
    t.true(page.url().includes('layers=hail,reflectivity'));

    await page.reload();
    await ready(page);
    await page.waitForTimeout(900);
    t.true(await shows(...ECHO));

    await page.locator('#view-day').click();
    await drawn(page);
    t.is(await said(page, REFLECTIVITY_NOTE), 'Of single scans: choose “Scan by scan”.');
    t.false(await shows(...ECHO));
    await page.keyboard.press('e');
    await drawn(page);
    t.false(page.url().includes('reflectivity'));
    await page.keyboard.press('e');
    await drawn(page);
    await page.waitForTimeout(400);
    t.true(await shows(...ECHO), 'the key shows a scan, too');
    t.deepEqual(complaints, []);
  },
);

serviceTest('a key without the scope of a layer is said so at the layer', onPlainRoot, async (t, { page }) => {
  await page.click('#layers-fold');
  const body = { error: 'insufficient_scope', message: 'the key lacks the scope alerts:read' };
  await answerInstead(page, /\/v1\/alerts/, 403, body);
  await page.click('label:has(#layer-alerts)');
  await page.waitForSelector('.layer.refused');
  t.is(await said(page, '#layer-alerts-note'), 'The key lacks the scope alerts:read.');
  t.false(await page.locator('#key-dialog').isVisible());
});

serviceTest(
  'a service that does not answer for layers greys them or says what it answered, and the map goes on',
  onPlainRoot,
  async (t, { page, complaints }) => {
    await answerInstead(page, /\/v1\/(health|alerts)/, 404, { error: 'not_found', message: '' });
    await page.reload();
    await ready(page);
    await page.click('#layers-fold');
    t.regex(await said(page, '#layer-warnings-note'), /does not say what time it has/);
    t.true(await page.locator('#layer-warnings').isDisabled());
    await page.click('label:has(#layer-alerts)');
    await page.waitForSelector('.layer.refused');
    t.is(await said(page, '#layer-alerts-note'), 'The service answered 404.');
    t.false(await page.locator('#trouble').isVisible());
    t.deepEqual(complaints, []);
  },
);

serviceTest(
  'a scan without an archive of reflectivity says so at the switch, and the hail stays',
  { ...onPlainRoot, path: `${SCAN}&layers=hail,reflectivity` },
  async (t, { page, complaints }) => {
    t.is(await said(page, REFLECTIVITY_NOTE), 'None is kept for this scan.');
    t.true((await colorsOf(page, COVERED)).has(NICKEL));
    t.deepEqual(complaints, []);
  },
);

serviceTest(
  'a key is asked for once, kept in the browser, never part of an address, and the scan of a link is shown once it is given',
  { ...onPlainRoot, has_key: false, path: `/viewer#view=scan&date=${FIRST_DATE}&frame=20260501T999999Z` },
  async (t, visit) => {
    const { page, requests, service, key } = visit;
    const wanted = (await framesOf(visit, FIRST_DATE))[1]?.scan_id as string;
    await page.goto('about:blank');
    await page.goto(`${service.url}/viewer#view=scan&date=${FIRST_DATE}&frame=${wanted}&map=7.50/35.2000/-97.5000`);
    await ready(page);
    t.true(await page.locator('#key-dialog').isVisible());
    t.deepEqual(listed(requests), []);
    t.true(page.url().includes(`frame=${wanted}`), 'the address keeps it while the key is asked for');
    await page.fill('#key', 'hs_live_wrong');
    await page.keyboard.press('Enter');
    await page.waitForFunction(() => document.getElementById('key-trouble')?.textContent?.includes('not accepted'));
    await page.fill('#key', key);
    await page.keyboard.press('Enter');
    await page.waitForFunction(() => Number((document.getElementById('scrubber') as HTMLInputElement).max) > 0);
    await drawn(page);
    t.true(page.url().includes(`frame=${wanted}`));
    await page.reload();
    await ready(page);
    t.false(await page.locator('#key-dialog').isVisible());
    t.false(requests.some((line) => line.includes('hs_live')));
    t.false(page.url().includes('hs_live'));
  },
);

serviceTest(
  'a refusal is told in words, takes the hail away, and can be tried again',
  { ...onPlainRoot, path: `/viewer#view=day&date=${SECOND_DATE}` },
  async (t, visit) => {
    const { page } = visit;
    await refuse(visit, 'rate_limited', { 'Retry-After': '23' });
    await page.keyboard.press('[');
    await page.waitForSelector('#trouble:not([hidden])');
    await page.waitForTimeout(400);
    t.is(
      await said(page, '#trouble-words'),
      'Requests per minute exceeded, or those of a UTC day where the plan bounds them. Try again in 23 s.',
    );
    t.is(await said(page, '#data-time'), 'nothing shown');
    t.false((await colorsOf(page, MIDDLE)).has(NICKEL));
    await page.unroute(LISTS);
    await page.click('#trouble-action');
    await drawn(page);
    t.false(await page.locator('#trouble').isVisible());
    t.regex(await said(page, '#data-time'), /1 May 2026/);
  },
);

serviceTest('a key without the scope is told so, and another can be entered', { ...onPlainRoot }, async (t, visit) => {
  const { page, key } = visit;
  await refuse(visit, 'insufficient_scope');
  await page.reload();
  await page.waitForSelector('#key-dialog[open]');
  t.regex(await said(page, '#key-trouble'), /^Key lacks the required scope\.$/);
  await page.unroute(LISTS);
  await page.fill('#key', key);
  await page.keyboard.press('Enter');
  await page.waitForSelector('#summary:not(:empty)');
  t.false(await page.locator('#key-dialog').isVisible());
});

for (const [held, width, height, map_px] of [
  ['upright', 320, 568, 90],
  ['on its side', 640, 360, 150],
] as const)
  serviceTest(
    `on a small phone ${held} no card lies on another with reflectivity on, and the hail is between them`,
    { ...withReflectivity, ...PHONE, viewport: { width, height }, path: `${SCAN}&layers=hail,reflectivity` },
    async (t, { page }) => {
      await page.waitForTimeout(400);
      const [panel, legend] = (await cardsApart(t, page, ['#panel', '#legend', '#dock'])) as [Card, Card];
      const isBeside = panel.right <= legend.x;
      const free = { x: isBeside ? panel.right : 0, y: isBeside ? 0 : panel.bottom, bottom: legend.y };
      t.true(free.bottom - free.y >= map_px, `${free.bottom - free.y} px for the map`);
      const clip = { x: free.x, y: free.y, width: width - free.x, height: free.bottom - free.y };
      t.true((await colorsOf(page, clip)).has(NICKEL));
    },
  );

serviceTest(
  'everything is reached by the tab key, dialogs give the focus back, and enter tells the size at the middle of the map',
  onPlainRoot,
  async (t, { page }) => {
    const reached = new Set<string>();
    for (let i = 0; i < 36; i++) {
      await page.keyboard.press('Tab');
      reached.add(await page.evaluate(() => document.activeElement?.id || (document.activeElement?.tagName ?? '')));
    }
    for (const id of [
      'CANVAS',
      'earlier',
      'date',
      'later',
      'open-days',
      'refresh',
      'view-recent',
      'view-day',
      'view-scan',
      'fit',
      'newest',
      'open-help',
      'play',
      'speed',
      'scrubber',
    ])
      t.true(reached.has(id), id);
    await page.focus('#open-help');
    await page.keyboard.press('Enter');
    t.true(await page.locator('#help').isVisible());
    await page.waitForTimeout(200);
    await page.keyboard.press('Escape');
    t.false(await page.locator('#help').isVisible());
    t.is(await page.evaluate(() => document.activeElement?.id), 'open-help');
    await page.locator('#map canvas').focus();
    await page.keyboard.press('Enter');
    t.true(await page.locator(HEADLINE).isVisible(), 'enter tells the size at the middle of the map');
    t.is(await page.locator(CARD).getByRole('status').count(), 1);
  },
);
