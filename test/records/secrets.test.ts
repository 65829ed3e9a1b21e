import { createHash, randomBytes } from 'node:crypto';
import { chmodSync, existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import test, { type ExecutionContext } from 'ava';
import { newKeyText, parseKeyText, withoutSecrets } from '../../api/accounts/keyring.ts';
import { isScope } from '../../api/accounts/keys.ts';
import { effectiveCap } from '../../api/accounts/plans.ts';
import { openRecords, type Records } from '../../api/billing/records.ts';
import { isEncrypted, masterKeyPath, openSecrets, secretsUnder } from '../../api/records/secrets.ts';
import { newId, PATH_ID } from '../../schemas/ids.ts';
import { scratch } from '../support/data/world.ts';

const now = () => Date.parse('2026-05-02T00:12:00Z');
const SECRET = 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oDuSKQkQ5mb3Y=';

/** Records of a root of their own, and a way to open their secrets. */
async function opened(t: ExecutionContext) {
  const records_root = await scratch(t);
  const records = await openRecords({ data_root: records_root, database_url: null, now });
  t.teardown(records.close);
  const open = (master_keys: readonly Buffer[] | null = null) =>
    openSecrets(records.store, { records_root, master_keys, now });
  return { records, path: masterKeyPath(records_root), open };
}

/** An idempotency record is the least that holds something encrypted. */
async function keep(records: Records, body: string): Promise<void> {
  const row = { business_id: 'biz_1', route: 'POST /', fingerprint: '', status: 200, type: 'application/json' };
  await records.transaction((rows) =>
    rows
      .insertInto('idempotency')
      .values({ ...row, created_at: '2026-05-02', key: body, body })
      .execute(),
  );
}

test('the first start makes a key file that its owner alone reads, and later ones use it', async (t) => {
  const { path, open } = await opened(t);
  const stored = (await open()).encrypt(SECRET);
  t.is(statSync(path).mode & 0o777, 0o600);
  t.regex(readFileSync(path, 'utf8'), /^[0-9a-f]{64}\n$/);
  t.is((await open()).decrypt(stored), SECRET);
});

test('what is stored tells neither the secret nor that it is the same as another', async (t) => {
  const { encrypt } = secretsUnder([randomBytes(32)]);
  const [one, two] = [encrypt(SECRET), encrypt(SECRET)];
  t.true(isEncrypted(one));
  t.not(one, two);
  t.false(one.includes('C2FVs'));
  t.false(isEncrypted('{"secret":"v1."}'));
});

test('a stored secret that was changed is not decrypted', (t) => {
  const { encrypt, decrypt } = secretsUnder([randomBytes(32)]);
  const stored = encrypt(SECRET);
  const at = stored.length - 3;
  t.throws(() => decrypt(stored.slice(0, at) + (stored[at] === 'A' ? 'B' : 'A') + stored.slice(at + 1)));
});

test('a key file that others may read refuses the start', async (t) => {
  const { path, open } = await opened(t);
  await open();
  chmodSync(path, 0o640);
  await t.throwsAsync(open(), { name: 'MasterKeyError', message: `${path} is 640, expected 600` });
});

test('a malformed key file refuses the start, and its text is not repeated', async (t) => {
  const { path, open } = await opened(t);
  await open();
  writeFileSync(path, 'not-a-key\n');
  const error = await t.throwsAsync(open(), { name: 'MasterKeyError', message: /is malformed/ });
  t.false(error?.message.includes('not-a-key'));
});

test('records without their key file refuse the start, and no other key is made', async (t) => {
  const { path, open } = await opened(t);
  await open();
  rmSync(path);
  await t.throwsAsync(open(), { name: 'MasterKeyError', message: /no such file, expected the master key/ });
  t.false(existsSync(path));
});

test('records that were written under another key refuse the start', async (t) => {
  const { open } = await opened(t);
  await open();
  await t.throwsAsync(open([randomBytes(32)]), {
    name: 'MasterKeyError',
    message: /expected [0-9a-f]{12}, which wrote/,
  });
});

test('with a new key before the old one, what is stored is encrypted anew, and the old one is needed no more', async (t) => {
  const { records, open } = await opened(t);
  const [old, fresh] = [randomBytes(32), randomBytes(32)];
  const { encrypt } = await open([old]);
  await keep(records, encrypt(SECRET));
  await keep(records, '{"plain":true}');
  await open([fresh, old]);
  const { decrypt } = await open([fresh]);
  const stored = await records.reader.selectFrom('idempotency').select('body').execute();
  t.deepEqual(stored.map(({ body }) => (isEncrypted(body) ? decrypt(body) : body)).sort(), [SECRET, '{"plain":true}']);
  await t.throwsAsync(open([old]), { name: 'MasterKeyError' });
});

test('a key is prefix, public id of 8, secret of 32 and checksum of 6 characters; its digest is SHA-256 of all of it', (t) => {
  const { text, public_id, digest } = newKeyText('live');
  t.regex(text, /^hs_live_[0-9A-Za-z]{46}$/);
  t.is(text.slice(8, 16), public_id);
  t.is(digest, createHash('sha256').update(text).digest('hex'));
  t.deepEqual(parseKeyText(text), { kind: 'live', public_id });
  t.regex(newKeyText('test').text, /^hs_test_/);
});

test('a test key of the earlier variant begins with test_, a live one like any other', (t) => {
  const { text, public_id } = newKeyText('test', 'legacy');
  t.regex(text, /^test_[0-9A-Za-z]{46}$/);
  t.deepEqual(parseKeyText(text), { kind: 'test', public_id });
  t.is(parseKeyText(`hs_${text}`), null);
  t.regex(newKeyText('live', 'legacy').text, /^hs_live_/);
});

test('the secret of a key of any kind is left out of other text', (t) => {
  for (const [kind, variant] of [
    ['live', 'current'],
    ['test', 'current'],
    ['test', 'legacy'],
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
