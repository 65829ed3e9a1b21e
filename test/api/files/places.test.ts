import test from 'ava';
import { placeFiles, placesEdition } from '../../../api/files/place-files.ts';
import { findablePlaces, findableZips } from '../../../api/files/places.ts';

const isNear = (t: { true(value: boolean, message?: string): void }, found: number | undefined, wanted: number) =>
  t.true(Math.abs((found ?? Number.NaN) - wanted) < 0.05, `${found}, expected ${wanted}`);

test('towns are found with their state and place, the largest first', (t) => {
  const { towns } = findablePlaces();
  t.is(towns[0]?.[0], 'New York City');
  const norman = towns.find(([name, state]) => name === 'Norman' && state === 'OK');
  isNear(t, norman?.[2], 35.22);
  isNear(t, norman?.[3], -97.44);
});

test('counties have the word that their state uses, and lie in it; cities without a county are towns only', (t) => {
  const { counties } = findablePlaces();
  const called = (name: string) => counties.filter(([county]) => county === name);
  const cleveland = called('Cleveland County').find(([, state]) => state === 'OK');
  isNear(t, cleveland?.[2], 35.2);
  isNear(t, cleveland?.[3], -97.41);
  t.is(called('Orleans Parish').length, 1);
  t.deepEqual(
    called('Fairfax County').map(([, state]) => state),
    ['VA'],
  );
  t.true(counties.length > 3000);
});

test('a state is known by its name, in letters as people write it', (t) => {
  const { states } = findablePlaces();
  t.is(states.Oklahoma, 'OK');
  t.is(states['District of Columbia'], 'DC');
  t.is(Object.keys(states).length, 51);
});

test('every ZIP code has a place and a town', (t) => {
  const zips = findableZips();
  const [, town, state, lat, lon] = zips.find(([zip]) => zip === '73069') ?? [];
  t.deepEqual([town, state], ['Norman', 'OK']);
  isNear(t, lat, 35.22);
  isNear(t, lon, -97.45);
  t.true(zips.length > 40_000);
  t.true(
    zips.every(([zip, , , at, to]) => /^\d{5}$/.test(zip) && Math.abs(at) <= 90 && Math.abs(to) <= 180 && at !== 0),
  );
});

test('the files are made once from packages that their edition names', async (t) => {
  const files = await placeFiles();
  t.is(await placeFiles(), files);
  t.deepEqual(JSON.parse(files.places).towns.length, findablePlaces().towns.length);
  t.is(JSON.parse(files.zips).length, findableZips().length);
  t.regex(await placesEdition(), /zipcodes 8\.0\.0/);
});
