import { createHash } from 'node:crypto';
import test from 'ava';
import { newKeyText, parseKeyText, withoutSecrets } from '../../api/records/key-text.ts';
import { effectiveCap } from '../../api/records/plans.ts';
import { isScope } from '../../api/records/scopes.ts';
import { newId, PATH_ID } from '../../schemas/ids.ts';

test('a key is prefix, public id of 8, secret of 32 and checksum of 6 characters; its digest is SHA-256 of all of it', (t) => {
  const { text, public_id, digest } = newKeyText('live');
  t.regex(text, /^hs_live_[0-9A-Za-z]{46}$/);
  t.is(text.slice(8, 16), public_id);
  t.is(digest, createHash('sha256').update(text).digest('hex'));
  t.deepEqual(parseKeyText(text), { kind: 'live', public_id });
  t.regex(newKeyText('test').text, /^hs_test_/);
});

test('a test key of the earlier variant begins with test_, a live one like any other', (t) => {
  const { text, public_id } = newKeyText('test', 'earlier');
  t.regex(text, /^test_[0-9A-Za-z]{46}$/);
  t.deepEqual(parseKeyText(text), { kind: 'test', public_id });
  t.is(parseKeyText(`hs_${text}`), null);
  t.regex(newKeyText('live', 'earlier').text, /^hs_live_/);
});

test('the secret of a key of any kind is left out of other text', (t) => {
  for (const [kind, variant] of [
    ['live', 'current'],
    ['test', 'current'],
    ['test', 'earlier'],
  ] as const) {
    const { text, public_id } = newKeyText(kind, variant);
    const shown = withoutSecrets(`lat is '${text}', expected a number`);
    t.is(shown, `lat is '${text.slice(0, text.indexOf(public_id))}${public_id}…', expected a number`);
  }
});

test('a thousand keys have a thousand public ids and secrets, of every character', (t) => {
  const keys = Array.from({ length: 1000 }, () => newKeyText('live').text);
  t.is(new Set(keys.map((key) => key.slice(8, 16))).size, 1000);
  t.is(new Set(keys.map((key) => key.slice(16, 48))).size, 1000);
  t.is(new Set(keys.flatMap((key) => [...key.slice(16, 48)])).size, 62);
});

test('any single changed character makes a key malformed', (t) => {
  const { text } = newKeyText('live');
  for (let k = 0; k < text.length; k++) {
    const changed = text.slice(0, k) + (text[k] === 'a' ? 'b' : 'a') + text.slice(k + 1);
    t.is(parseKeyText(changed), null, changed);
  }
});

for (const [monthly_limit, spend_cap, overage_policy, cap] of [
  [null, null, 'allow', null],
  [null, null, 'block', null],
  [100, null, 'allow', null],
  [100, null, 'block', 100],
  [100, 50, 'allow', 50],
  [100, 50, 'block', 50],
  [50, 100, 'allow', 100],
  [50, 100, 'block', 50],
  [null, 100, 'block', 100],
  [0, null, 'block', 0],
] as const)
  test(`limit ${monthly_limit}, spend cap ${spend_cap}, overage ${overage_policy}: effective cap ${cap}`, (t) => {
    t.is(effectiveCap({ monthly_limit, spend_cap, overage_policy }), cap);
  });

for (const [scope, known] of [
  ['*', true],
  ['hail:read', true],
  ['portfolio:*', true],
  ['portfolio:write', true],
  ['hail:write', false],
  ['hail', false],
  ['hail:read:x', false],
  ['constructor:*', false],
  ['*:read', false],
  ['', false],
] as const)
  test(`'${scope}' is ${known ? 'a' : 'no'} scope`, (t) => t.is(isScope(scope), known));

const isPathId = (text: string) => new RegExp(`^${PATH_ID}$`).test(text);

test('ids carry their kind, ascend within a millisecond, and may stand in a path', (t) => {
  const ids = Array.from({ length: 1000 }, () => newId('location', 1_700_000_000_000));
  t.deepEqual(ids, ids.toSorted());
  t.is(new Set(ids).size, 1000);
  t.true(ids.every((id) => /^loc_[0-9A-HJKMNP-TV-Z]{26}$/.test(id) && isPathId(id)));
  for (const text of ['', 'a b', 'é', 'a/b', 'a'.repeat(65), "'; drop"]) t.false(isPathId(text), text);
});
