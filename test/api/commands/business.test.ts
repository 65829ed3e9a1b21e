import { writeFileSync } from 'node:fs';
import test from 'ava';
import { openRecords } from '../../../api/records/open.ts';
import { operator } from '../../support/service/run-command.ts';

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
  t.regex((await run('business', 'list')).out, /^name +id +status +made\nacme +biz_/);
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
  const set = await json(
    'plan',
    'set',
    'acme',
    '--limit',
    '1000',
    '--cap',
    '500',
    '--overage',
    'block',
    '--rate',
    '600',
    '--feature',
    'exports',
    '--quota',
    'locations=20000',
    '--quota',
    'webhooks=0',
  );
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

for (const [name, rate_per_minute, requests_per_day, webhooks] of [
  ['free', 10, 1_000, 1],
  ['pro', 60, 10_000, 10],
  ['business', 300, 100_000, 100],
] as const)
  test.serial(
    `plan ${name} of the earlier variant bounds requests and webhooks and leaves credits alone`,
    async (t) => {
      const { json, run, path } = operator(t);
      await run('business', 'create', 'acme');
      await run('plan', 'set', 'acme', '--limit', '700', '--feature', 'none');
      const plan = { name, monthly_limit: 700, rate_per_minute, features: ['real_time_delivery'] };
      const quotas = { requests_per_day, webhooks, subscriptions: 100 };
      t.like(await json('plan', 'set', 'acme', '--plan', name), { changed: true, plan: { ...plan, quotas } });
      t.regex((await run('plan', 'show', 'acme')).out, new RegExp(`requests_per_day=${requests_per_day}\\b`));
      await run('plan', 'set', 'acme', '--quota', 'requests_per_day=none');
      t.like(await json('plan', 'show', 'acme'), { quotas: { requests_per_day: null, webhooks } });

      writeFileSync(path('seed.yaml'), `businesses: [{ name: other, plan: ${name} }]`);
      await json('seed', 'apply', path('seed.yaml'));
      t.like(await json('plan', 'show', 'other'), { name, rate_per_minute, quotas });
      t.like(await json('seed', 'apply', path('seed.yaml')), { changes: [] });
    },
  );
