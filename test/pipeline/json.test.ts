import test from 'ava';
import { BadInput } from '../../pipeline/error.ts';
import { parseJson } from '../../pipeline/json.ts';

const BOUNDS = { max_bytes: 60, max_containers: 3, max_values: 4, max_depth: 2 };
const parse = (text: string) => parseJson(Buffer.from(text), 'x.json', BOUNDS);

test('json within its bounds becomes a value', (t) => {
  t.deepEqual(parse('{"a":[1,2],"b":["é"]}'), { a: [1, 2], b: ['é'] });
});

test('brackets, commas and escaped quotes inside text do not count', (t) => {
  t.deepEqual(parse(String.raw`["[[[[{{{{,,,,\"[[[[,,,,\\"]`), ['[[[[{{{{,,,,"[[[[,,,,\\']);
});

for (const [title, text, reason] of [
  ['too many bytes', `"${'a'.repeat(59)}"`, /json of more than 60 bytes/],
  ['too many arrays and objects', '[[],{},[]]', /json of more than 3 arrays and objects/],
  ['too many values', '[1,2,3,4,5]', /json of more than 4 values/],
  ['too many levels', '[[[1]]]', /json of more than 2 levels/],
  ['no json at all', 'hail', /not json, expected a json file of the feed/],
] as const)
  test(`${title}: refused by name`, (t) => {
    const error = t.throws(() => parse(text), { instanceOf: BadInput });
    t.true(error.message.startsWith('read x.json: '));
    t.regex(error.message, reason);
  });
