import { spawnSync } from 'node:child_process';
import test from 'ava';
import { eventMap, MAP_SIDE } from '../../../api/pdf/event-map.ts';
import {
  type ReportedHail,
  type ReportMaterial,
  type ReportPixel,
  reportEvents,
} from '../../../api/pdf/report-material.ts';
import { reportPdf } from '../../../api/pdf/report-pdf.ts';
import { headline } from '../../../api/pdf/sentences.ts';
import { GLYPHS, printable } from '../../../api/pdf/text.ts';
import { destination } from '../../../schemas/geo/distance.ts';
import { latRow, lonCol } from '../../../schemas/geo/lattice.ts';
import type { Position } from '../../../schemas/geo/position.ts';
import { addDays } from '../../../schemas/time.ts';
import { METRES_PER_MILE, MM_PER_INCH } from '../../../schemas/units.ts';
import { hasPdftotext, pagesByPoppler, pagesIn, placedTexts, textsIn } from '../../support/data/pdf-reading.ts';
import {
  claimMaterial,
  type GivenMaterial,
  longMaterial,
  REPORT_POINT,
  reportAt,
  reportMaterial,
  reportPixel,
  verdictOf,
} from '../../support/data/report-material.ts';

const MAY = { start: '2026-05-01', end: '2026-05-30' };
const HOSTILE =
  '\u202eEvil) Tj ET Q >> endobj 7 0 obj << /S /JavaScript /JS (app.alert(1)) >> \\( \u0000\u0007 日本語 Łódź 🧊 https://evil.example javascript:alert(1)';

const plain = (material: ReportMaterial) => reportPdf(material, { compress: false });
const nothingFound = () => reportMaterial(MAY, []);

/** All that a document must tell of a claim, as it is written. */
function factsOf({ verification, events }: ReportMaterial): string[] {
  return [
    verification.verification_hash,
    'Absence of evidence is not proof of absence.',
    ...verification.events.flatMap(({ event_date, max_size_mm }) =>
      max_size_mm === null
        ? [event_date]
        : [event_date, `${(max_size_mm / MM_PER_INCH).toFixed(2)} in`, `${max_size_mm} mm`],
    ),
    ...events.flatMap(({ reports }) =>
      reports.flatMap(({ distance_m, size_mm }) => [
        `${(size_mm / MM_PER_INCH).toFixed(2)} in`,
        `${Math.round(10 * size_mm) / 10} mm`,
        `${(distance_m / METRES_PER_MILE).toFixed(2)} mi`,
        `${(distance_m / 1000).toFixed(2)} km`,
      ]),
    ),
  ];
}

test('the document of a claim tells the hash, sizes in inches and mm, the distance of every report, and what absence means', async (t) => {
  const material = claimMaterial();
  const text = textsIn(await plain(material)).join('\n');
  t.deepEqual(
    factsOf(material).filter((fact) => !text.includes(fact)),
    [],
  );
});

if (hasPdftotext)
  test('poppler reads the same in the document of a claim, and the number of every page', async (t) => {
    const material = claimMaterial();
    const pages = pagesByPoppler(await reportPdf(material));
    t.deepEqual(
      factsOf(material).filter((fact) => !pages.some((page) => page.includes(fact))),
      [],
    );
    for (const [k, page] of pages.entries()) t.true(page.includes(`Page ${k + 1} of ${pages.length}`), page);
  });
else test.todo('poppler reads the same in the document of a claim (needs pdftotext, which is absent)');

