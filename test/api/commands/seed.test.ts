import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import test from 'ava';
import { openRecords } from '../../../api/records/open.ts';
import { operator } from './run.ts';

const SEED = `
plans:
  pro: { monthly_limit: 100000, overage_policy: block, features: [exports], quotas: { locations: 20000 } }
businesses:
  - name: acme
    plan: pro
    members: [{ email: anna@example.com, role: admin }]
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
    'acme: anna@example.com is admin',
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
  t.is((await run('seed', 'apply', path('seed.yaml'))).out, 'Nothing to change: everything is as the file says.\n');
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
});
