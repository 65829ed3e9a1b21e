import { spawnSync } from 'node:child_process';
import test from 'ava';
import { eventMap, MAP_SIDE } from '../../../api/pdf/event-map.ts';
import { placeInWords } from '../../../api/pdf/place.ts';
import {
  type ReportedHail,
  type ReportMaterial,
  type ReportPixel,
  readReport,
} from '../../../api/pdf/report-material.ts';
import { reportPdf } from '../../../api/pdf/report-pdf.ts';
import { leadSentence } from '../../../api/pdf/sentences.ts';
import { GLYPHS, printable, visible } from '../../../api/pdf/text.ts';
import { localTimeAt } from '../../../api/rules/local-time.ts';
import { destination } from '../../../schemas/geo/distance.ts';
import { latRow, lonCol } from '../../../schemas/geo/lattice.ts';
import { addDays } from '../../../schemas/time.ts';
import { METRES_PER_MILE, MM_PER_INCH } from '../../../schemas/units.ts';
import { hasPdftotext, pagesByPoppler, pagesIn, placedTexts, textsIn } from '../../support/data/pdf-reading.ts';
import {
  claimMaterial,
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
const wordsOf = async (material: ReportMaterial) => textsIn(await plain(material)).join(' ');
/** A text as the properties of a file hold it. */
const utf16 = (text: string) => Buffer.from(text, 'utf16le').swap16().toString('latin1');
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
  const missingFacts = factsOf(material).filter((fact) => !text.includes(fact));
  t.deepEqual(missingFacts, []);
});

if (hasPdftotext)
  test('poppler reads the same in the document of a claim, and the number of every page', async (t) => {
    const material = claimMaterial();
    const pages = pagesByPoppler(await reportPdf(material));
    const missingFacts = factsOf(material).filter((fact) => !pages.some((page) => page.includes(fact)));
    t.deepEqual(missingFacts, []);
    for (const [k, page] of pages.entries()) t.true(page.includes(`Page ${k + 1} of ${pages.length}`), page);
  });
else test.todo('poppler reads the same in the document of a claim (needs pdftotext, which is absent)');

test('made at another time, a document differs in its date alone', async (t) => {
  const [one, other] = await Promise.all([
    plain(claimMaterial()),
    plain(claimMaterial({ generated_ms: Date.parse('2027-11-02T14:50:00Z') })),
  ]);
  const [ours, theirs] = [textsIn(one), textsIn(other)];
  const changedTexts = theirs.filter((text, k) => text !== ours[k]);
  t.deepEqual(changedTexts, ['2027-11-02 14:50 UTC']);
  const lines = [one, other].map((pdf) => pdf.toString('latin1').split('\n'));
  const differing = (lines[1] as string[]).filter((line, k) => line !== lines[0]?.[k]);
  // The printed date is a line of numbers in the page, the date of the document an object and a line of XMP, the id comes from it.
  const unexpectedLines = differing.filter((line) => !/TJ$|^\(D:2027|xmp:CreateDate|^\/ID/.test(line));
  t.deepEqual(unexpectedLines, []);
});

test('text from data makes no link, no script and no object, and a character without a glyph stops nothing', async (t) => {
  const report = reportAt(90, 2, 25.4, '2026-05-01T20:31:00Z', { place: HOSTILE });
  const event = verdictOf('2026-05-01', { note: HOSTILE });
  const pdf = await plain(reportMaterial(MAY, [{ event, pixels: [], reports: [report] }]));
  const outside_texts = pdf.toString('latin1');
  for (const sign of ['/JavaScript', '/JS', '/URI', '/Annot', '/OpenAction', '/Launch', 'evil.example'])
    t.false(outside_texts.includes(sign), sign);
  t.regex(textsIn(pdf).join(' '), /Evil\) Tj ET Q >> endobj .* U\+65E5 U\+672C U\+8A9E Łódź U\+1F9CA https:/);
});

