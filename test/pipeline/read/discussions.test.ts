import { readFileSync } from 'node:fs';
import test from 'ava';
import { BadInput } from '../../../pipeline/error.ts';
import { readDiscussion } from '../../../pipeline/read/discussions.ts';
import { multiPolygonFromWkt } from '../../../schemas/geo/wkt.ts';
import { feedFigures, minuteOf } from '../../support/data/feed-figures.ts';
import { sharedData, sharedTest } from '../../support/data/shared-data.ts';

const NOW = Date.parse('2026-11-22T00:00:00Z');

for (const name of ['SWOMCD.txt', 'SWOMCD_tags.txt', 'SWOMCDconcerning.txt', 'SWOMCDprob.txt'])
  sharedTest(`${name} gives the number, validity, concern, probability and outline read by others`, (t) => {
    const figures = feedFigures().warnings.discussions[name]!;
    const { row, set_aside } = readDiscussion(readFileSync(sharedData('warnings', 'discussions', name)), name, NOW);
    t.deepEqual(set_aside, []);
    t.is(row.type, 'mesoscale_discussion');
    t.is(row.number, figures.number);
    t.deepEqual([minuteOf(row.begins_at!), minuteOf(row.expires_at)], [...figures.valid_utc]);
    t.is(row.headline, figures.concerning);
    t.is(row.watch_probability_pct, figures.watch_probability_percent);
    t.deepEqual([row.west, row.south, row.east, row.north], [...figures.polygon.bbox]);
    const [ring] = multiPolygonFromWkt(row.geometry!)[0]!;
    t.is(ring!.length, figures.polygon.points_in_text);
    t.deepEqual(ring!.slice(1).map(String).sort(), figures.polygon.ring_lonlat.slice(1).map(String).sort());
  });

sharedTest('the discussion with tags gives areas, peak hail and peak gust', (t) => {
  const { row } = readDiscussion(readFileSync(sharedData('warnings', 'discussions', 'SWOMCD_tags.txt')), 'x', NOW);
  t.deepEqual([row.areas, row.hail_size_mm, row.gust_kmh], ['Lower Mississippi Valley', 44.45, 112.654]);
  t.is(row.watch_id, 'discussion-2024-2237');
  t.is(minuteOf(row.issued_at), '2024-11-19T05:49Z', 'the heading is a day older than the issue line');
});

const TEXT = `174
ACUS11 KWNS 190549
SWOMCD
SPC MCD 190549
MSZ000-190715-

Mesoscale Discussion 2237
NWS Storm Prediction Center Norman OK
1149 PM CST Mon Nov 18 2024

Areas affected...Lower Mississippi Valley
and beyond

Concerning...Severe potential...Watch likely

Valid 190549Z - 190715Z

Probability of Watch Issuance...95 percent

LAT...LON 30199264 32449081 32119008 30229160
`;

test('an outline that the text leaves open is closed', (t) => {
  const { row, set_aside } = readDiscussion(Buffer.from(TEXT), 'x', NOW);
  t.deepEqual(set_aside, []);
  t.is(row.areas, 'Lower Mississippi Valley and beyond');
  t.deepEqual([row.watch_probability_pct, row.data_source], [95, 'observed']);
  t.is(multiPolygonFromWkt(row.geometry!)[0]![0]!.length, 5);
});

test('a discussion of the simulator is simulated', (t) => {
  t.is(readDiscussion(Buffer.from(TEXT.replace('KWNS', 'KSIM')), 'x', NOW).row.data_source, 'simulated');
});

test('a broken outline is set aside, and the discussion kept without it', (t) => {
  const { row, set_aside } = readDiscussion(Buffer.from(TEXT.replace('32119008', '3211')), 'x', NOW);
  t.is(row.geometry, null);
  t.deepEqual(set_aside, [{ item: 'outline', reason: "position '3211', expected eight digits" }]);
});

test('a probability above 100 is not known', (t) => {
  t.is(
    readDiscussion(Buffer.from(TEXT.replace('95 percent', '950 percent')), 'x', NOW).row.watch_probability_pct,
    null,
  );
});

for (const [title, text] of [
  ['an error page', '<!DOCTYPE html>'],
  ['a text without number', TEXT.replace('Discussion 2237', 'Discussion')],
  ['a text of an unknown zone', TEXT.replace('CST', 'SUN')],
  ['a validity that ends before it begins', TEXT.replace('190715Z', '190515Z')],
  ['a text without validity', TEXT.replace('Valid 190549Z', 'From 190549Z')],
  ['a text from the future', TEXT.replace('2024', '2027')],
] as const)
  test(`${title} is refused`, (t) => {
    t.throws(() => readDiscussion(Buffer.from(text), 'x', NOW), { instanceOf: BadInput });
  });
