import test from 'ava';
import { openRecords } from '../../../api/records/open.ts';
import { MS_PER_DAY } from '../../../schemas/time.ts';
import { operator } from '../../support/service/run-command.ts';

test.serial('a key is printed once, and never again by any command', async (t) => {
  const { json, run } = operator(t);
  await run('business', 'create', 'acme');
  const { out } = await run(
    'key',
    'create',
    'acme',
    '--live',
    '--name',
    'dashboard',
    '--scopes',
    'hail:read,portfolio:*',
  );
  t.regex(out, /^hs_live_[0-9A-Za-z]{46}\n$/);
  const secret = out.trim().slice(16);
  for (const args of [
    ['key', 'list', 'acme'],
    ['business', 'show', 'acme'],
    ['business', 'audit'],
  ]) {
    t.false(JSON.stringify(await json(...args)).includes(secret));
    t.false((await run(...args)).out.includes(secret));
  }
  t.like(await json('key', 'list', 'acme'), {
    keys: [
      { name: 'dashboard', kind: 'live', status: 'active', scopes: ['hail:read', 'portfolio:*'], last_used_at: null },
    ],
  });
});

test.serial('a key may have a cap of its own, which its rotation keeps; none takes it away', async (t) => {
  const { json, run } = operator(t);
  await run('business', 'create', 'acme');
  const { id, public_id } = await json('key', 'create', 'acme', '--live');
  t.is(
    (await run('key', 'limit', String(id), '--cap', '5000')).out,
    `Key ${public_id} now has a cap of 5,000 credits a month.\n`,
  );
  t.like(await json('key', 'limit', String(public_id), '--cap', '5000'), { changed: false, monthly_cap: 5000 });
  const rotated = await json('key', 'rotate', String(id));
  t.like(await json('key', 'list', 'acme'), {
    keys: [
      { id, monthly_cap: 5000 },
      { id: rotated.id, monthly_cap: 5000 },
    ],
  });
  t.like(await json('key', 'limit', String(rotated.id), '--cap', 'none'), { changed: true, monthly_cap: null });
  t.like(await json('key', 'list', 'acme'), { keys: [{ monthly_cap: null }, { monthly_cap: null }] });
  const { acts } = await json('business', 'audit', 'acme');
  t.like((acts as object[]).at(-1), { act: 'key.limit', subject: rotated.id, detail: { before: 5000, after: null } });
  t.is((await run('key', 'limit', 'nobody', '--cap', '1')).code, 3);
  t.is((await run('key', 'limit', String(id), '--cap', '-1')).code, 2);
});

test.serial('rotation refuses a grace of more than a year', async (t) => {
  const { run } = operator(t);
  t.regex((await run('key', 'rotate', 'any', '--grace', '366d')).err, /Found '366d', expected at most 365d/);
});

test.serial('rotation prints the new key and ends the old one after the grace', async (t) => {
  const { json, run, config } = operator(t);
  await run('business', 'create', 'acme');
  const old = await json('key', 'create', 'acme', '--live');
  const rotated = await json('key', 'rotate', String(old.public_id), '--grace', '2d');
  t.like(rotated, { status: 'active', old_key: { status: 'rotating', expires_at: '2026-05-22T12:00:00.000Z' } });
  const records = await openRecords(config);
  const opens = async (key: unknown, now_ms: number) => (await records.authenticate(String(key), now_ms)) !== null;
  t.true(await opens(old.key, config.now_ms + 2 * MS_PER_DAY - 1));
  t.false(await opens(old.key, config.now_ms + 2 * MS_PER_DAY));
  t.true(await opens(rotated.key, config.now_ms + 2 * MS_PER_DAY));
  await records.close();
  t.like(await run('key', 'rotate', String(old.id)), {
    code: 4,
    err: `hail-api: key ${old.id}: is rotating, expected active\n`,
  });
});

test.serial('grace 0 ends a leaked key at once, and the grace is 30 days when left out', async (t) => {
  const { json, run } = operator(t);
  await run('business', 'create', 'acme');
  const leaked = await json('key', 'create', 'acme', '--live');
  t.like(await json('key', 'rotate', String(leaked.id), '--grace', '0'), { old_key: { status: 'expired' } });
  const other = await json('key', 'create', 'acme', '--live');
  t.like(await json('key', 'rotate', String(other.id)), { old_key: { expires_at: '2026-06-19T12:00:00.000Z' } });
});

test.serial('a revoked key is listed as such; revoking it again changes nothing', async (t) => {
  const { json, run } = operator(t);
  await run('business', 'create', 'acme');
  const { id } = await json('key', 'create', 'acme', '--test');
  t.like(await json('key', 'revoke', String(id)), { status: 'revoked', changed: true });
  t.like(await json('key', 'revoke', String(id)), { changed: false });
  t.is((await run('key', 'rotate', String(id))).code, 4);
});

test.serial('a key needs one kind, known scopes and an end to come', async (t) => {
  const { run } = operator(t);
  await run('business', 'create', 'acme');
  for (const wrong of [
    [],
    ['--live', '--test'],
    ['--live', '--scopes', 'hail:write'],
    ['--live', '--scopes', 'hats:read'],
    ['--live', '--scopes', 'hail:read,'],
    ['--live', '--scopes', 'hail:read:more'],
    ['--live', '--expires', '2026-05-20'],
    ['--live', '--expires', '2026-02-30'],
    ['--live', '--expires', 'soon'],
  ])
    t.is((await run('key', 'create', 'acme', ...wrong)).code, 2, wrong.join(' '));
  t.is((await run('key', 'revoke', 'key_none')).code, 3);
  t.is((await run('key', 'create', 'nobody', '--live')).code, 3);
});

test.serial('a key of the earlier variant stays one when it is rotated, and is listed as such', async (t) => {
  const { json, run, config } = operator(t);
  await run('business', 'create', 'acme');
  const old = await json('key', 'create', 'acme', '--test', '--variant', 'legacy');
  t.regex(String(old.key), /^test_/);
  t.like(old, { kind: 'test', variant: 'legacy' });
  const rotated = await json('key', 'rotate', String(old.id));
  t.regex(String(rotated.key), /^test_/);
  t.like(rotated, { variant: 'legacy', old_key: { variant: 'legacy' } });
  await json('key', 'create', 'acme', '--live');
  const { keys } = await json('key', 'list', 'acme');
  t.deepEqual(
    (keys as { variant: string }[]).map(({ variant }) => variant),
    ['legacy', 'legacy', 'current'],
  );
  t.regex((await run('key', 'list', 'acme')).out, /variant/);
  const records = await openRecords(config);
  for (const { key } of [old, rotated])
    t.like(await records.authenticate(String(key), config.now_ms), { kind: 'test', variant: 'earlier' });
  await records.close();
});

test.serial('a variant that nobody knows is a usage error', async (t) => {
  const { run } = operator(t);
  await run('business', 'create', 'acme');
  const { code, err } = await run('key', 'create', 'acme', '--live', '--variant', 'old');
  t.is(code, 2);
  t.regex(err, /current, legacy/);
});