test('made at another time, a document differs in its date alone', async (t) => {
  const [one, other] = await Promise.all([
    plain(claimMaterial()),
    plain(claimMaterial({ generated_ms: Date.parse('2027-11-02T14:50:00Z') })),
  ]);
  const [ours, theirs] = [textsIn(one), textsIn(other)];
  t.deepEqual(
    theirs.filter((text, k) => text !== ours[k]),
    ['2027-11-02 14:50 UTC'],
  );
  const lines = [one, other].map((pdf) => pdf.toString('latin1').split('\n'));
  const differing = (lines[1] as string[]).filter((line, k) => line !== lines[0]?.[k]);
  // The printed date is a line of numbers in the page, the date of the document an object and a line of XMP, the id comes from it.
  t.deepEqual(
    differing.filter((line) => !/TJ$|^\(D:2027|xmp:CreateDate|^\/ID/.test(line)),
    [],
  );
});

test('text from data makes no link, no script and no object, and a character without a glyph stops nothing', async (t) => {
  const report = reportAt(90, 2, 25.4, '2026-05-01T20:31:00Z', { place: HOSTILE });
  const event = verdictOf('2026-05-01', { note: HOSTILE });
  const pdf = await plain(reportMaterial(MAY, [{ event, pixels: [], reports: [report] }]));
  const outside_texts = pdf.toString('latin1');
  for (const sign of ['/JavaScript', '/JS', '/URI', '/Annot', '/OpenAction', '/Launch', 'evil.example'])
    t.false(outside_texts.includes(sign), sign);
  t.regex(textsIn(pdf).join(' '), /Evil\) Tj ET Q >> endobj .* RiBenYu Łódź :ice_cube: https:/);
});

test('every font is embedded and says its characters', async (t) => {
  const file = (await plain(claimMaterial())).toString('latin1');
  const count = (sign: RegExp) => file.match(sign)?.length ?? 0;
  t.is(count(/\/Subtype \/Type0/g), 3);
  t.is(count(/\/FontFile2 \d+ 0 R/g), 3);
  t.is(count(/\/ToUnicode \d+ 0 R/g), 3);
  t.is(count(/\/Subtype \/(Type1|TrueType)\b/g), 0);
});

test('what a request has printed stands on the first page alone, in any script, and is no part of the hash', async (t) => {
  const labels = { prepared_for: '東京海上', reference: 'Полис № 77', address: HOSTILE.slice(0, 200) };
  const material = claimMaterial({ labels });
  const pdf = await plain(material);
  const [first = [], ...others] = placedTexts(pdf);
  const words = first.map(({ text }) => text).join(' ');
  t.regex(words, /Prepared for DongJingHaiShang Reference Полис № 77 Address Evil\) Tj ET Q >> endobj/);
  t.regex(
    words,
    /Prepared for, reference, and address: as given, not checked\. The coordinates above were searched\. Scripts/,
  );
  t.notRegex(
    others
      .flat()
      .map(({ text }) => text)
      .join(' '),
    /Полис|DongJing|Evil/,
  );
  t.true(words.includes(`${claimMaterial().verification.verification_hash.slice(0, 19)}…`));
  // Neither metadata nor bookmarks hold them.
  t.notRegex(pdf.toString('latin1').replaceAll(/\[.*\] TJ/g, ''), /Evil|JavaScript|4711/);
  const objects = (bytes: Buffer) => bytes.toString('latin1').match(/^\d+ 0 obj$/gm)?.length;
  const harmless = { prepared_for: 'Abc', reference: 'Abc', address: 'Abc' };
  t.is(objects(pdf), objects(await plain(claimMaterial({ labels: harmless }))));
});

test('no figure of a document is NaN, undefined or null', async (t) => {
  for (const material of [claimMaterial(), nothingFound(), reportMaterial(MAY, [], {}, null), longMaterial(30, 50, 2)])
    t.notRegex((await plain(material)).toString('latin1'), /NaN|undefined|null|Infinity/);
});

test('ninety storm dates: a row each under a repeated head, 24 maps, and both are told', async (t) => {
  const material = longMaterial(90, 200, 3);
  const pdf = await plain(material);
  const texts = textsIn(pdf);
  const rows = texts.filter((text) => /^2026-\d\d-\d\d$/.test(text));
  t.deepEqual(
    material.verification.events.map(({ event_date }) => event_date).filter((date) => !rows.includes(date)),
    [],
  );
  t.true(texts.filter((text) => text === 'Confidence, detections').length > 2);
  t.is(texts.filter((text) => text === 'N').length, 24);
  t.regex(
    texts.join(' '),
    /Maps are drawn for 24 of 65 storm dates with hail.* 25 storm dates with a weak echo only have no map/,
  );
  t.true(pagesIn(pdf) <= 24, String(pagesIn(pdf)));
});