test('every font is embedded and says its characters', async (t) => {
  const file = (await plain(claimMaterial())).toString('latin1');
  const count = (sign: RegExp) => file.match(sign)?.length ?? 0;
  t.is(count(/\/Subtype \/Type0/g), 3);
  t.is(count(/\/FontFile2 \d+ 0 R/g), 3);
  t.is(count(/\/ToUnicode \d+ 0 R/g), 3);
  t.is(count(/\/Subtype \/(Type1|TrueType)\b/g), 0);
});

test('what a request has printed stands on the first page alone, and what the fonts lack in the properties, no part of the hash', async (t) => {
  const labels = { prepared_for: '東京海上', reference: 'Полис № 77', address: HOSTILE.slice(0, 200) };
  const material = claimMaterial({ labels });
  const pdf = await plain(material);
  const [first = [], ...others] = placedTexts(pdf);
  const words = first.map(({ text }) => text).join(' ');
  t.regex(words, /Prepared for U\+6771 U\+4EAC U\+6D77 U\+4E0A Reference Полис № 77 Address Evil\) Tj ET Q >> endobj/);
  t.regex(words, /As given, not checked\. The coordinates above were searched\. Characters that the fonts .* lack/);
  const printed = others
    .flat()
    .map(({ text }) => text)
    .join(' ');
  t.notRegex(printed, /Полис|U\+6771|Evil/);
  t.true(words.includes(material.verification.verification_hash.slice(0, 19)));
  t.is(material.verification.verification_hash, claimMaterial().verification.verification_hash);
  // A property is written with escapes: one character of this text ends in a line feed.
  t.true(pdf.toString('latin1').replaceAll('\\n', '\n').includes(utf16('東京海上')));
  const long = claimMaterial({ labels: { ...labels, reference: 'x'.repeat(200) } });
  t.notRegex(await wordsOf(long), /x{49}/);
  // Strings of the properties are UTF-16; bookmarks hold no text of a request.
  t.notRegex(pdf.toString('latin1').replaceAll(/\[.*\] TJ/g, ''), /Evil|JavaScript|4711/);
  const objects = (bytes: Buffer) => bytes.toString('latin1').match(/^\d+ 0 obj$/gm)?.length ?? 0;
  const harmless = await plain(claimMaterial({ labels: { prepared_for: 'Abc', reference: 'Abc', address: 'Abc' } }));
  // Each property is an object.
  t.is(objects(pdf), objects(harmless) + 2);
});

test('no figure of a document is NaN, undefined or null', async (t) => {
  for (const material of [claimMaterial(), nothingFound(), reportMaterial(MAY, [], {}, null), longMaterial(30, 50, 2)])
    t.notRegex((await plain(material)).toString('latin1'), /NaN|undefined|null|Infinity/);
});

test('ninety storm dates: a row each under a repeated head, 24 maps, and both are told', async (t) => {
  const material = longMaterial(90, 200, 3);
  const pdf = await plain(material);
  const texts = textsIn(pdf);
  const rows = texts.flatMap((text) => /^(2026-\d\d-\d\d), \d\d:\d\d – /.exec(text)?.[1] ?? []);
  t.deepEqual(
    material.verification.events.map(({ event_date }) => event_date).filter((date) => !rows.includes(date)),
    [],
  );
  t.true(texts.filter((text) => text === 'Confidence, detections').length > 2);
  t.is(texts.filter((text) => text === 'N').length, 24);
  t.regex(texts.join(' '), /Storm dates with hail have a map, at most 24, .* 24 of 90 storm dates have a map\./);
  t.true(pagesIn(pdf) <= 24, String(pagesIn(pdf)));
});

test('the first column of a table is bold, and no other', async (t) => {
  const shown = placedTexts(await plain(longMaterial(1, 2, 2))).flat();
  const bold = shown.find(({ text }) => text === 'Ground reports')?.font;
  const height = shown.find(({ text }) => text === 'NWS report')?.above;
  const row = shown.filter(({ above }) => above === height).map(({ font }) => font === bold);
  t.deepEqual(row, [true, false, false, false, false, false]);
});

