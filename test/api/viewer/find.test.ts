import { readFileSync } from 'node:fs';
import test from 'ava';
import fc from 'fast-check';
import { openFinder, readCoordinates } from '../../../api/viewer/place/places.ts';

const find = openFinder(async (name) =>
  JSON.parse(readFileSync(new URL(`../../../data/reference/${name}`, import.meta.url), 'utf8')),
);
const labels = async (text: string) => (await find(text)).map(({ label }) => label);

for (const [text, lat, lng] of [
  ['35.2, -97.4', 35.2, -97.4],
  ['35.2 -97.4', 35.2, -97.4],
  ['(35.2; -97.4)', 35.2, -97.4],
  ['35.2,−97.4', 35.2, -97.4],
  ['geo:35.2,-97.4', 35.2, -97.4],
  ['lat 35.2 lon -97.4', 35.2, -97.4],
  ['Latitude: 35.2, Longitude: -97.4', 35.2, -97.4],
  ['N35.2 W97.4', 35.2, -97.4],
  ['N 35.2, W 97.4', 35.2, -97.4],
  ['35.2N 97.4W', 35.2, -97.4],
  ['35.2° N, 97.4° W', 35.2, -97.4],
  ['35.2 north 97.4 west', 35.2, -97.4],
  ['W97.4 N35.2', 35.2, -97.4],
  ["35°12'N 97°24'W", 35.2, -97.4],
  ['35°12′N 97°24′W', 35.2, -97.4],
  ['35° 12\' 36" N, 97° 24\' 36" W', 35.21, -97.41],
  ['35°12’36”N 97°24’36”W', 35.21, -97.41],
  ["35°12'36''N 97°24'36''W", 35.21, -97.41],
  ['35 12 36 N 97 24 36 W', 35.21, -97.41],
  ['N 35 12.6 W 97 24.6', 35.21, -97.41],
  ["35°12' -97°24'", 35.2, -97.4],
  ['S33.9 E18.4', -33.9, 18.4],
] as const)
  test(`${text} is read as coordinates`, (t) => {
    const found = readCoordinates(text);
    t.true(Math.abs((found?.lat ?? Number.NaN) - lat) < 1e-9, String(found?.lat));
    t.true(Math.abs((found?.lng ?? Number.NaN) - lng) < 1e-9, String(found?.lng));
  });

for (const text of [
  '',
  '73069',
  'Norman, OK',
  '35.2',
  '35.2, -97.4, 3',
  '95, -97.4',
  '35.2, -197.4',
  'N35.2 N97.4',
  'N-35.2 W97.4',
  "35°72'N 97°26'W",
  '35 12 97 24',
  '35.2x -97.4',
  '12 Main St, Norman',
])
  test(`'${text}' is not read as coordinates`, (t) => t.is(readCoordinates(text), null));

test('any text gives a place on the earth or none', (t) => {
  const letters = fc.constantFrom(...`0123456789.,;-+ °'"nsewNSEW`);
  const property = fc.property(fc.string({ unit: letters, maxLength: 20 }), (text) => {
    const found = readCoordinates(text);
    t.true(found === null || (Math.abs(found.lat) <= 90 && Math.abs(found.lng) <= 180));
  });
  fc.assert(property);
});

test('a geohash of the contiguous states is the middle of its box; a ZIP code and a name are none', async (t) => {
  const [found] = await find(' 9Y68Q ');
  t.true(found?.kind === 'coordinates' && found.label.startsWith('9y68q · '));
  // A box of five characters is 0.044 degrees high and wide.
  t.true(Math.abs((found?.lat ?? 0) - 35.22) < 0.022 && Math.abs((found?.lng ?? 0) + 97.44) < 0.022);
  for (const text of ['94105', 'dede', 'u33d8', 'hwy 9', '9y6'])
    t.not((await find(text))[0]?.kind, 'coordinates', text);
});

test('coordinates as the page writes them are read again', async (t) => {
  t.like((await find('35.2 -97.4'))[0], { kind: 'coordinates', label: '35.200° N, 97.400° W', lat: 35.2, lng: -97.4 });
  t.deepEqual(readCoordinates('35.200° N, 97.400° W'), { lat: 35.2, lng: -97.4 });
});

for (const [text, first] of [
  ['norman', 'Norman, OK'],
  ['Norman, OK', 'Norman, OK'],
  ['norman oklahoma', 'Norman, OK'],
  ['new york', 'New York City, NY'],
  ['springfield', 'Springfield, MO'],
  ['springfield il', 'Springfield, IL'],
  ['fort w', 'Fort Worth, TX'],
  ['ft worth', 'Fort Worth, TX'],
  ['cleveland county ok', 'Cleveland County, OK'],
  ['Cleveland Co, Oklahoma', 'Cleveland County, OK'],
  ['orleans parish', 'Orleans Parish, LA'],
  ['dona ana county', 'Doña Ana County, NM'],
  ['73069', '73069 · Norman, OK'],
  ['73069-1234', '73069 · Norman, OK'],
] as const)
  test(`'${text}' finds ${first} first`, async (t) => t.is((await labels(text))[0], first));

test('St. Louis is found in each of its spellings', async (t) => {
  for (const text of ['st louis', 'St. Louis', 'Saint Louis, MO'])
    t.regex((await labels(text))[0] ?? '', /Louis, MO$/, text);
});

test('names that begin with the text come before names that have it later, and the larger town first', async (t) => {
  t.is((await labels('oklahoma city'))[0], 'Oklahoma City, OK');
  t.is((await labels('worthing'))[0], 'Worthington, OH');
  const worths = (await labels('worth')).map((label) => label.startsWith('Worth'));
  t.deepEqual(worths, worths.toSorted().reverse());
});

test('counties of a name are shown with its towns', async (t) => {
  const found = await labels('cleveland');
  t.true(found.some((label) => label.startsWith('Cleveland County')));
  t.is(found[0], 'Cleveland, OH');
  t.true((await labels('a')).length <= 8);
});

test('the beginning of a ZIP code finds those that have it, and what is nowhere finds nothing', async (t) => {
  const found = await labels('7306');
  t.true(found.length > 0 && found.every((label) => label.startsWith('7306')));
  for (const text of ['00000', 'xyzzy', '  ']) t.deepEqual(await labels(text), []);
});