test('a thousand reports at most are listed, a hundred of a date, nearest first, and how many are not', async (t) => {
  const one = await plain(longMaterial(1, 0, 140));
  t.regex(textsIn(one).join(' '), /40 reports farther away are not listed; the largest of them: 1\.\d\d in/);
  const many = await plain(longMaterial(90, 0, 60));
  t.is(textsIn(many).filter((text) => text === 'NWS storm report').length, 1000);
  t.true(pagesIn(many) < 60, String(pagesIn(many)));
});

test('where nothing was found one page says so, and that this proves nothing', async (t) => {
  const pdf = await plain(nothingFound());
  const text = textsIn(pdf).join(' ');
  t.is(pagesIn(pdf), 1);
  t.regex(text, /No hail signal within 5 miles of the location in these 30 storm dates\./);
  t.regex(text, /does not say that no hail fell\. Absence of evidence is not proof of absence\./);
  t.regex(text, /sha256:[0-9a-f]{64}/);
});

test('storm dates without data are named, as nothing can be said about them', async (t) => {
  const dates_without_data = ['2026-05-03', '2026-05-04', '2026-05-09'];
  const some = textsIn(await plain(reportMaterial(MAY, [], { dates_without_data }))).join(' ');
  t.regex(
    some,
    /3 storm dates of the range, and nothing can be said about what radar saw on these dates: 2026-05-03 to 2026-05-04, 2026-05-09/,
  );
  const none = textsIn(await plain(reportMaterial(MAY, [], {}, null))).join(' ');
  t.regex(none, /No radar data for these 30 storm dates: nothing can be said\./);
  t.notRegex(none, /No hail signal/);
});

test('silence is claimed only for the storm dates on which radar looked at the place, and the others are named', async (t) => {
  const wordsOf = async (more: GivenMaterial, range = MAY) =>
    textsIn(await plain(reportMaterial(range, [], more))).join(' ');
  const dates_without_data = ['2026-05-03', '2026-05-04'];
  const unseen = (date: string) => ({
    ...{ date, share: 0, until: null, gap_count: 1 },
    gaps: [{ from: `${date}T00:00:00Z`, to: `${addDays(date, 1)}T00:00:00Z` }],
  });
  const in_part = (date: string) => ({
    ...{ date, share: 0.924, until: null, gap_count: 1 },
    gaps: [{ from: `${date}T09:08:39Z`, to: `${date}T10:58:37Z` }],
  });
  const mostly = await wordsOf({ dates_without_data, dates_seen_in_part: [unseen('2026-05-09')] });
  t.regex(
    mostly,
    /No hail signal within 5 miles of the location on the 27 of 30 storm dates on which radar looked at it\./,
  );
  t.regex(mostly, /No scan saw the location on 1 storm date, [^:]+: 2026-05-09\./);
  t.notRegex(mostly, /only in part/);
  const brief = { from: '2026-05-05T00:00:00Z', to: '2026-05-05T00:00:14Z' };
  const second = await wordsOf({
    dates_seen_in_part: [{ ...in_part('2026-05-05'), gap_count: 2, gaps: [brief, ...in_part('2026-05-05').gaps] }],
  });
  t.regex(second, /nothing from 09:08 to 10:58 UTC, and 1 shorter time\)/);
  const partly = await wordsOf({ dates_without_data, dates_seen_in_part: [in_part('2026-05-05')] });
  t.regex(partly, /No hail signal within 5 miles of the location in what radar saw of it in these 30 storm dates\./);
  t.regex(partly, /2026-05-05 \(92\.4 % seen; nothing from 09:08 to 10:58 UTC\)\./);
  const running = { ...in_part('2026-05-30'), share: 1, until: '2026-05-30T20:36:00Z', gap_count: 0, gaps: [] };
  t.regex(
    await wordsOf({ dates_seen_in_part: [running] }),
    /in what radar saw of it .* 2026-05-30 \(100 % seen up to 20:36 UTC, its newest scan\)\./,
  );
  t.regex(
    await wordsOf({ dates_with_unknown_scans: ['2026-05-07', '2026-05-08'] }),
    /Of 2 storm dates only the sum of the whole day is published, [^:]+ not known: 2026-05-07 to 2026-05-08\./,
  );
  const one_date = { start: '2026-05-03', end: '2026-05-03' };
  const blind = await wordsOf({ dates_seen_in_part: [unseen('2026-05-03')] }, one_date);
  t.regex(blind, /Radar did not look at the location on this storm date: nothing can be said\./);
  t.notRegex(blind, /No hail signal|hold no echo/);
});