test('a thousand reports at most are listed, a hundred of a date, nearest first, and how many are not', async (t) => {
  const one = await plain(longMaterial(1, 0, 140));
  t.regex(textsIn(one).join(' '), /40 reports farther away are not listed; the largest of them: 1\.\d\d in/);
  const many = await plain(longMaterial(90, 0, 60));
  t.is(textsIn(many).filter((text) => text === 'NWS report').length, 1000);
  t.true(pagesIn(many) < 60, String(pagesIn(many)));
});

test('where nothing was found one page says so, and that this proves nothing', async (t) => {
  const pdf = await plain(nothingFound());
  const text = textsIn(pdf).join(' ');
  t.is(pagesIn(pdf), 1);
  t.regex(text, /No hail signal within 5 miles of the location in the period searched\./);
  t.regex(text, /does not say that no hail fell\. Absence of evidence is not proof of absence\./);
  t.regex(text, /sha256:[0-9a-f]{64}/);
});

/** A storm date with times at which no scan saw the place. */
const seenInPart = (date: string, share: number, ...gaps: readonly (readonly [from: string, to: string])[]) => ({
  ...{ date, share, until: null, gap_count: gaps.length },
  gaps: gaps.map(([from, to]) => ({ from: `${from}Z`, to: `${to}Z` })),
});
const UNSEEN = seenInPart('2026-05-05', 0, ['2026-05-05T00:00:00', '2026-05-06T00:00:00']);

test('silence is claimed only for what radar saw of the place, and the rest is listed by local time', async (t) => {
  const brief = ['2026-05-07T00:00:00', '2026-05-07T00:00:14'] as const;
  const words = await wordsOf(
    reportMaterial(MAY, [], {
      dates_without_data: ['2026-05-03', '2026-05-04', '2026-05-09'],
      dates_seen_in_part: [
        UNSEEN,
        seenInPart('2026-05-07', 0.924, brief, ['2026-05-07T09:08:39', '2026-05-07T10:58:37']),
        { ...seenInPart('2026-05-30', 1), until: '2026-05-30T20:36:00Z' },
      ],
      dates_with_unknown_scans: ['2026-05-11', '2026-05-12'],
    }),
  );
  t.regex(words, /No hail signal within 5 miles of the location in what radar saw of the period searched\./);
  for (const row of [
    'Radar: no data published May 2, 7:00 PM CDT – May 4, 7:00 PM CDT; May 8, 7:00 PM CDT – May 9, 7:00 PM CDT 2026-05-03 to 2026-05-04, 2026-05-09',
    'Radar: no scan of the location May 4, 7:00 PM CDT – May 5, 7:00 PM CDT; May 7, 4:08 – 5:58 AM CDT; May 30, 3:36 – 7:00 PM CDT; shorter times 2026-05-05, 2026-05-07, 2026-05-30',
    'Radar: times of scans not known May 10, 7:00 PM CDT – May 12, 7:00 PM CDT 2026-05-11 to 2026-05-12',
  ])
    t.true(words.includes(row), row);
  const short = await wordsOf(reportMaterial(MAY, [], { dates_seen_in_part: [seenInPart('2026-05-07', 1, brief)] }));
  t.true(short.includes('Radar: no scan of the location shorter times 2026-05-07'));
  const one_date = { start: '2026-05-05', end: '2026-05-05' };
  const blind = await wordsOf(reportMaterial(one_date, [], { dates_seen_in_part: [UNSEEN] }));
  t.regex(blind, /Radar did not look at the location in the period searched: nothing can be said\./);
  const none = await wordsOf(reportMaterial(one_date, [], { radar_source: null }));
  t.regex(none, /No radar data are published for the period searched: nothing can be said\./);
  t.notRegex(blind + none, /No hail signal/);
});

