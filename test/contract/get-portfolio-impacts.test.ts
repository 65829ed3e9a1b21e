import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import anyTest from 'ava';
import { PortfolioImpacts } from '../../schemas/resources/portfolio-impact.ts';
import { midnight, publish, SCRATCH } from '../support/data/world.ts';
import {
  creditsUsed,
  IMPACTS,
  LOCATIONS,
  PORTFOLIO,
  rows,
  sending,
  strangersKey,
  upload,
} from '../support/service/portfolio.ts';
import { type RunningService, startService } from '../support/service/service.ts';
import { closeWithoutFailures, testWith } from '../support/service/test-with.ts';

const test = testWith(() => startService({ endpoints: PORTFOLIO, data_root }), closeWithoutFailures);
const DATE = '2026-05-01';

/** Read by every test, written by none. */
const data_root = mkdtempSync(join(SCRATCH, 'hail-impacts-'));

anyTest.before(async () => {
  await publish(data_root, await midnight());
});
anyTest.after.always(() => rmSync(data_root, { recursive: true, force: true }));

interface Pixel {
  readonly lat: number;
  readonly lon: number;
  readonly mm: number;
  readonly detections: number;
}

/** Pixels of the date, largest hail first. */
async function hailOf({ services }: RunningService): Promise<Pixel[]> {
  return await services.engine.rows<Pixel>(
    `SELECT lat, lon, max(estimated_size_mm) AS mm, count(*) AS detections FROM read_parquet($1::VARCHAR[])
     GROUP BY lat, lon ORDER BY mm DESC, lat, lon`,
    [services.catalog.edition().paths('detections', [DATE])],
  );
}

async function impacts(service: RunningService, query = `date=${DATE}`): Promise<PortfolioImpacts> {
  const response = await service.call(`${IMPACTS}?${query}`);
  if (response.status !== 200) throw new Error(`impacts answers ${response.status} ${await response.text()}`);
  return PortfolioImpacts.parse(await response.json());
}

test('a location inside the largest detection is impacted at 0 m, one far away is left out', async (t) => {
  const [largest] = await hailOf(t.context);
  if (largest === undefined) throw new Error('the evening has no hail');
  const { lat, lon, mm } = largest;
  const { accepted } = await upload(t.context, [
    { name: 'hit', lat, lon },
    { name: 'far', lat: 25, lon: -81 },
  ]);
  const answer = await impacts(t.context);
  t.like(answer, { date: DATE, radius_mi: 1, assets_checked: 2, impacted_count: 1, next_cursor: null });
  t.like(answer.impacts, { length: 1 });
  t.like(answer.impacts[0], { asset_id: accepted[0]?.id, name: 'hit', nearest_detection_m: 0, max_size_mm: mm });
});

test('size, count and confidence are of everything within the mile', async (t) => {
  const pixels = await hailOf(t.context);
  const { lat, lon } = pixels[0] as Pixel;
  await upload(t.context, [{ name: 'hit', lat, lon }]);
  const [impact] = (await impacts(t.context)).impacts;
  // From the centre of a pixel a mile reaches the pixels whose edge is that near: 1.11 km a row, cos(lat) of it a column.
  const near = pixels.filter((pixel) => {
    const north_km = Math.max(0, Math.abs(pixel.lat - lat) - 0.005) * 111;
    const east_km = Math.max(0, Math.abs(pixel.lon - lon) - 0.005) * 111.4 * Math.cos((lat * Math.PI) / 180);
    return Math.hypot(north_km, east_km) <= 1.609344;
  });
  t.is(
    impact?.n_detections,
    near.reduce((sum, { detections }) => sum + detections, 0),
  );
  t.is(impact?.max_size_mm, Math.max(...near.map(({ mm }) => mm)));
  t.true((impact?.ml_confidence ?? 0) >= 0.02 && (impact?.ml_confidence ?? 1) <= 0.98);
});

test('any detection counts, the smallest too', async (t) => {
  const pixels = await hailOf(t.context);
  const { lat, lon, mm } = pixels.at(-1) as Pixel;
  t.true(mm >= 10 && mm < 12);
  await upload(t.context, [{ name: 'small', lat, lon }]);
  t.is((await impacts(t.context)).impacted_count, 1);
});

test('pages follow each other by asset_id, with the totals on every one', async (t) => {
  const pixels = await hailOf(t.context);
  const { accepted } = await upload(
    t.context,
    pixels.slice(0, 11).map(({ lat, lon }, k) => ({ name: `asset ${k}`, lat, lon })),
  );
  const seen: string[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const page: PortfolioImpacts = await impacts(t.context, `date=${DATE}&limit=4${cursor && `&cursor=${cursor}`}`);
    t.like(page, { assets_checked: 11, impacted_count: 11 });
    t.is(page.next_cursor, seen.length < 8 ? (page.impacts.at(-1)?.asset_id ?? '') : null);
    seen.push(...page.impacts.map(({ asset_id }) => asset_id));
    cursor = page.next_cursor;
  }
  t.deepEqual(seen, accepted.map(({ id }) => id).sort());
});

test('a page that is exactly full is the last one', async (t) => {
  const [pixel] = await hailOf(t.context);
  await upload(t.context, Array(3).fill({ name: 'same', lat: pixel?.lat, lon: pixel?.lon }));
  t.is((await impacts(t.context, `date=${DATE}&limit=3`)).next_cursor, null);
});