test('of storm dates whose ground reports were not collected nobody is said to have been silent', async (t) => {
  const wordsOf = async (dates: readonly string[]) => {
    const found = [{ event: verdictOf('2026-05-02'), pixels: [], reports: [] }];
    return textsIn(await plain(reportMaterial(MAY, found, { dates_without_reports: dates }))).join(' ');
  };
  const silent = /feeds hold no report .* None within 5 miles in the collected feeds/;
  t.regex(await wordsOf([]), silent);
  t.notRegex(await wordsOf([]), /not collected|were collected/);
  const some = await wordsOf(['2026-05-02', '2026-05-03']);
  t.regex(some, /No ground reports of 2 storm dates of the range were collected, [^:]+: 2026-05-02 to 2026-05-03\./);
  t.regex(some, /not collected .* whether anybody reported hail is not known\./);
  const none = await wordsOf(Array.from({ length: 30 }, (_, k) => addDays(MAY.start, k)));
  t.regex(none, /No ground reports of these storm dates were collected: that none is listed says nothing\./);
  t.notRegex(none, /collected feeds|Storm Prediction Center/);
});

test('a place outside the area of the data gets no word of silence, however well a radar sees it', async (t) => {
  const material = nothingFound();
  const honolulu = { ...material.verification, location: { lat: 21.3, lon: -157.86 } };
  const [inside, outside] = await Promise.all(
    [material, { ...material, verification: honolulu }].map(async (one) => textsIn(await plain(one)).join(' ')),
  );
  t.regex(inside ?? '', /No hail signal .* hold no echo .* Detection here is good/);
  t.regex(outside ?? '', /No radar data can exist for this location: nothing can be said\./);
  t.notRegex(outside ?? '', /No hail signal|hold no echo|Detection here/);
});

test('a report on a date without radar data is told as that, not as silence of the radar', async (t) => {
  const event = verdictOf('2026-05-03', {
    max_size_mm: null,
    n_detections: 0,
    first_detected: null,
    last_detected: null,
  });
  const reports = [reportAt(90, 2, 25.4, '2026-05-03T20:31:00Z')];
  const found = [{ event, pixels: [], reports }];
  for (const material of [
    reportMaterial(MAY, found, { dates_without_data: ['2026-05-03'] }),
    reportMaterial(MAY, found, { radar_source: null }),
  ]) {
    const text = textsIn(await plain(material)).join(' ');
    t.regex(text, /no radar data .* No radar data of this storm date are published:/);
    t.notRegex(text, /no radar signal/i);
  }
  t.regex(textsIn(await plain(reportMaterial(MAY, found))).join(' '), /no radar signal .* No radar signal of 0\.20 in/);
  const of_share = async (share: number) => {
    const dates_seen_in_part = [{ date: '2026-05-03', share, until: null, gap_count: 0, gaps: [] }];
    return textsIn(await plain(reportMaterial(MAY, found, { dates_seen_in_part }))).join(' ');
  };
  t.regex(await of_share(0.083), /on this storm date, of which radar saw 8\.3 %\./);
  t.regex(await of_share(0), /No scan of this storm date saw the location: whether radar would have shown hail/);
});