test('of storm dates whose ground reports were not collected nobody is said to have been silent', async (t) => {
  const of = (dates_without_reports: readonly string[]) =>
    wordsOf(
      reportMaterial(MAY, [{ event: verdictOf('2026-05-02'), pixels: [], reports: [] }], { dates_without_reports }),
    );
  t.regex(await of([]), /feeds hold no report .* None within 5 miles in the collected feeds/);
  t.notRegex(await of([]), /not collected:|reports: not collected/);
  const some = await of(['2026-05-02', '2026-05-03']);
  t.regex(some, /Ground reports: not collected May 1, 7:00 PM CDT – May 3, 7:00 PM CDT 2026-05-02 to 2026-05-03/);
  t.regex(some, /Not collected for this storm date: whether anybody reported hail is not known\./);
  const none = await of(Array.from({ length: 30 }, (_, k) => addDays(MAY.start, k)));
  t.notRegex(none, /collected feeds|Storm Prediction Center/);
});

test('a place outside the area of the data gets no word of silence, however well a radar sees it', async (t) => {
  const material = nothingFound();
  const honolulu = { ...material.verification, location: { lat: 21.3, lon: -157.86 } };
  const [inside, outside] = await Promise.all([material, { ...material, verification: honolulu }].map(wordsOf));
  t.regex(inside ?? '', /No hail signal .* Earlier hail .* Detection here is good/);
  t.regex(outside ?? '', /No radar data can exist for this location: nothing can be said\./);
  t.notRegex(outside ?? '', /No hail signal|Detection here|Earlier hail/);
});

test('a report on a date without radar data is told as that, not as silence of the radar', async (t) => {
  const none = { max_size_mm: null, ml_confidence: null, n_detections: 0, first_detected: null, last_detected: null };
  const event = verdictOf('2026-05-03', { ...none, note: 'Reports alone speak of it, without a confidence.' });
  const reports = [reportAt(90, 2, 25.4, '2026-05-03T20:31:00Z')];
  const found = [{ event, pixels: [], reports }];
  const of = (given: Parameters<typeof reportMaterial>[2]) => wordsOf(reportMaterial(MAY, found, given));
  for (const text of [await of({ dates_without_data: ['2026-05-03'] }), await of({ radar_source: null })]) {
    t.regex(text, /no radar data none † 0 .* No radar data of this storm date are published:/);
    t.notRegex(text, /no radar signal|No signal of/);
  }
  t.regex(await of({}), /no radar signal .* No signal of 0\.20 in/);
  const of_share = (share: number) => of({ dates_seen_in_part: [seenInPart('2026-05-03', share)] });
  t.regex(await of_share(0.083), /Radar saw 8\.3 % of this storm date\./);
  t.regex(await of_share(0), /No scan of this storm date saw the location: whether radar would have shown hail/);
});

for (const [data_source, band] of [
  ['simulated', 'SIMULATED DATA - NOT REAL WEATHER'],
  ['mixed', 'PARTLY SIMULATED DATA - NOT ALL OF THIS IS REAL WEATHER'],
] as const)
  test(`${data_source} data: every page says so above and below, and so do every map and the title`, async (t) => {
    const pdf = await plain(claimMaterial({}, data_source));
    const texts = textsIn(pdf);
    t.is(texts.filter((text) => text === band).length, 2 * pagesIn(pdf));
    // White words alone would not be seen.
    t.is(pdf.toString('latin1').match(/ 612 22 re\n/g)?.length, 2 * pagesIn(pdf));
    t.is(texts.filter((text) => text === band.slice(0, band.indexOf(' -'))).length, 2);
    // Strings with characters beyond Latin are UTF-16 in the file.
    t.true(pdf.toString('latin1').includes(utf16(band.toLowerCase())));
  });

