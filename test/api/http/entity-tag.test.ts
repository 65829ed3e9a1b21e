import test from 'ava';
import { entityTag, matches, namesTag } from '../../../api/http/entity-tag.ts';

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
  const tag = (route: string, query: object, content: string) => entityTag(route, { params: null, query }, content);
  const usual = tag('/v1/storms', { lat: 35, lon: -97 }, 'v1');
  t.is(tag('/v1/storms', { lon: -97, lat: 35 }, 'v1'), usual);
  t.not(tag('/v1/events', { lat: 35, lon: -97 }, 'v1'), usual);
  t.not(tag('/v1/storms', { lat: 35.1, lon: -97 }, 'v1'), usual);
  t.not(tag('/v1/storms', { lat: 35, lon: -97 }, 'v2'), usual);
  t.regex(usual, /^W\/"[\w-]{27}"$/);
});

for (const [list, etag, strongly, weakly] of [
  ['"abc"', '"abc"', true, true],
  ['W/"abc"', '"abc"', false, true],
  ['"abc"', 'W/"abc"', false, true],
  ['w/"abc"', '"abc"', false, false],
  ['w/"abc"', 'W/"abc"', false, false],
  ['"x", "abc"', '"abc"', true, true],
  ['"x" ,\tW/"abc",', '"abc"', false, true],
  ['"x", w/"abc"', '"abc"', false, false],
  ['"y,"', '"y"', false, false],
  ['abc', '"abc"', false, false],
  ['', '"abc"', false, false],
  [' * ', '"abc"', true, true],
] as const)
  test(`'${list}' ${strongly ? 'names' : weakly ? 'names, weakly compared,' : 'does not name'} ${etag}`, (t) => {
    t.is(namesTag(list, etag, 'strongly'), strongly);
    t.is(namesTag(list, etag, 'weakly'), weakly);
  });