for (const [data_source, band, map, title] of [
  ['simulated', 'SIMULATED DATA - NOT REAL WEATHER', 'SIMULATED', 'simulated data'],
  ['mixed', 'PARTLY SIMULATED DATA - NOT ALL OF THIS IS REAL WEATHER', 'PARTLY SIMULATED', 'partly simulated data'],
] as const)
  test(`${data_source} data: every page says so above and below, and so do every map and the title`, async (t) => {
    const pdf = await plain(claimMaterial({}, data_source));
    const texts = textsIn(pdf);
    t.is(texts.filter((text) => text === band).length, 2 * pagesIn(pdf));
    t.is(texts.filter((text) => text === map).length, 2);
    // Strings with characters beyond Latin are UTF-16 in the file.
    t.true(pdf.includes(Buffer.from(title, 'utf16le').swap16()));
  });

test('times on another UTC date than the storm date say which', async (t) => {
  const texts = textsIn(await plain(claimMaterial({ storm_day_start_hour: 12 })));
  t.true(texts.includes('May 13, 00:06'));
  t.true(texts.includes('May 12, 7:06 p.m.'));
  t.regex(texts.join(' '), /A storm date runs from 12:00 UTC to 12:00 UTC of the next day/);
  t.regex(texts.join(' '), /the storm date 2026-05-01 begins there on May 1, 7:00 a\.m\. CDT\./);
  t.regex(textsIn(await plain(claimMaterial())).join(' '), /2026-05-01 begins there on Apr 30, 7:00 p\.m\. CDT\./);
});

test('local time stands with UTC where the place has a time zone, and far out at sea there is UTC alone', async (t) => {
  const material = claimMaterial();
  const ashore = textsIn(await plain(material)).join(' ');
  t.regex(ashore, /Local time America\/Chicago \(CDT\)/);
  t.regex(ashore, /from 20:12 to 21:04 UTC \(May 1, 3:12 p\.m\. to 4:04 p\.m\. CDT\)/);
  t.regex(ashore, /Time \(UTC\) Local \(CDT\)/);
  const verification = { ...material.verification, location: { lat: 35, lon: -140 } };
  const at_sea = textsIn(await plain({ ...material, verification })).join(' ');
  t.regex(at_sea, /Local time UTC: no time zone here .* First seen \(UTC\)/);
  t.notRegex(at_sea, /[ap]\.m\.|C[DS]T/);
});

test('maps are drawn for storm dates with hail alone, and a document of weak echoes has none', async (t) => {
  const weak = verdictOf('2026-05-24', { verdict: 'miss', max_size_mm: 7, n_detections: 0 });
  const found = [{ event: weak, pixels: [], reports: [] }];
  const pdf = await plain(reportMaterial(MAY, found));
  t.false(textsIn(pdf).includes('N'));
  t.notRegex(textsIn(pdf).join(' '), /Reading the maps|Detections and reports/);
  const claim = await plain(claimMaterial());
  t.is(textsIn(claim).filter((text) => text === 'N').length, 2);
  t.regex(textsIn(claim).join(' '), /1 storm date with a weak echo only has no map/);
});

if (spawnSync('jq', ['--version']).status === 0)
  test('the line that a document prints for checking makes the hash of the answer', async (t) => {
    const material = claimMaterial();
    const line = textsIn(await plain(material)).find((text) => text.startsWith('jq '));
    const { stdout } = spawnSync('sh', ['-c', (line ?? '').replace('answer.json', '')], {
      input: JSON.stringify(material.verification),
      encoding: 'utf8',
    });
    t.is(`sha256:${stdout.slice(0, 64)}`, material.verification.verification_hash);
  });
else test.todo('the line that a document prints for checking makes the hash of the answer (needs jq, which is absent)');

/** What stands above other things, never last on a page: titles of sections, a column of each table. */
const HEADS = new Set([
  'Verdicts',
  'How well radar sees this place',
  'Reading the maps',
  'Detections and reports by storm date',
  'Ground reports of the storm dates without a map',
  'Method',
  'Limits',
  'Verification hash',
  'Confidence, detections',
  'No.',
  'Place as reported',
]);
/** Baselines of the blocks, points above the lower edge; what stands on every page is outside. */
const BODY = { from: 53, to: 742 };
/** Fewer are a few. */
const LINES_MIN = 14;

