import test from 'ava';
import { usTowns } from '../../../api/files/towns.ts';

const called = (name: string, state: string) => usTowns().filter((town) => town.name === name && town.state === state);

test('towns of the United States come largest first, with their state and place', (t) => {
  t.is(usTowns()[0]?.name, 'New York City');
  const [norman, ...others] = called('Norman', 'OK');
  t.deepEqual(others, []);
  t.true(Math.abs((norman?.lat ?? 0) - 35.22) < 0.02 && Math.abs((norman?.lon ?? 0) + 97.44) < 0.02);
  t.true((norman?.population ?? 0) > 100_000);
  t.true(usTowns().length > 16_000);
  t.true(
    usTowns().every(({ population }, i, all) => population > 0 && population <= (all[i - 1]?.population ?? population)),
  );
});

test('quarters of a city and places that are no more are no towns', (t) => {
  t.deepEqual(called('Hollywood', 'CA'), []);
  t.deepEqual(
    usTowns().filter(({ name }) => name.includes('historical')),
    [],
  );
});

test('a name has no remark of the census and no state at its end', (t) => {
  t.is(called('Washington', 'DC').length, 1);
  t.is(called('Middlebury', 'VT').length, 1);
  t.deepEqual(
    usTowns()
      .filter(({ name }) => /[(),]/.test(name))
      .map(({ name }) => name),
    [],
  );
});
