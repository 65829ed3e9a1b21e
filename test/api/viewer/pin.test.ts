import test from 'ava';
import { historyPrice } from '../../../api/routes/hail-history.ts';
import { ENDPOINTS } from '../../../api/routes/index.ts';
import { readAddress, writeAddress } from '../../../api/viewer/address.ts';
import {
  CREDITS,
  type Fell,
  fellDays,
  fellInWords,
  fellPrice,
  nearestStorm,
  openPinCalls,
  verifiedInWords,
} from '../../../api/viewer/place/pin-words.ts';
import { DETECTION_QUALITY_EXAMPLE } from '../../../schemas/resources/detection-quality.ts';
import type { HistoryEvent } from '../../../schemas/resources/history-event.ts';
import type { Verification } from '../../../schemas/resources/verification.ts';

const AT = { lat: 35.2, lng: -97.4 };
const DATE = '2026-05-01';
const NOW_MS = Date.parse('2026-05-02T00:12:00Z');
const NEAREST = { id: 'KTLX', distance_km: 22.5 };
const QUALITY = { ...DETECTION_QUALITY_EXAMPLE, hdqi: 0.73, nearest_radar: NEAREST };

const hail = (distance_km: number, mm = 48) =>
  ({
    storm_date: DATE,
    distance_km,
    first_detected: `${DATE}T20:02:14Z`,
    last_detected: `${DATE}T20:31:39Z`,
    hail: { estimated_size_mm: mm },
  }) as HistoryEvent;
const gaps = (share: number | null, until: string | null = null): Fell['radar_gaps'] => ({
  dates_without_data: [],
  dates_with_unknown_scans: [],
  dates_seen_in_part: until === null ? [] : [{ date: DATE, until, share: 1, gap_count: 0, gaps: [] }],
  coverage: [{ date: DATE, share }],
});

/** A service that knows hail at these distances, and writes down what it was asked. */
function asked(hailAt_km: readonly (readonly [km: number, mm: number])[]) {
  const paths: string[] = [];
  const call = async (path: string, body?: object) => {
    paths.push(body === undefined ? path : `${path} ${JSON.stringify(body)}`);
    if (path.startsWith('/coverage')) return { covered: true, detection_quality: QUALITY };
    const radius_km = Number(/radius_km=([\d.]+)/.exec(path)?.[1]);
    const [largest] = hailAt_km.filter(([km]) => km <= radius_km).sort(([, a], [, b]) => b - a);
    return { events: largest ? [hail(...largest)] : [], radar_gaps: gaps(1) };
  };
  return { paths, calls: openPinCalls({ call }) };
}

for (const [title, hailAt_km, within_km] of [
  ['nothing within 10 miles', [], [null, null, null]],
  ['the largest within 1 mile', [[1, 48]], [1, 1, 1]],
  [
    'a larger one at each distance',
    [
      [1, 20],
      [4, 30],
      [15, 50],
    ],
    [1, 4, 15],
  ],
] as const)
  test(`with ${title}, what fell is known after three histories and the coverage, and again for nothing`, async (t) => {
    const { paths, calls } = asked(hailAt_km);
    const { within, detection_quality } = await calls.fell(AT, DATE, 30);
    const distances = within.map((day) => day?.distance_km ?? null);
    t.deepEqual(distances, [...within_km]);
    t.is(detection_quality.detection_word, 'good');
    t.is(paths.filter((path) => /^\/hail\/history.*&days=30&/.test(path)).length, 3);
    await calls.fell(AT, DATE, 30);
    t.is(paths.length, 4);
  });

test('a report is ordered once, and again after a call or the report failed; a look that fails is made again', async (t) => {
  const paths: string[] = [];
  const answers = [null, { report_id: 'r' }, null, { status: 'done', pdf_url: 'a' }, { status: 'failed' }];
  const call = async (path: string) => paths.push(path) && (answers.shift() ?? Promise.reject(new Error('down')));
  const { credits, wait } = openPinCalls({ call }).report(AT, DATE, '');
  await t.throwsAsync(wait, { message: 'down' });
  t.is(credits(), CREDITS.report);
  t.is(await wait(), 'a');
  t.is(credits(), 0);
  await t.throwsAsync(wait, { message: /could not be made/ });
  t.is(credits(), CREDITS.report);
  t.is(paths.join(), '/verify/report,/verify/report,/verify/report/r,/verify/report/r,/verify/report/r');
});