test('local time leads, from the first sentence on; storm dates and UTC stand below it, with the UTC date where it is another', async (t) => {
  const words = await wordsOf(claimMaterial());
  t.regex(words, /Friday, May 1, 2026 at 4:12 PM CDT: radar estimates hail of up to 1\.74 in/);
  t.regex(words, /Fri, May 1, 2026, 3:12 – 4:04 PM CDT 2026-05-01, 20:12 – 21:04 UTC/);
  t.regex(words, /Tue, May 12, 2026, 6:44 – 7:06 PM CDT 2026-05-12, 23:44 – 05-13 00:06 UTC/);
  t.regex(words, /Searched Thu, Apr 30, 2026, 7:00 PM CDT – Sat, May 30, 2026, 7:00 PM CDT Storm dates 2026-05-01 to/);
  t.regex(words, /Hail from May 30, 7:00 PM CDT on is of storm date 2026-05-31, which was not searched\./);
  const convective = await wordsOf(claimMaterial({ storm_day_start_hour: 12 }));
  t.regex(convective, /Storm dates begin at 12:00 UTC\. Hail from May 31, 7:00 AM CDT on is of storm date 2026-05-31/);
  const material = claimMaterial();
  const verification = { ...material.verification, location: { lat: 35, lon: -140 } };
  const at_sea = await wordsOf({ ...material, verification });
  t.regex(at_sea, /Friday, May 1, 2026 at 9:12 PM UTC: radar/);
  t.notRegex(at_sea, /C[DS]T/);
});

for (const [zone, location, at, expected] of [
  ['New York', { lat: 40.9, lon: -74.3 }, '02:12', 'Friday, November 27, 2026 at 9:12 PM EST: '],
  ['Chicago', { lat: 35.24, lon: -97.41 }, '03:29', 'Friday, November 27, 2026 at 9:29 PM CST: '],
  ['Denver', { lat: 39.8, lon: -104.8 }, '03:29', 'Friday, November 27, 2026 at 8:29 PM MST: '],
  ['Los Angeles', { lat: 34.2, lon: -118.2 }, '04:29', 'Friday, November 27, 2026 at 8:29 PM PST: '],
] as const)
  test(`an evening storm of the next storm date is told by its local evening: ${zone}`, (t) => {
    // Two storms of one storm date, most of a day apart.
    const times = { first_detected: '2026-11-28T00:12:00Z', last_detected: '2026-11-28T23:40:00Z' };
    const reports = [reportAt(90, 2, 25.4, `2026-11-28T${at}:00Z`), reportAt(90, 1, 13, '2026-11-28T23:40:00Z')];
    const found = [{ event: verdictOf('2026-11-28', times), pixels: [], reports }];
    const report = readReport(reportMaterial({ start: '2026-11-27', end: '2026-11-28' }, found));
    const sentence = leadSentence({ ...report, local: localTimeAt(location) }).replaceAll('\u00a0', ' ');
    t.is(sentence.slice(0, expected.length), expected);
  });

for (const [lat, lon, expected] of [
  [35.24, -97.41, '2 miles north-east of Norman, Cleveland County, Oklahoma'],
  [29.2, -90.1, '15.7 miles south-east of Golden Meadow, Lafourche Parish, Louisiana'],
  [38.9, -77.03, '0.5 miles north-east of Washington, District of Columbia'],
  [28.5, -94.5, '55.7 miles south-east of Jamaica Beach, Texas'],
  [38.72, -85.39, '1.2 miles south-west of Madison, Trimble County, Kentucky'],
  [46.46, -98.53, 'LaMoure County, North Dakota'],
  [38.78, -77.45, 'City of Manassas Park, Virginia'],
  [47, -30, null],
] as const)
  test(`a place in words: ${lat}, ${lon}`, (t) => t.is(placeInWords({ lat, lon }), expected));

