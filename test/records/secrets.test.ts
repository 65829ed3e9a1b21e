import { randomBytes } from 'node:crypto';
import { chmodSync, existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import test, { type ExecutionContext } from 'ava';
import { openRecords } from '../../api/records/open.ts';
import type { Records } from '../../api/records/records.ts';
import { isEncrypted, masterKeyPath, openSecrets, secretsUnder } from '../../api/records/secrets.ts';
import { scratch } from '../support/data/world.ts';

const now = () => Date.parse('2026-05-02T00:12:00Z');
const SECRET = 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oDuSKQkQ5mb3Y=';

/** Records of a root of their own, and a way to open their secrets. */
async function opened(t: ExecutionContext) {
  const records_root = await scratch(t);
  const records = await openRecords({ data_root: records_root, database_url: null, now });
  t.teardown(records.close);
  const open = (master_keys: readonly Buffer[] | null = null) =>
    openSecrets(records, { records_root, master_keys, now });
  return { records, path: masterKeyPath(records_root), open };
}

/** An idempotency record is the least that holds something encrypted. */
async function keep(records: Records, body: string): Promise<void> {
  const row = { business_id: 'biz_1', route: 'POST /', fingerprint: '', owner: '', lease_until_ms: 0 };
  const done = { state: 'done', status: 200, type: 'application/json', created_at: '2026-05-02' } as const;
  await records.transaction((rows) =>
    rows
      .insertInto('idempotency')
      .values({ ...row, ...done, key: body, token: body, body })
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

test('a restored copy whose secrets are under another key refuses the start', async (t) => {
  const { records, path, open } = await opened(t);
  await keep(records, secretsUnder([randomBytes(32)]).encrypt(SECRET));
  await t.throwsAsync(open(), { name: 'MasterKeyError', message: /no such file/ });
  t.false(existsSync(path));
  await t.throwsAsync(open([randomBytes(32)]), { name: 'MasterKeyError', message: /a body of idempotency is under/ });
});

test('with a new key before the old one, what is stored is encrypted anew, and the old one is needed no more', async (t) => {
  const { records, open } = await opened(t);
  const [old, fresh] = [randomBytes(32), randomBytes(32)];
  const { encrypt } = await open([old]);
  await keep(records, encrypt(SECRET));
  await keep(records, '{"plain":true}');
  await open([fresh, old]);
  const { decrypt } = await open([fresh]);
  const stored = await records.reader.selectFrom('idempotency').select('body').orderBy('token').execute();
  t.deepEqual(stored.map(({ body }) => (isEncrypted(body ?? '') ? decrypt(body ?? '') : body)).sort(), [
    SECRET,
    '{"plain":true}',
  ]);
  await t.throwsAsync(open([old]), { name: 'MasterKeyError' });
});
