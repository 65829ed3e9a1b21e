import { existsSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import test from 'ava';
import { openRecords, type Records } from '../../../api/billing/records.ts';
import { MS_PER_DAY } from '../../../schemas/time.ts';
import { type Operator, operator } from '../../support/service/run-command.ts';

test.serial('a business is made, listed, shown, suspended and resumed', async (t) => {
  const { json, run } = operator(t);
  const made = await json('business', 'create', 'acme');
  t.regex(String(made.id), /^biz_/);
  t.like(await json('business', 'list'), { businesses: [{ name: 'acme', status: 'active' }] });
  t.like(await json('business', 'show', String(made.id)), {
    name: 'acme',
    plan: { name: 'self-hosted' },
    members: [],
    keys: [],
  });
  t.like(await json('business', 'suspend', 'acme'), { status: 'suspended', changed: true });
  t.like(await json('business', 'suspend', 'acme'), { changed: false });
  t.like(await json('business', 'resume', 'acme'), { status: 'active', changed: true });
  t.regex((await run('business', 'list')).out, /^id +name +status +created_at\nbiz_\S+ +acme +active/);
});

test.serial('a name that is taken is a conflict, an unknown business is not found', async (t) => {
  const { run } = operator(t);
  await run('business', 'create', 'acme');
  t.like(await run('business', 'create', 'acme'), {
    code: 4,
    err: 'hail-api: business acme: exists, expected a new name\n',
  });
  for (const name of ['', 'a\nb', 'x'.repeat(101)]) t.is((await run('business', 'create', name)).code, 2);
  t.like(await run('business', 'show', 'other'), { code: 3, err: 'hail-api: business other: does not exist\n' });
});

test.serial('without records every command but those that make them says so', async (t) => {
  const { run } = operator(t);
  const { code, err } = await run('business', 'list');
  t.is(code, 3);
  t.regex(err, /hail\.sqlite: no such file/);
  t.is((await run('business', 'create', 'acme')).code, 0);
});

test.serial('delete insists on --purge, and leaves nothing but the audit log', async (t) => {
  const { json, run, config } = operator(t);
  const { id } = await json('business', 'create', 'acme');
  await json('key', 'create', 'acme', '--live');
  t.is((await run('business', 'delete', 'acme')).code, 2);
  t.like(await json('business', 'delete', 'acme', '--purge'), { deleted: true });
  const { acts } = await json('business', 'audit', String(id));
  t.deepEqual(
    (acts as { act: string }[]).map(({ act }) => act),
    ['business.create', 'key.create', 'business.purge'],
  );
  const records = await openRecords(config);
  t.deepEqual(await records.reader.selectFrom('keys').selectAll().execute(), []);
  await records.close();
});

test.serial('members are added, change role, and are removed; addresses do not mind case', async (t) => {
  const { json, run } = operator(t);
  await run('business', 'create', 'acme');
  t.like(await json('member', 'add', 'acme', 'Ops@Example.com', '--role', 'admin'), { changed: true });
  t.like(await json('member', 'add', 'acme', 'ops@example.com', '--role', 'manager'), { changed: true });
  t.like(await json('member', 'list', 'acme'), { members: [{ email: 'ops@example.com', role: 'manager' }] });
  t.like(await json('member', 'remove', 'acme', 'OPS@example.com'), { removed: true });
  t.is((await run('member', 'remove', 'acme', 'ops@example.com')).code, 3);
  t.is((await run('member', 'add', 'acme', 'ops@example.com\r\nBcc: x@example.com')).code, 2);
  t.is((await run('member', 'add', 'acme', 'ops@example.com', '--role', 'owner')).code, 2);
});

test.serial('a plan changes in what is named and keeps the rest', async (t) => {
  const { json, run } = operator(t);
  await run('business', 'create', 'acme');
  const asked =
    'plan set acme --limit 1000 --cap 500 --overage block --rate 600 --feature exports --quota locations=20000 --quota webhooks=0';
  const set = await json(...asked.split(' '));
  t.like(set, {
    changed: true,
    plan: {
      name: 'self-hosted',
      monthly_limit: 1000,
      spend_cap: 500,
      overage_policy: 'block',
      rate_per_minute: 600,
      features: ['exports'],
      quotas: { locations: 20_000, webhooks: 0, subscriptions: 100 },
    },
  });
  t.like(await json('plan', 'set', 'acme', '--cap', 'none'), { plan: { spend_cap: null, monthly_limit: 1000 } });
  t.like(await json('plan', 'set', 'acme', '--cap', 'none'), { changed: false });
  t.like(await json('plan', 'show', 'acme'), { monthly_limit: 1000, features: ['exports'] });
  for (const wrong of [
    ['--limit', '-1'],
    ['--limit', '1.5'],
    ['--rate', '0'],
    ['--quota', 'hats=3'],
    ['--quota', 'locations=none'],
    ['--plan', 'gold'],
    ['--feature', 'all'],
    [],
  ])
    t.is((await run('plan', 'set', 'acme', ...wrong)).code, 2, wrong.join(' '));
});

test.serial('plans of the earlier variant bound requests and webhooks and leave credits alone', async (t) => {
  const { json, run, path } = operator(t);
  await run('business', 'create', 'acme');
  await run('plan', 'set', 'acme', '--limit', '700', '--feature', 'none');
  for (const [name, rate_per_minute, requests_per_day, webhooks] of [
    ['free', 10, 1_000, 1],
    ['pro', 60, 10_000, 10],
    ['business', 300, 100_000, 100],
  ] as const) {
    const plan = { name, monthly_limit: 700, rate_per_minute, features: ['real_time_delivery'] };
    const quotas = { requests_per_day, webhooks, subscriptions: 100 };
    t.like(await json('plan', 'set', 'acme', '--plan', name), { changed: true, plan: { ...plan, quotas } });
    writeFileSync(path('seed.yaml'), `businesses: [{ name: ${name}, plan: ${name} }]`);
    await json('seed', 'apply', path('seed.yaml'));
    t.like(await json('plan', 'show', name), { name, rate_per_minute, quotas });
    t.like(await json('seed', 'apply', path('seed.yaml')), { changes: [] });
  }
  t.regex((await run('plan', 'show', 'acme')).out, /^quotas\.requests_per_day: 100000$/m);
  await run('plan', 'set', 'acme', '--quota', 'requests_per_day=none');
  t.like(await json('plan', 'show', 'acme'), { quotas: { requests_per_day: null, webhooks: 100 } });
});

test.serial('a key is printed once, and never again by any command', async (t) => {
  const { json, run } = operator(t);
  await run('business', 'create', 'acme');
  const { out } = await run(...'key create acme --live --name dashboard --scopes hail:read,portfolio:*'.split(' '));
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
  t.regex((await run('key', 'limit', String(id), '--cap', '5000')).out, /^monthly_cap: 5000\nchanged: true$/m);
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

test.serial(
  'rotation prints the new key and ends the old one after the grace: 30 days when left out, at once with 0',
  async (t) => {
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
    const { id } = rotated;
    const leaked = await json('key', 'rotate', String(id), '--grace', '0');
    t.like(leaked, { old_key: { status: 'expired' } });
    t.like(await json('key', 'rotate', String(leaked.id)), { old_key: { expires_at: '2026-06-19T12:00:00.000Z' } });
  },
);

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
    t.like(await records.authenticate(String(key), config.now_ms), { kind: 'test', variant: 'legacy' });
  await records.close();
});

/** A business with a key and one charge of 15 credits. */
async function charged({ json, config }: Operator): Promise<void> {
  await json('business', 'create', 'acme');
  const { business_id, id } = await json('key', 'create', 'acme', '--live');
  await within(config, (records) =>
    records.charge({
      request_id: 'req_1',
      business_id: String(business_id),
      key_id: String(id),
      operation: 'hail.current',
      credits: 15,
      count: 1,
      at_ms: config.now_ms,
    }),
  );
}

async function within<T>(config: Operator['config'], work: (records: Records) => Promise<T>): Promise<T> {
  const records = await openRecords(config);
  try {
    return await work(records);
  } finally {
    await records.close();
  }
}

test.serial('usage shows a month, and an adjustment with its reason', async (t) => {
  const it = operator(t);
  await charged(it);
  t.like(await it.json('usage', 'show', 'acme'), { period: '2026-05', used: 15, total_requests: 1 });
  const { code, out } = await it.run('usage', 'adjust', 'acme', '--reason', 'outage', '--', '-5');
  t.deepEqual([code, out], [0, 'credits: -5\nreason: outage\nused: 10\n']);
  t.like(await it.json('usage', 'show', 'acme', '--period', '2026-04'), { used: 0 });
  const { acts } = await it.json('business', 'audit', 'acme');
  t.like((acts as object[]).at(-1), {
    act: 'usage.adjust',
    detail: { credits: -5, reason: 'outage', period: '2026-05' },
  });
  t.is((await it.run('usage', 'adjust', 'acme', '5')).code, 2);
  t.like(await it.run('usage', 'adjust', 'acme', '--reason', 'half', '1.5'), {
    code: 2,
    err: "hail-api: Found '1.5', expected a whole number from -1000000000 to 1000000000.\n",
  });
  t.is((await it.run('usage', 'adjust', 'acme', '0', '--reason', 'none')).code, 2);
  t.is((await it.run('usage', 'show', 'acme', '--period', '2026-13')).code, 2);
});

test.serial('verify and doctor end with 5 when somebody changed a sum, and name it', async (t) => {
  const it = operator(t);
  await charged(it);
  t.is((await it.run('usage', 'verify')).code, 0);
  t.is((await it.run('doctor')).code, 0);
  await within(it.config, (records) =>
    records.transaction((rows) => rows.updateTable('periods').set({ used: 14 }).execute()),
  );
  const verified = await it.run('usage', 'verify');
  t.is(verified.code, 5);
  t.regex(verified.out, /2026-05: used says 14, the ledger 15/);
  const doctor = await it.run('doctor');
  t.is(doctor.code, 5);
  t.regex(doctor.out, /^fault {2}ledger: /m);
});

const SEED = `
plans:
  pro: { monthly_limit: 100000, overage_policy: block, features: [exports], quotas: { locations: 20000 } }
businesses:
  - name: acme
    plan: pro
    members: [{ email: ops@example.com, role: admin }]
    keys:
      - { name: dashboard, kind: live, scopes: ['hail:read', 'portfolio:*'] }
      - { name: ci, kind: test }
  - name: late
    suspended: true
`;

test.serial('a seed makes what it names, and a second time changes nothing and says so', async (t) => {
  const { json, run, path, config } = operator(t);
  writeFileSync(path('seed.yaml'), SEED);
  const first = await json('seed', 'apply', path('seed.yaml'));
  t.deepEqual(first.changes, [
    'acme: made, on plan pro',
    'acme: ops@example.com is admin',
    'acme: made live key dashboard',
    'acme: made test key ci',
    'late: made, on plan self-hosted',
    'late: is suspended',
  ]);
  const keys = first.keys as { name: string; key: string }[];
  const records = await openRecords(config);
  const caller = await records.authenticate(keys[0]?.key ?? '', config.now_ms);
  t.like(caller, { kind: 'live', scopes: ['hail:read', 'portfolio:*'] });
  t.like(caller?.plan, { name: 'pro', monthly_limit: 100_000, overage_policy: 'block', features: ['exports'] });
  t.deepEqual([caller?.plan.quotas.locations, caller?.plan.quotas.webhooks], [20_000, 10]);
  await records.close();

  t.like(await json('seed', 'apply', path('seed.yaml')), { changes: [], keys: [] });
  t.is((await run('seed', 'apply', path('seed.yaml'))).out, 'Made 0 changes.\n');
  const { acts } = await json('business', 'audit');
  t.is((acts as unknown[]).length, 6);
});

test.serial('what the file says differently is changed, what it does not name is left alone', async (t) => {
  const { json, path } = operator(t);
  writeFileSync(path('seed.yaml'), SEED);
  await json('seed', 'apply', path('seed.yaml'));
  await json('member', 'add', 'acme', 'bo@example.com');
  await json('plan', 'set', 'acme', '--limit', '5');
  const changed = SEED.replace("'portfolio:*'", "'storms:read'").replace('suspended: true', 'suspended: false');
  writeFileSync(path('seed.yaml'), changed);
  t.deepEqual((await json('seed', 'apply', path('seed.yaml'))).changes, [
    'acme: plan is pro',
    'acme: changed live key dashboard',
    'late: is active',
  ]);
  const { members } = await json('member', 'list', 'acme');
  t.is((members as unknown[]).length, 2);
});

test.serial('a dry run says what it would do and does nothing', async (t) => {
  const { json, run, path } = operator(t);
  writeFileSync(path('seed.yaml'), SEED);
  const { code, out } = await run('seed', 'apply', path('seed.yaml'), '--dry-run');
  t.is(code, 0);
  t.regex(out, /Would make 6 changes\.\n$/);
  t.false(out.includes('hs_'));
  t.deepEqual(await json('business', 'list'), { businesses: [] });
});

test.serial('with --secrets the keys go to a file that its owner alone reads, and are not printed', async (t) => {
  const { run, path } = operator(t);
  writeFileSync(path('seed.yaml'), SEED);
  const { out } = await run('seed', 'apply', path('seed.yaml'), '--secrets', path('keys.json'));
  t.false(out.includes('hs_'));
  t.is(statSync(path('keys.json')).mode & 0o777, 0o600);
  const { keys } = JSON.parse(readFileSync(path('keys.json'), 'utf8'));
  t.regex(keys[0].key, /^hs_live_/);
  t.is((await run('seed', 'apply', path('seed.yaml'), '--secrets', path('keys.json'))).code, 4);
});

test.serial('a file with a mistake is refused whole, and the mistake is named', async (t) => {
  const { run, path } = operator(t);
  for (const [text, reason] of [
    ['businesses: [{ name: acme, plan: gold }]', "'gold' is no plan of this file"],
    ['businesses: [{ name: acme }, { name: acme }]', "'acme' is there twice"],
    ['businesses: [{ name: acme, colour: red }]', 'colour'],
    ['plans: { pro: { monthly_limit: -1 } }', 'plans.pro.monthly_limit'],
    ["businesses: [{ name: a, keys: [{ name: k, kind: live, scopes: ['x:read'] }] }]", 'expected a scope'],
    ['businesses: [', 'seed'],
  ] as const) {
    writeFileSync(path('seed.yaml'), text);
    const { code, err } = await run('seed', 'apply', path('seed.yaml'));
    t.is(code, 2, text);
    t.true(err.includes(reason), err);
  }
  t.false(existsSync(path('records/hail.sqlite')));
  t.is((await run('seed', 'apply', path('none.yaml'))).code, 3);
  // A file that cannot be looked at is not one that does not exist.
  symlinkSync(path('loop.yaml'), path('loop.yaml'));
  const { code, err } = await run('seed', 'apply', path('loop.yaml'));
  t.is(code, 1);
  t.regex(err, /ELOOP/);
});

test.serial('a seed makes keys of the earlier variant, and does not change the variant of a key', async (t) => {
  const { json, run, path } = operator(t);
  const write = (variant: string) =>
    writeFileSync(
      path('seed.yaml'),
      `businesses: [{ name: acme, keys: [{ name: ci, kind: test, variant: ${variant} }] }]`,
    );
  write('legacy');
  const { keys } = await json('seed', 'apply', path('seed.yaml'));
  t.regex((keys as { key: string }[])[0]?.key ?? '', /^test_/);
  t.like(await json('seed', 'apply', path('seed.yaml')), { changes: [] });
  write('current');
  const { code, err } = await run('seed', 'apply', path('seed.yaml'));
  t.is(code, 4);
  t.regex(err, /test key ci is of the variant legacy, expected current/);
});