test('earlier hail at the place is listed a line a date, warnings in force by name, and what was not collected is told', async (t) => {
  const observed = { data_source: 'observed' as const };
  const at_ms = Date.parse('2026-04-20T01:31:00Z');
  const dates = [
    { storm_date: '2026-04-20', pixels: [{ ...pixel(0, 30), max_time: at_ms }], reports: [] },
    { storm_date: '2026-03-02', pixels: [], reports: [reportAt(90, 2, 25.4, '2026-03-02T20:31:00Z')] },
  ];
  const year = { first: '2025-05-01', last: '2026-04-30', days: dates, count: 5, without_data: 200 };
  const warning = { event: 'Severe Thunderstorm Warning', end_ms: Date.parse('2026-05-01T21:15:00Z'), ...observed };
  const warnings = new Map([['2026-05-01', [warning]]]);
  const words = await wordsOf(claimMaterial({ earlier: { ...year, ...observed }, warnings }));
  t.regex(words, /Sun, Apr 19, 2026, 8:31 PM CDT 2026-04-20 1\.18 in \(30 mm\), over the location none/);
  t.regex(words, /Mon, Mar 2, 2026, 2:31 PM CST 2026-03-02 no detection, or no data 1: 1\.00 in \(25\.4 mm\)/);
  t.regex(
    words,
    /Of the 365 storm dates .* the published data hold 5 with a detection .*, and 3 more are not listed\. No radar data .* for 200 of the 365\. Reports that were not collected are not counted\./,
  );
  t.regex(
    words,
    /Warnings in force at the location when the hail was largest\. Severe Thunderstorm Warning until May 1, 4:15 PM CDT\./,
  );
  t.regex(words, /\. None in the collected feed, which may not reach back to this date\./);
  const simulated = await wordsOf(claimMaterial({ earlier: { ...year, data_source: 'simulated' } }));
  t.regex(simulated, /Partly simulated data: Friday.* Warnings were not collected\./);
});