test('a date of loss is verified with the date after it', async (t) => {
  const paths: string[] = [];
  const { verify } = openPinCalls({ call: async (path, body) => paths.push(`${path} ${JSON.stringify(body)}`) });
  await verify(AT, '2026-04-30');
  t.deepEqual(paths, ['/verify {"lat":35.2,"lon":-97.4,"date_start":"2026-04-30","date_end":"2026-05-01"}']);
});

test('prices that the card names are those of the service', (t) => {
  for (const [days, credits] of Object.entries(CREDITS.history))
    t.is(historyPrice(Number(days), 'standard').credits, credits);
  const flat = (path: string) => {
    const endpoint = ENDPOINTS.find((one) => one.path === path);
    // biome-ignore lint/suspicious/noExplicitAny: these prices follow from nothing
    return endpoint?.price({ query: {}, params: {}, body: {} } as any)?.credits;
  };
  t.is(flat('/v1/coverage'), CREDITS.coverage);
  t.is(flat('/v1/verify'), CREDITS.verify);
  t.is(flat('/v1/verify/report'), CREDITS.report);
});

for (const [date, days, price] of [
  [DATE, 30, 50],
  ['2026-04-03', 30, 50],
  ['2026-04-02', 90, 80],
  ['2026-02-02', 90, 80],
  ['2026-01-31', undefined, null],
] as const)
  test(`what fell on ${date} costs ${price ? `${price} credits` : 'too much to be asked'}`, (t) => {
    t.is(fellDays(date, NOW_MS), days);
    if (days) t.is(fellPrice(days), price);
  });

const fell = (within: Fell['within'], given: Partial<Fell> = {}): Fell => ({
  date: DATE,
  within,
  radar_gaps: gaps(0.97),
  covered: true,
  detection_quality: QUALITY,
  ...given,
});

test('hail at a place is said with its size, distance, times and radar quality', (t) => {
  const { headline, rows, lines } = fellInWords(AT, fell([hail(0.8), hail(0.8), hail(12, 60)]));
  t.is(headline, '1.9 in (48 mm)');
  t.deepEqual(rows, [
    ['Within 1 mile', '1.9 in (48 mm), 0.5 mi away, Fri 1 May 15:02–15:31 CDT (20:02–20:31 UTC)'],
    ['Within 3 miles', '1.9 in (48 mm), 0.5 mi away, Fri 1 May 15:02–15:31 CDT (20:02–20:31 UTC)'],
    ['Within 10 miles', '2.4 in (60 mm), 7.5 mi away, Fri 1 May 15:02–15:31 CDT (20:02–20:31 UTC)'],
    ['Radar quality', 'good (0.73), KTLX 14.0 mi away'],
  ]);
  t.deepEqual(lines, ['Radar looked 97 % of the time.']);
});

for (const [title, given, headline, line] of [
  ['radar looked', {}, 'No hail here', /^Radar looked 97 % of the time\.$/],
  ['radar looked in part', { radar_gaps: gaps(0.5) }, 'No hail detected here', /looked 50 % of the time: hail at/],
  ['radar hardly looked', { radar_gaps: gaps(0.001) }, 'No hail detected here', /less than 1 % of the time: hail at/],
  [
    'the day still runs',
    { radar_gaps: gaps(1, `${DATE}T20:00:00Z`) },
    'No hail here',
    /up to Fri 1 May 15:00 CDT \(20:00 UTC\); the day still runs/,
  ],
  ['it is not known when radar looked', { radar_gaps: gaps(null) }, 'No hail detected here', /is not known/],
  ['radar never looked', { radar_gaps: gaps(0) }, 'Not known', /hail at other times is not known/],
  ['no radar is near', { covered: false }, 'Not known', /No radar covers this place/],
  [
    'no data are published',
    { radar_gaps: { ...gaps(null), dates_without_data: [DATE] as string[] } },
    'Not known',
    /No radar data are published for 1 May 2026/,
  ],
] as const)
  test(`where nothing was detected and ${title}, the card says '${headline}'`, (t) => {
    const words = fellInWords(AT, fell([null, null, null], given));
    t.is(words.headline, headline);
    t.regex(words.lines.join(), line);
  });

test('hail 5 miles away is no hail within 1 mile, and is not kept silent', (t) => {
  const { headline, rows } = fellInWords(AT, fell([null, null, hail(8)]));
  t.is(headline, 'No hail within 1 mile');
  t.deepEqual(rows[0], ['Within 1 mile', 'none of 10 mm or more detected']);
  t.regex(rows[2]?.[1] ?? '', /1\.9 in \(48 mm\), 5\.0 mi away/);
});