/** What is wrong with the pages of a document. */
async function faultsOf(name: string, material: ReportMaterial): Promise<string[]> {
  const pdf = await reportPdf(material, { compress: false });
  const all = placedTexts(pdf);
  const faults: string[] = [];
  for (const [k, texts] of all.entries()) {
    const page = `${name}, page ${k + 1} of ${all.length}`;
    const body = texts.filter(({ above }) => above > BODY.from && above < BODY.to);
    // Header, and the three texts at the foot.
    const furniture = k === 0 ? 3 : 5;
    if (texts.length - body.length !== furniture) faults.push(`${page}: text runs into what stands on every page`);
    const lines = new Set(body.map(({ above }) => above));
    if (lines.size < LINES_MIN) faults.push(`${page}: ${lines.size} lines`);
    const lowest = Math.min(...lines);
    for (const { text, above } of body)
      if (above === lowest && HEADS.has(text)) faults.push(`${page}: '${text}' with nothing below`);
  }
  const words = all.map((texts) => texts.map(({ text }) => text));
  for (const title of ['Limits', 'Verification hash'])
    if (words.at(-1)?.includes(title) !== true) faults.push(`${name}: '${title}' before the last page`);
  return faults;
}

test('whatever number of events and reports, no page holds a few lines only, and no title or head stands at its foot', async (t) => {
  const faults: string[] = [];
  for (const days of [1, 5, 26])
    for (const reports of [0, 14])
      faults.push(...(await faultsOf(`${days} days, ${reports} reports each`, longMaterial(days, 0, reports))));
  t.deepEqual(faults, []);
});

/** A pixel so many rows north of the one over the point. */
function pixel(rows_north: number, max_mm: number): ReportPixel {
  return reportPixel(latRow(REPORT_POINT.lat) - rows_north, lonCol(REPORT_POINT.lon), max_mm);
}

/** Storm dates from May 1 on. */
function days(
  ...found: readonly { readonly pixels?: readonly ReportPixel[]; readonly reports?: readonly ReportedHail[] }[]
) {
  return found.map(({ pixels = [], reports = [] }, k) => ({
    event: verdictOf(`2026-05-0${k + 1}`, {
      max_size_mm: pixels.length === 0 ? null : Math.max(...pixels.map(({ max_mm }) => max_mm)),
    }),
    pixels,
    reports,
  }));
}

function headlineOf(found: ReturnType<typeof days>, dates_without_data: readonly string[]): string {
  const material = reportMaterial(MAY, found, { dates_without_data: [...dates_without_data] });
  return headline(material, reportEvents(material)).replaceAll('\u00a0', ' ');
}

for (const [what, found, dates_without_data, expected] of [
  [
    'the same where data are missing',
    days({ pixels: [pixel(2, 71.1)] }),
    ['2026-05-20'],
    'Radar estimates hail of up to 2.80 in, 1.09 mi away, on May 1, 2026; none over the location in the published data.',
  ],
  [
    'hail over the location and more beside it',
    days({ pixels: [pixel(2, 71.1), pixel(0, 40)] }),
    [],
    'Radar estimates hail of up to 1.57 in over the location and up to 2.80 in within 1.09 mi, on May 1, 2026.',
  ],
  [
    'a report without radar data',
    days({ reports: [reportAt(90, 2, 25.4, '2026-05-01T20:31:00Z')] }),
    ['2026-05-01'],
    'Hail of 1.00 in was reported on the ground, 1.24 mi away, on May 1, 2026; no radar data.',
  ],
  [
    'a weak echo alone',
    days({ pixels: [pixel(2, 7)] }),
    [],
    'A weak radar echo only, of up to 0.28 in, 1.09 mi away, on May 1, 2026: it may be no hail at all.',
  ],
] as const)
  test(`headline: ${what}`, (t) => t.is(headlineOf(found, dates_without_data), expected));