test('maps are drawn for storm dates with hail alone, and a document of weak echoes has none', async (t) => {
  const weak = verdictOf('2026-05-24', { verdict: 'miss', max_size_mm: 7, n_detections: 0 });
  const found = [{ event: weak, pixels: [], reports: [] }];
  const pdf = await plain(reportMaterial(MAY, found));
  t.false(textsIn(pdf).includes('N'));
  t.notRegex(textsIn(pdf).join(' '), /Detections by storm date/);
  const claim = await plain(claimMaterial());
  t.is(textsIn(claim).filter((text) => text === 'N').length, 2);
  t.regex(textsIn(claim).join(' '), /2 of 3 storm dates have a map\./);
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
  'Earlier hail',
  'Detections by storm date',
  'Ground reports',
  'Method',
  'Limits',
  'Verification hash',
  'Confidence, detections',
  'Nothing can be said about',
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
    // The three texts at the foot.
    const furniture = 3;
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

for (const [what, found, expected] of [
  [
    'hail elsewhere',
    days({ pixels: [pixel(2, 71.1)] }),
    'radar estimates hail of up to 2.80 in, 1.09 mi away; none seen over the location.',
  ],
  [
    'hail over the location and more beside it',
    days({ pixels: [pixel(2, 71.1), pixel(0, 40)] }),
    'radar estimates hail of up to 2.80 in, 1.09 mi away, and 1.57 in over the location.',
  ],
  [
    'the largest over the location',
    days({ pixels: [pixel(0, 40)] }),
    'radar estimates hail of up to 1.57 in over the location.',
  ],
  [
    'a report without radar data',
    days({ reports: [reportAt(90, 2, 25.4, '2026-05-01T20:31:00Z')] }),
    'hail of 1.00 in was reported on the ground, 1.24 mi away; no radar data.',
  ],
  [
    'a weak echo alone',
    days({ pixels: [pixel(2, 7)] }),
    'a weak radar echo only, of up to 0.28 in, 1.09 mi away: it may be no hail at all.',
  ],
] as const)
  test(`the first sentence: ${what}`, (t) => {
    const material = reportMaterial(MAY, found, { dates_without_data: ['2026-05-01'] });
    const sentence = leadSentence(readReport(material));
    const at = found[0]?.reports.length === 0 ? '4:12 PM CDT' : '3:31 PM CDT';
    t.is(sentence.replaceAll('\u00a0', ' '), `Friday, May 1, 2026 at ${at}: ${expected}`);
  });

test('sizes by distance: a pixel counts in the ring of its nearest point, the one over the location in the first, too', (t) => {
  const found = days({ pixels: [pixel(0, 12), pixel(1, 20), pixel(3, 31), pixel(6, 44), pixel(9, 90)] });
  const [row] = readReport(reportMaterial(MAY, found)).events;
  t.is(row?.overhead_mm, 12);
  t.deepEqual(row?.rings_mm, [20, 31, 44]);
  const largest_km = (row?.largest?.distance_m ?? 0) / 1000;
  t.true(largest_km > 5.5 && largest_km < 6.7, `${largest_km}`);
  const [quiet] = readReport(reportMaterial(MAY, days({ pixels: [pixel(3, 31)] }))).events;
  t.is(quiet?.overhead_mm, null);
  t.deepEqual(quiet?.rings_mm, [null, 31, null]);
});

test('on a map what is 4 miles away stands in its direction between the rings of 3 and 5 miles', (t) => {
  const found = days({ pixels: [pixel(2, 40)], reports: [reportAt(0, 1, 25.4, '2026-05-01T20:31:00Z')] });
  const [event] = readReport(reportMaterial(MAY, found)).events;
  if (event === undefined) throw new Error('there is no event');
  for (const point of [{ lat: 24.55, lon: -81.8 }, REPORT_POINT, { lat: 49.9, lon: -123 }])
    for (const bearing_deg of [0, 90, 135, 270, 315]) {
      const place = destination(point, bearing_deg, (4 * METRES_PER_MILE) / 1000);
      const listed = [{ ...(event.reports[0] as ReportedHail), ...place }];
      const svg = eventMap(point, { ...event, listed }, null);
      const [, cx, cy] = /<circle cx="([\d.]+)" cy="([\d.]+)" r="2.6"/.exec(svg) ?? [];
      const [x, y] = [Number(cx) - MAP_SIDE / 2, MAP_SIDE / 2 - Number(cy)];
      t.true(Math.abs(Math.hypot(x, y) - (4 * MAP_SIDE) / 11.5) < 0.1, `${bearing_deg}`);
      t.true(Math.abs((((Math.atan2(x, y) * 180) / Math.PI - bearing_deg + 540) % 360) - 180) < 0.3, `${bearing_deg}`);
    }
});

for (const [what, text, shown] of [
  [
    'letters and signs that they have stay',
    'Cañon City, Łódź ạ, “5 E” – ¾ mile ≤ 2, Αθήνα, Тверская',
    'Cañon City, Łódź ạ, “5 E” – ¾ mile ≤ 2, Αθήνα, Тверская',
  ],
  [
    'other scripts and pictures are written as their numbers, never as other words',
    'Kyōto 东京 서울 שا 🧊 Ａ',
    'Kyōto U+4E1C U+4EAC U+C11C U+C6B8 U+05E9 U+0627 U+1F9CA A',
  ],
  ['what shows nothing or turns text around goes', ' a\u202eb\u0000c\u00add\u200be \n\t f\ud83e', 'abcde f'],
] as const)
  test(`text for the fonts: ${what}`, (t) => {
    t.is(printable(text, 200), shown);
  });

test('a text without lacking characters prints as it is seen, wherever its invisible ones stand', (t) => {
  for (const text of ['12 Main \u200b St\nApt 4', 'e\u200b\u0301', ' \u0000 a'])
    t.is(printable(text, 200), visible(text));
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