test('of the storms of a day the one that came nearest is named, and none that stayed far away', (t) => {
  const frame = (scan_time: string, lat: number, mm: number) => ({
    scan_id: '',
    scan_time,
    url: '',
    reflectivity_url: null,
    max_prob: null,
    max_size_mm: null,
    storms: [{ lat, lon: -97.4, mm }],
  });
  const frames = [frame(`${DATE}T20:00:00Z`, 35.5, 50), frame(`${DATE}T20:10:00Z`, 35.3, 40)];
  t.is(nearestStorm(frames, AT), 'Nearest storm: 6.9 mi away at Fri 1 May 15:10 CDT (20:10 UTC), 1.6 in (40 mm)');
  t.is(nearestStorm([frame(`${DATE}T20:00:00Z`, 37, 50)], AT), null);
  t.is(nearestStorm([], AT), null);
});

const verified = (events: Verification['events'], share: number) => {
  const coverage = [
    { date: DATE, share },
    { date: '2026-05-02', share: 1 },
  ];
  const radar_gaps = { ...gaps(null), coverage };
  return {
    date_range: { start: DATE, end: '2026-05-02' },
    events,
    detection_quality: QUALITY,
    radar_gaps,
  } as Verification;
};

test('a verification is said by its strongest verdict, with size, time, confidence and report', (t) => {
  const event = {
    event_date: DATE,
    band: '0-1mi' as const,
    n_detections: 4,
    max_size_mm: 48.5,
    ml_confidence: 0.964,
    first_detected: `${DATE}T20:02:14Z`,
    last_detected: `${DATE}T20:31:39Z`,
    note: null,
  };
  const reports = {
    corroborated: true,
    nearest_reports: [{ source: 'lsr' as const, max_size_mm: 44.5, distance_m: 2104 }],
  };
  const none = { corroborated: false, nearest_reports: [] };
  const { headline, rows } = verifiedInWords(
    AT,
    verified(
      [
        { ...event, verdict: 'hit', ground_truth: reports },
        { ...event, event_date: '2026-05-02', verdict: 'miss', max_size_mm: 7, ground_truth: none },
      ],
      1,
    ),
  );
  t.is(headline, 'Hit: hail fell at or near this place');
  t.is(rows[0]?.[0], 'Storm date 1 May 2026 (UTC)');
  t.is(
    rows[0]?.[1],
    'Fri 1 May 15:02–15:31 CDT (20:02–20:31 UTC) · hit · largest within 5 miles 1.9 in (49 mm) · confidence 96 % · nearest ground report 1.8 in (45 mm), 1.3 mi away · radar and report agree',
  );
});

test('a report on a day that no radar saw is said without a confidence', (t) => {
  const nothing = {
    band: '0-1mi' as const,
    n_detections: 0,
    max_size_mm: null,
    ml_confidence: null,
    first_detected: null,
    last_detected: null,
    note: null,
  };
  const ground_truth = {
    corroborated: false,
    nearest_reports: [{ source: 'lsr' as const, max_size_mm: 25.4, distance_m: 708 }],
  };
  const answer = verified([{ ...nothing, event_date: DATE, verdict: 'marginal', ground_truth }], 1);
  const { rows } = verifiedInWords(AT, answer);
  t.is(rows[0]?.[1], 'marginal · no radar data · nearest ground report 1.0 in (25 mm), 0.4 mi away');
});

test('a verification without a sign says whether radar looked', (t) => {
  t.is(verifiedInWords(AT, verified([], 1)).headline, 'No sign of hail within 5 miles');
  const part = verifiedInWords(AT, verified([], 0.4));
  t.is(part.headline, 'No sign of hail within 5 miles, as far as radar looked');
  t.regex(part.lines.join(), /^Storm date 1 May 2026 \(UTC\): Radar looked 40 %/);
});

test('the pin stays in the address, and one that is nowhere counts as not said', (t) => {
  const address = readAddress('#view=day&date=2026-05-01&pin=35.22000,-97.44000');
  t.deepEqual(address.pin, { lat: 35.22, lng: -97.44 });
  t.is(writeAddress(address), '#view=day&date=2026-05-01&pin=35.22000,-97.44000');
  for (const pin of ['95,0', '35', '35,-200', 'a,b', '']) t.is(readAddress(`#pin=${pin}`).pin, null, pin);
});