test('sizes by distance: a pixel counts in the ring of its nearest point, the one over the location in the first, too', (t) => {
  const found = days({ pixels: [pixel(0, 12), pixel(1, 20), pixel(3, 31), pixel(6, 44), pixel(9, 90)] });
  const [row] = reportEvents(reportMaterial(MAY, found));
  t.is(row?.overhead_mm, 12);
  t.deepEqual(row?.rings_mm, [20, 31, 44]);
  const largest_km = (row?.largest_m ?? 0) / 1000;
  t.true(largest_km > 5.5 && largest_km < 6.7, `${largest_km}`);
  const [quiet] = reportEvents(reportMaterial(MAY, days({ pixels: [pixel(3, 31)] })));
  t.is(quiet?.overhead_mm, null);
  t.deepEqual(quiet?.rings_mm, [null, 31, null]);
});

test('on a map what is 5 miles away stands on its ring, in its direction, and numbers at one place beside each other', (t) => {
  const found = days({ pixels: [pixel(2, 40)], reports: [reportAt(0, 1, 25.4, '2026-05-01T20:31:00Z')] });
  const [event] = reportEvents(reportMaterial(MAY, found));
  if (event === undefined) throw new Error('there is no event');
  const numbersOf = (point: Position, listed: readonly Position[]) => {
    const reports = listed.map((place) => ({ ...(event.reports[0] as ReportedHail), ...place }));
    const svg = eventMap(point, { ...event, listed: reports }, null);
    return [...svg.matchAll(/<circle cx="([\d.]+)" cy="([\d.]+)" r="5"/g)].map(([, x, y]) => [
      Number(x) - MAP_SIDE / 2,
      MAP_SIDE / 2 - Number(y),
    ]) as [number, number][];
  };
  for (const point of [{ lat: 24.55, lon: -81.8 }, REPORT_POINT, { lat: 49.9, lon: -123 }])
    for (const bearing_deg of [0, 90, 135, 270, 315]) {
      const place = destination(point, bearing_deg, (4 * METRES_PER_MILE) / 1000);
      const [[x, y] = [0, 0]] = numbersOf(point, [place]);
      t.true(Math.abs(Math.hypot(x, y) - (4 * MAP_SIDE) / 11) < 0.1, `${bearing_deg}`);
      t.true(Math.abs((((Math.atan2(x, y) * 180) / Math.PI - bearing_deg + 540) % 360) - 180) < 0.3, `${bearing_deg}`);
    }
  const crowd = numbersOf(
    REPORT_POINT,
    Array.from({ length: 9 }, () => destination(REPORT_POINT, 90, 3)),
  );
  for (const [k, [x, y]] of crowd.entries())
    for (const [other_x, other_y] of crowd.slice(k + 1)) t.true(Math.hypot(x - other_x, y - other_y) > 10);
});

for (const [what, text, shown] of [
  [
    'letters and signs that they have stay',
    'Cañon City, Łódź ạ, “5 E” – ¾ mile ≤ 2, Αθήνα, Тверская',
    'Cañon City, Łódź ạ, “5 E” – ¾ mile ≤ 2, Αθήνα, Тверская',
  ],
  ['other scripts and pictures are written in Latin letters', '东京 서울 दिल्ली שارع 🧊', null],
  ['what shows nothing or turns text around goes', ' a\u202eb\u0000c\u00add\u200be \n\t f\ud83e', 'abcde f'],
] as const)
  test(`text for the fonts: ${what}`, (t) => {
    if (shown === null) t.regex(printable(text, 200), /^DongJing SeoUl dilli [\w`]+ :ice_cube:$/);
    else t.is(printable(text, 200), shown);
  });

test('whatever the text, every character that is left has a glyph in both text fonts', (t) => {
  const all = Array.from({ length: 0x11_0000 / 0x100 }, (_, block) =>
    Array.from({ length: 0x100 }, (_, k) => 0x100 * block + k)
      .map((code) => String.fromCodePoint(code))
      .join(' '),
  );
  const shown = new Set(all.flatMap((text) => Array.from(printable(text, 1000))));
  const lacking = [...shown].filter((character) => !GLYPHS.has(character.codePointAt(0) ?? 0));
  t.deepEqual(lacking, []);
  t.true(shown.size > 900, String(shown.size));
  t.notRegex([...shown].join(''), /[\p{M}\p{Script=Hebrew}\p{Script=Arabic}]/u);
});
