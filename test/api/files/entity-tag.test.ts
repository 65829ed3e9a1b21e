import test from 'ava';
import { namesTag } from '../../../api/files/entity-tag.ts';

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
