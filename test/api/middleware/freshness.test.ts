import test from 'ava';
import { entityTag, matches } from '../../../api/middleware/freshness.ts';

const TAG = 'W/"abc"';

for (const [header, matched] of [
  [undefined, false],
  ['W/"abc"', true],
  ['"abc"', true],
  ['*', true],
  [' * ', true],
  ['"x", W/"abc" , "y"', true],
  ['w/"abc"', false],
  ['"x", w/"abc"', false],
  ['"x"', false],
  ['W/"abcd"', false],
  ['abc', false],
  ['', false],
] as const)
  test(`If-None-Match ${header === undefined ? 'absent' : `'${header}'`} ${matched ? 'names' : 'does not name'} ${TAG}`, (t) =>
    t.is(matches(header, TAG), matched));

test('a tag changes with the route, each parameter and the content, and with nothing else', (t) => {
  const tag = (route: string, query: object, content: string) =>
    entityTag(route, { params: null, query, body: null }, content);
  const usual = tag('/v1/storms', { lat: 35, lon: -97 }, 'v1');
  t.is(tag('/v1/storms', { lon: -97, lat: 35 }, 'v1'), usual);
  t.not(tag('/v1/events', { lat: 35, lon: -97 }, 'v1'), usual);
  t.not(tag('/v1/storms', { lat: 35.1, lon: -97 }, 'v1'), usual);
  t.not(tag('/v1/storms', { lat: 35, lon: -97 }, 'v2'), usual);
  t.regex(usual, /^W\/"[\w-]{27}"$/);
});
