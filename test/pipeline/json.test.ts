import test from 'ava';
import { BadInput } from '../../pipeline/error.ts';
import { parseJson } from '../../pipeline/json.ts';

const parse = (text: string) => parseJson(Buffer.from(text), 'x.json');

test('json within its bounds becomes a value', (t) => {
  t.deepEqual(parse('{"a":[1,2],"b":["é"]}'), { a: [1, 2], b: ['é'] });
});

test('brackets, commas and escaped quotes inside text do not count', (t) => {
  t.deepEqual(parse(String.raw`["[[[[{{{{,,,,\"[[[[,,,,\\"]`), ['[[[[{{{{,,,,"[[[[,,,,\\']);
});

for (const [title, text, reason] of [
  ['too many bytes', `"${'a'.repeat(2 ** 25)}"`, /json of more than 33554432 bytes/],
  ['too many arrays and objects', `[${'[],{},'.repeat(300_000)}1]`, /json of more than 600000 arrays and objects/],
  ['too many values', `[${'1,'.repeat(2_000_000)}1]`, /json of more than 2000000 values/],
  ['too many levels', '['.repeat(33), /json of more than 32 levels/],
  ['no json at all', 'hail', /not json, expected a json file of the feed/],
] as const)
  test(`${title}: refused by name`, (t) => {
    const error = t.throws(() => parse(text), { instanceOf: BadInput });
    t.true(error.message.startsWith('read x.json: '));
    t.regex(error.message, reason);
  });