test('the cursor of a location that is gone or was never hit stays valid', async (t) => {
  const [pixel] = await hailOf(t.context);
  const hit = { name: 'hit', lat: pixel?.lat, lon: pixel?.lon };
  const { accepted } = await upload(t.context, [hit, { name: 'far', lat: 25, lon: -81 }, hit]);
  const [first, far, last] = accepted.map(({ id }) => id);
  t.deepEqual(
    (await impacts(t.context, `date=${DATE}&cursor=${far}`)).impacts.map(({ asset_id }) => asset_id),
    [last],
  );
  await t.context.call(LOCATIONS, sending('DELETE', { ids: [first] }));
  t.like(await impacts(t.context, `date=${DATE}&cursor=${first}`), { assets_checked: 2, impacted_count: 1 });
});

test('an unknown, malformed or foreign cursor is 400 invalid_parameter', async (t) => {
  const key = await strangersKey(t.context);
  const foreign = (await upload(t.context, rows(1), key)).accepted[0]?.id;
  for (const cursor of ['loc_01ARZ3NDEKTSV4RRFFQ69G5FAV', 'a%2Fb', foreign]) {
    const response = await t.context.call(`${IMPACTS}?date=${DATE}&cursor=${cursor}`);
    t.deepEqual([response.status, ((await response.json()) as { error: string }).error], [400, 'invalid_parameter']);
  }
});

for (const [what, query] of [
  ['no date', ''],
  ['a date that does not exist', 'date=2026-02-30'],
  ['limit 0', `date=${DATE}&limit=0`],
  ['limit 501', `date=${DATE}&limit=501`],
  ['two dates', `date=${DATE}&date=${DATE}`],
] as const)
  test(`refuses ${what} with 400 invalid_parameter`, async (t) => {
    const response = await t.context.call(`${IMPACTS}?${query}`);
    t.deepEqual([response.status, ((await response.json()) as { error: string }).error], [400, 'invalid_parameter']);
    t.is(await creditsUsed(t.context), 0);
  });

for (const [what, date] of [
  ['before the first data', '2020-01-01'],
  ['in the future', '2030-01-01'],
])
  test(`a date ${what} is a 200 without impacts, as of the newest scan`, async (t) => {
    await upload(t.context, rows(2));
    t.deepEqual(await impacts(t.context, `date=${date}`), {
      date,
      radius_mi: 1,
      assets_checked: 2,
      impacted_count: 0,
      impacts: [],
      radar_gaps: {
        dates_without_data: [date],
        dates_with_unknown_scans: [],
        until: null,
        assets_seen_in_part: 0,
        assets_unseen: 0,
        seen_in_part: [],
      },
      next_cursor: null,
      data_as_of: (await impacts(t.context, 'date=2026-05-02')).data_as_of,
    });
  });

test('locations that radar saw in part are told with their gaps, those outside its grid as unseen, on every page', async (t) => {
  const inside = [
    { name: 'east', lat: 35.3, lon: -97 },
    { name: 'west', lat: 35.4, lon: -97.2 },
  ];
  const { accepted } = await upload(t.context, [...inside, { name: 'far', lat: 25, lon: -81 }]);
  const ids = new Map(accepted.map(({ name, id }) => [name, id]));
  const { radar_gaps } = await impacts(t.context);
  t.like(radar_gaps, { dates_without_data: [], until: null, assets_seen_in_part: 3, assets_unseen: 1 });
  const [unseen, part, ...more] = radar_gaps.seen_in_part;
  t.deepEqual(more, []);
  t.deepEqual(unseen, {
    share: 0,
    gap_count: 1,
    gaps: [{ from: `${DATE}T00:00:00Z`, to: '2026-05-02T00:00:00Z' }],
    asset_count: 1,
    asset_ids: [ids.get('far') as string],
  });
  t.like(part, { share: 0.008, asset_count: 2, gaps: [{ from: `${DATE}T00:00:00Z` }] });
  t.deepEqual(part?.asset_ids.toSorted(), [ids.get('east'), ids.get('west')].toSorted() as string[]);
  t.regex(part?.gaps[0]?.to ?? '', /T23:4\d/);
  t.deepEqual((await impacts(t.context, `date=${DATE}&limit=1`)).radar_gaps, radar_gaps);
  const running = (await impacts(t.context, 'date=2026-05-02')).radar_gaps;
  t.like(running, { assets_seen_in_part: 1, assets_unseen: 1 }, 'up to its newest scan the others were seen');
  t.regex(running.until ?? '', /^2026-05-02T00:1\d/);
});

test('a past date keeps its own data_as_of: its newest scan', async (t) => {
  const { data_as_of } = await impacts(t.context);
  t.regex(data_as_of ?? '', /^2026-05-01T23:5\d:\d\dZ$/);
});

test('simulated data are said to be so, and nothing is cached', async (t) => {
  const response = await t.context.call(`${IMPACTS}?date=${DATE}`);
  t.is(response.headers.get('X-Data-Source'), 'simulated');
  t.is(response.headers.get('Cache-Control'), 'no-store');
});

test('costs 20 credits a page, without impacts too', async (t) => {
  t.like(await impacts(t.context), { assets_checked: 0, impacted_count: 0, impacts: [] });
  t.is(await creditsUsed(t.context), 20);
});

test('a business is checked for its own locations only', async (t) => {
  const [pixel] = await hailOf(t.context);
  const key = await strangersKey(t.context);
  await upload(t.context, [{ name: 'hit', lat: pixel?.lat, lon: pixel?.lon }], key);
  t.is((await impacts(t.context)).assets_checked, 0);
});
