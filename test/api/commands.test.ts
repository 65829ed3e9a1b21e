import { spawn } from 'node:child_process';
import {
  chmodSync,
  closeSync,
  cpSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import anyTest from 'ava';
import { createSubscription } from '../../api/alerts/subscriptions.ts';
import { createWatch } from '../../api/alerts/watch.ts';
import { openRecords, type Records } from '../../api/billing/records.ts';
import { openServiceLog } from '../../api/commands/serve.ts';
import { jobFilePath } from '../../api/jobs/files.ts';
import type { Job } from '../../api/jobs/rows.ts';
import { type Cipher, openCipher } from '../../api/records/cipher.ts';
import { openQueue } from '../../api/records/tasks.ts';
import { recordAttempt } from '../../api/webhooks/attempts.ts';
import { openWebhookClient, postSigned } from '../../api/webhooks/client.ts';
import { SAMPLES } from '../../api/webhooks/event-samples.ts';
import { enqueueEvent } from '../../api/webhooks/events.ts';
import { FORMATS } from '../../api/webhooks/formats.ts';
import { findReceiver, insertWebhook, setReceiverStatus } from '../../api/webhooks/receivers.ts';
import { secretsInForce } from '../../api/webhooks/signing-secrets.ts';
import { MS_PER_DAY, timestamp } from '../../schemas/time.ts';
import { EVENT_TYPES } from '../../schemas/webhook-events.ts';
import { EPISODE, editionOf, HAIL_AT, MINUTE_MS, START_MS, watchPartsOf } from '../support/data/alert-scans.ts';
import { pluck } from '../support/data/rows.ts';
import { midnight, publishedRoot } from '../support/data/world.ts';
import { BARE_ENVIRONMENT } from '../support/kill/bare-environment.ts';
import { withReports } from '../support/service/done-reports.ts';
import { type Operator, operator } from '../support/service/run-command.ts';
import { until } from '../support/until.ts';

const test = anyTest.serial;

/** An operator with a business without keys. */
async function withBusiness(t: Parameters<typeof operator>[0]): Promise<Operator> {
  const made = operator(t);
  await made.run('business', 'create', 'acme');
  return made;
}

test('a business is made, listed, shown, suspended and resumed', async (t) => {
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

test('a name that is taken is a conflict, an unknown business is not found', async (t) => {
  const { run } = await withBusiness(t);
  t.like(await run('business', 'create', 'acme'), {
    code: 4,
    err: 'hail-api: business acme: exists, expected a new name\n',
  });
  for (const name of ['', 'a\nb', 'x'.repeat(101)]) t.is((await run('business', 'create', name)).code, 2);
  t.like(await run('business', 'show', 'other'), { code: 3, err: 'hail-api: business other: does not exist\n' });
});

test('without records every command but those that make them says so', async (t) => {
  const { run } = operator(t);
  const { code, err } = await run('business', 'list');
  t.is(code, 3);
  t.regex(err, /hail\.sqlite: no such file/);
  t.is((await run('business', 'create', 'acme')).code, 0);
});

test('delete insists on --purge, and leaves nothing but the audit log', async (t) => {
  const { json, run, config } = operator(t);
  const { id } = await json('business', 'create', 'acme');
  await json('key', 'create', 'acme', '--live');
  t.is((await run('business', 'delete', 'acme')).code, 2);
  t.like(await json('business', 'delete', 'acme', '--purge'), { deleted: true });
  const { acts } = await json('business', 'audit', String(id));
  t.deepEqual(pluck(acts as { act: string }[], 'act'), ['business.create', 'key.create', 'business.purge']);
  const keys = await within(config, ({ reader }) => reader.selectFrom('keys').selectAll().execute());
  t.deepEqual(keys, []);
});

test('members are added, change role, and are removed; addresses do not mind case', async (t) => {
  const { json, run } = await withBusiness(t);
  t.like(await json('member', 'add', 'acme', 'Ops@Example.com', '--role', 'admin'), { changed: true });
  t.like(await json('member', 'add', 'acme', 'ops@example.com', '--role', 'manager'), { changed: true });
  t.like(await json('member', 'list', 'acme'), { members: [{ email: 'ops@example.com', role: 'manager' }] });
  t.like(await json('member', 'remove', 'acme', 'OPS@example.com'), { removed: true });
  t.is((await run('member', 'remove', 'acme', 'ops@example.com')).code, 3);
  t.is((await run('member', 'add', 'acme', 'ops@example.com\r\nBcc: x@example.com')).code, 2);
  t.is((await run('member', 'add', 'acme', 'ops@example.com', '--role', 'owner')).code, 2);
});

test('a plan changes in what is named and keeps the rest', async (t) => {
  const { json, run } = await withBusiness(t);
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
    ...['', ' --limit -1', ' --limit 1.5', ' --rate 0', ' --quota hats=3', ' --quota locations=none'],
    ...[' --plan gold', ' --feature all'],
  ])
    t.is((await run(...`plan set acme${wrong}`.split(' '))).code, 2, wrong);
});

test('plans of the earlier variant bound requests and webhooks and leave credits alone', async (t) => {
  const { json, run, path } = await withBusiness(t);
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

test('a key is printed once, and never again by any command', async (t) => {
  const { json, run } = await withBusiness(t);
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

test('a link is printed once, with its QR code, its address and its end', async (t) => {
  const { json, run } = await withBusiness(t);
  const { out } = await run('key', 'link', 'acme', '--scopes', 'hail:read');
  const [, token = ''] = /^http:\/\/127\.0\.0\.1:8080\/link#(hs_live_[0-9A-Za-z]{46})$/m.exec(out) ?? [];
  t.regex(out, /^(?:[█▀▄ ]+\n){15,}/);
  t.regex(out, /\nIt works once, until 2026-05-20T12:15:00\.000Z\.\nHAIL_BASE_URL is not set/);
  t.like(await json('key', 'list', 'acme'), { keys: [{ name: 'link phone', scopes: ['link', 'link hail:read'] }] });
  t.false((await run('key', 'list', 'acme')).out.includes(token.slice(16)));
  t.is((await run('key', 'link', 'acme', '--scopes', 'hail')).code, 2);
});

test('a key may have a cap of its own, which its rotation keeps; none takes it away', async (t) => {
  const { json, run } = await withBusiness(t);
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

test('rotation prints the new key and ends the old one after the grace: 30 days when left out, at once with 0', async (t) => {
  const { json, run, config } = await withBusiness(t);
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
});

test('a revoked key is listed as such; revoking it again changes nothing', async (t) => {
  const { json, run } = await withBusiness(t);
  const { id } = await json('key', 'create', 'acme', '--test');
  t.like(await json('key', 'revoke', String(id)), { status: 'revoked', changed: true });
  t.like(await json('key', 'revoke', String(id)), { changed: false });
  t.is((await run('key', 'rotate', String(id))).code, 4);
});

test('a key needs one kind, known scopes and an end to come', async (t) => {
  const { run } = await withBusiness(t);
  for (const wrong of [
    ...['', ' --live --test', ' --live --scopes hail:write', ' --live --scopes hats:read'],
    ...[' --live --scopes hail:read,', ' --live --scopes hail:read:more'],
    ...[' --live --expires 2026-05-20', ' --live --expires 2026-02-30', ' --live --expires soon'],
  ])
    t.is((await run(...`key create acme${wrong}`.split(' '))).code, 2, wrong);
  t.is((await run('key', 'revoke', 'key_none')).code, 3);
  t.is((await run('key', 'create', 'nobody', '--live')).code, 3);
});

test('a key of the earlier variant stays one when it is rotated, and is listed as such', async (t) => {
  const { json, run, config } = await withBusiness(t);
  const old = await json('key', 'create', 'acme', '--test', '--variant', 'legacy');
  t.regex(String(old.key), /^test_/);
  t.like(old, { kind: 'test', variant: 'legacy' });
  const rotated = await json('key', 'rotate', String(old.id));
  t.regex(String(rotated.key), /^test_/);
  t.like(rotated, { variant: 'legacy', old_key: { variant: 'legacy' } });
  await json('key', 'create', 'acme', '--live');
  const { keys } = await json('key', 'list', 'acme');
  t.deepEqual(pluck(keys as { variant: string }[], 'variant'), ['legacy', 'legacy', 'current']);
  t.regex((await run('key', 'list', 'acme')).out, /variant/);
  const records = await openRecords(config);
  for (const { key } of [old, rotated])
    t.like(await records.authenticate(String(key), config.now_ms), { kind: 'test', variant: 'legacy' });
  await records.close();
});

/** Makes a business with a key and one charge of 15 credits; returns its id. */
async function charged({ json, config }: Operator): Promise<string> {
  await json('business', 'create', 'acme');
  const { business_id, id } = await json('key', 'create', 'acme', '--live');
  const payer = { business_id: String(business_id), key_id: String(id) };
  const price = { operation: 'hail.current', credits: 15, count: 1 };
  await within(config, (records) => records.charge({ request_id: 'req_1', ...payer, ...price, at_ms: config.now_ms }));
  return payer.business_id;
}

async function within<T>(config: Operator['config'], work: (records: Records) => Promise<T>): Promise<T> {
  const records = await openRecords(config);
  try {
    return await work(records);
  } finally {
    await records.close();
  }
}

test('usage shows a month, and an adjustment with its reason', async (t) => {
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

test('verify and doctor end with 5 when somebody changed a sum, and name it', async (t) => {
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

test('a seed makes what it names, and a second time changes nothing and says so', async (t) => {
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
  const caller = await within(config, (records) => records.authenticate(keys[0]?.key ?? '', config.now_ms));
  t.like(caller, { kind: 'live', scopes: ['hail:read', 'portfolio:*'] });
  t.like(caller?.plan, { name: 'pro', monthly_limit: 100_000, overage_policy: 'block', features: ['exports'] });
  t.deepEqual([caller?.plan.quotas.locations, caller?.plan.quotas.webhooks], [20_000, 10]);

  t.like(await json('seed', 'apply', path('seed.yaml')), { changes: [], keys: [] });
  t.is((await run('seed', 'apply', path('seed.yaml'))).out, 'Made 0 changes.\n');
  const { acts } = await json('business', 'audit');
  t.is((acts as unknown[]).length, 6);
});

test('what the file says differently is changed, what it does not name is left alone', async (t) => {
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

test('a dry run says what it would do and does nothing', async (t) => {
  const { json, run, path } = operator(t);
  writeFileSync(path('seed.yaml'), SEED);
  const { code, out } = await run('seed', 'apply', path('seed.yaml'), '--dry-run');
  t.is(code, 0);
  t.regex(out, /Would make 6 changes\.\n$/);
  t.false(out.includes('hs_'));
  t.deepEqual(await json('business', 'list'), { businesses: [] });
});

test('with --secrets the keys go to a file that its owner alone reads, and are not printed', async (t) => {
  const { run, path } = operator(t);
  writeFileSync(path('seed.yaml'), SEED);
  const { out } = await run('seed', 'apply', path('seed.yaml'), '--secrets', path('keys.json'));
  t.false(out.includes('hs_'));
  t.is(statSync(path('keys.json')).mode & 0o777, 0o600);
  const { keys } = JSON.parse(readFileSync(path('keys.json'), 'utf8'));
  t.regex(keys[0].key, /^hs_live_/);
  t.is((await run('seed', 'apply', path('seed.yaml'), '--secrets', path('keys.json'))).code, 4);
});

test('a file with a mistake is refused whole, and the mistake is named', async (t) => {
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

test('a seed makes keys of the earlier variant, and does not change the variant of a key', async (t) => {
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
/** Records with a business, a key, a charge of 15 credits and a location; returns their file. */
async function used(given: Operator): Promise<string> {
  const business_id = await charged(given);
  const at = new Date(given.config.now_ms).toISOString();
  const place = { id: 'loc_1', name: 'Depot', lat: 35, lon: -97, address: '', tags: '[]' };
  const location = { ...place, business_id, created_at: at, updated_at: at };
  await within(given.config, (records) =>
    records.transaction((rows) => rows.insertInto('portfolio_locations').values(location).execute()),
  );
  return given.path('records/hail.sqlite');
}

/** Changes rows by plain SQL, without the rules of the service. */
function tamper(file: string, statements: string): void {
  const database = new DatabaseSync(file);
  database.exec(`pragma foreign_keys = off; ${statements}`);
  database.close();
}

test('doctor ends with 0 on sound records', async (t) => {
  const it = operator(t);
  await used(it);
  const { code, out } = await it.run('doctor');
  t.is(code, 0, out);
  t.notRegex(out, /^fault/m);
  t.is(out.match(/^(ok {3}|note ) {2}\w[\w ]*: /gm)?.length, 9);
});

test('doctor finds what keeps the service from being ready: a part of the published data is gone', async (t) => {
  const it = operator(t);
  await used(it);
  cpSync(await publishedRoot(t, (await midnight()).slice(0, 2)), it.config.data_root, { recursive: true });
  const { out } = await it.run('doctor');
  t.regex(out, /note {3}published: 1 storm date can be read; the newest scan \(simulated\) is [\d,]+ minutes old/);
  for (const lost of ['tiles', 'tiles/scan', 'tables/detections', 'live', 'current.json']) {
    renameSync(it.path(lost), it.path('away'));
    const { code, out } = await it.run('doctor');
    t.is(code, 5);
    t.regex(out, new RegExp(`fault {2}published: data root: ${lost} is missing, and `));
    renameSync(it.path('away'), it.path(lost));
  }
});

test('doctor finds a job that waits for more than an hour, and files of jobs that are gone or of another size, unless they were given back', async (t) => {
  const it = operator(t);
  const file = await used(it);
  const at = (hours: number) => new Date(it.config.now_ms - hours * 3_600_000).toISOString();
  const job = (id: string, status: string, created_at: string, name: string, bytes: number) =>
    `insert into jobs select '${id}', id, 'report', '${status}', '{}', '{}', '${created_at}', null, 1, null, '${at(-24)}', null, null, null, null, null, '${name}', ${bytes}, ${status === 'pending' ? 'null' : "'ab'"} from businesses;`;
  const well = [
    job('rpt_new', 'pending', at(0.9), 'x.pdf', 0),
    job('rpt_there', 'done', at(2), 'x.pdf', 4),
    job('rpt_given_back', 'failed', at(2), 'x.pdf', 4),
  ];
  tamper(file, well.join(''));
  mkdirSync(it.path('reports'));
  writeFileSync(it.path('reports/rpt_there-ab.pdf'), 'file');
  t.is((await it.run('doctor')).code, 0);
  const ill = [job('rpt_old', 'pending', at(1.1), 'x.pdf', 0), job('rpt_gone', 'done', at(2), 'x.pdf', 4)];
  tamper(file, ill.join(''));
  writeFileSync(it.path('reports/rpt_there-ab.pdf'), 'fi');
  const { code, out } = await it.run('doctor');
  t.is(code, 5);
  t.regex(out, /fault {2}jobs: rpt_old waits since 2026-05-20T10:54/);
  t.regex(out, /fault {2}job files: the file of rpt_gone is gone; the file of rpt_there has 2 bytes, its row says 4/);

  const { businesses } = (await it.json('business', 'list')) as { businesses: { name: string }[] };
  await it.json('business', 'delete', businesses[0]?.name ?? '', '--purge');
  t.deepEqual(readdirSync(it.path('reports')), []);
});

/** Damage to the file, and the reason that SQLite gives. */
const DAMAGES = [
  ['a header that is no database', 0, /^fault {2}database: .*is malformed \(file is not a database\)$/m],
  ['pages that are torn', 2 * 4096, /^fault {2}database: .*is malformed.*$/m],
] as const;

for (const [name, from, finding] of DAMAGES)
  test(`doctor ends with 5 and one sentence about ${name}`, async (t) => {
    const it = operator(t);
    const path = await used(it);
    const file = openSync(path, 'r+');
    writeSync(file, Buffer.alloc(statSync(path).size - from, 0x5a), 0, null, from);
    closeSync(file);
    const { code, out, err } = await it.run('doctor');
    t.is(code, 5, err);
    t.regex(out, finding);
    t.is(err, '');
    t.is(out.split('\n').filter((line) => line.startsWith('fault')).length, 1);
  });

test('a backup taken while charges are written is a data root whose sums agree, with the key and the files', async (t) => {
  const source = operator(t);
  const [report] = await withReports(source, ['one']);
  const { id: key_id, business_id, key } = await source.json('key', 'create', 'acme', '--live');
  const records = await openRecords(source.config);
  const common = { business_id: String(business_id), key_id: String(key_id), at_ms: source.config.now_ms };
  let charges = 0;
  const newCharge = () => ({ ...common, request_id: `req_${charges++}`, operation: 'x', credits: 3, count: 1 });
  let charging = true;
  const load = (async () => {
    while (charging) await Promise.all(Array.from({ length: 20 }, () => records.charge(newCharge())));
  })();
  writeFileSync(source.path('records/master.key'), 'key', { mode: 0o600 });
  await source.json('backup', source.path('copy'));
  charging = false;
  await load;
  await records.close();

  const copy = operator(t);
  cpSync(source.path('copy'), copy.config.data_root, { recursive: true });
  t.deepEqual(readdirSync(copy.path('records')).toSorted(), ['hail.sqlite', 'master.key']);
  t.is(statSync(source.path('copy')).mode & 0o777, 0o700);
  for (const name of ['hail.sqlite', 'master.key']) t.is(statSync(copy.path(`records/${name}`)).mode & 0o777, 0o600);
  t.true(existsSync(jobFilePath(copy.config.data_root, report as Job)));
  t.is((await copy.run('usage', 'verify')).code, 0);
  const copied = await openRecords(copy.config);
  t.is((await copied.authenticate(String(key), copy.config.now_ms))?.key_id, String(key_id));
  t.is(await copied.charge(newCharge()), 'charged');
  await copied.close();
});

test('a backup needs a new folder in one that exists, and SQLite', async (t) => {
  const it = operator(t);
  await used(it);
  t.is((await it.run('backup', it.path('records'))).code, 4);
  t.is((await it.run('backup', it.path('none/copy'))).code, 3);
  it.config.database_url = 'postgres://db.example.com/hail';
  const { code, err } = await it.run('backup', it.path('copy'));
  t.is(code, 2);
  t.regex(err, /expected SQLite: run pg_dump/);
  t.false(existsSync(it.path('copy')));
});
/** Works on the records of an operator as the service does. */
async function asService<Result>(
  { config }: Operator,
  work: (records: Records, cipher: Cipher) => Promise<Result>,
): Promise<Result> {
  return await within(config, async (records) =>
    work(records, await openCipher(records.store, { records_root: config.data_root, ...config })),
  );
}

/** A business with a webhook. */
async function withWebhook(given: Operator): Promise<{ id: string; secret: string; business_id: string }> {
  const { id: business_id } = await given.json('business', 'create', 'acme');
  return await asService(given, (records, secrets) =>
    records.transaction(async (rows) => {
      const writer = { rows, business_id: String(business_id), now_ms: given.config.now_ms };
      const wanted = { url: 'https://hooks.example.com/hail?token=s3cret', events: EVENT_TYPES };
      const made = await insertWebhook(writer, secrets, wanted, 10);
      if (made === null) throw new Error('there is no room for a webhook');
      return { id: made.webhook.id, secret: made.secret, business_id: String(business_id) };
    }),
  );
}

/** The secrets of a receiver that sign at an instant of the machine's clock, newest first. */
async function signingSecrets(given: Operator, id: string, at_ms: number): Promise<readonly string[]> {
  return await asService(given, async (records, secrets) => {
    const receiver = await findReceiver(records.reader, id);
    return receiver === null ? [] : secretsInForce(receiver, secrets, at_ms);
  });
}

const REPORTS = { failed: () => {}, troubled: () => {} };

/** One event that was tried once and failed. */
async function failedEvent(given: Operator, receiver: string, business_id: string): Promise<string> {
  return await asService(given, async (records) => {
    const queue = openQueue(records.store, REPORTS);
    const outbox = { queue, store: records.store, time_scale: 1, now_ms: given.config.now_ms };
    return await records.transaction(async (rows) => {
      const about = { business_id, receivers: [receiver], event: 'alert.created', data: {}, alert_id: null } as const;
      const [message_id = ''] = await enqueueEvent(rows, outbox, { ...about, after: null, at_ms: 0 });
      const times = { started_ms: Date.now(), duration_ms: 0 };
      const failed = {
        status_code: null,
        error_class: 'blocked' as const,
        error: 'is not public',
        answer: '',
        retry_after_ms: null,
      };
      await recordAttempt(rows, outbox, { message_id, receiver_id: receiver, attempt: 1, ...times, ...failed });
      return message_id;
    });
  });
}

test('lists receivers with their state, and no password of an address', async (t) => {
  const given = operator(t);
  const { id } = await withWebhook(given);
  t.deepEqual((await given.json('webhook', 'list')).receivers, [
    {
      kind: 'webhook',
      id,
      business: 'acme',
      url: 'https://hooks.example.com/hail',
      status: 'active',
      consecutive_failures: 0,
      inactive_since: null,
    },
  ]);
  t.regex((await given.run('webhook', 'list', 'acme')).out, /^kind +id .*\nwebhook +wh_\S+ +acme +https:\S+ +active/);
  t.is((await given.run('webhook', 'list', 'nobody')).code, 3);
});

test('rotate-secret shows the new secret once, and the old one signs beside it for its grace', async (t) => {
  const given = operator(t);
  const { id, secret: old } = await withWebhook(given);
  const { secret, old_secret_until } = await given.json('webhook', 'rotate-secret', id, '--grace', '1h');
  const secretsAt = (at_ms: number) => signingSecrets(given, id, at_ms);
  const until_ms = Date.parse(String(old_secret_until));
  t.deepEqual(await secretsAt(until_ms - 1), [secret, old]);
  t.deepEqual(await secretsAt(until_ms), [secret]);
  t.false((await given.run('business', 'audit')).out.includes(String(secret)));
  await given.json('webhook', 'rotate-secret', id, '--grace', '0');
  t.is((await secretsAt(0))?.length, 1);
});

test('a second rotate-secret within the grace leaves the first its own, and a fourth secret is refused', async (t) => {
  const given = operator(t);
  const { id, secret: first } = await withWebhook(given);
  const rotated = await given.json('webhook', 'rotate-secret', id, '--grace', '2h');
  const again = await given.json('webhook', 'rotate-secret', id, '--grace', '1h');
  const signing = (at_ms: number) => signingSecrets(given, id, at_ms);
  const [second, third] = [String(rotated.secret), String(again.secret)];
  const [second_until_ms, first_until_ms] = [again, rotated].map((each) => Date.parse(String(each.old_secret_until)));
  t.deepEqual(again.older_secrets_until, [rotated.old_secret_until]);
  t.deepEqual(await signing(Date.now()), [third, second, first]);
  t.deepEqual(await signing(second_until_ms ?? 0), [third, first]);
  t.deepEqual(await signing(first_until_ms ?? 0), [third]);

  const { code, err } = await given.run('webhook', 'rotate-secret', id);
  t.is(code, 4);
  t.regex(
    err,
    /has 3 secrets that sign, expected at most 2 before a new one: the first ends at \S+Z, and --grace 0 ends/,
  );
  t.deepEqual(await signing(Date.now()), [third, second, first]);
  t.is((await given.run('webhook', 'rotate-secret', id, '--grace', '0')).code, 0);
  t.is((await signing(Date.now()))?.length, 1);
});

test('enable sets a disabled webhook to active, and recover sends what it was given up', async (t) => {
  const given = operator(t);
  const { id, business_id } = await withWebhook(given);
  const event_id = await failedEvent(given, id, business_id);
  await asService(given, (records) =>
    records.transaction((rows) => setReceiverStatus(rows, { kind: 'webhook', id }, 'disabled', given.config.now_ms)),
  );
  t.regex((await given.run('webhook', 'recover', id, '--since', '2026-01-01')).err, /is disabled, expected active/);
  t.like(await given.json('webhook', 'enable', id), { changed: true });
  t.like(await given.json('webhook', 'enable', id), { changed: false });
  t.like(await given.json('webhook', 'recover', id, '--since', '2026-01-01'), { dropped: 1, overdue: 0 });
  await asService(given, async ({ reader }) => {
    t.like(await reader.selectFrom('messages').selectAll().executeTakeFirst(), {
      id: event_id,
      state: 'pending',
      attempts: 1,
      attempts_before: 1,
    });
    const tasks = await reader.selectFrom('tasks').select('payload').execute();
    t.true(tasks.some(({ payload }) => payload === JSON.stringify({ push_id: event_id, attempt: 2 })));
  });
});

const WANTED = { name: '', ...HAIL_AT, radius_km: 25, min_size_mm: 25, webhook_url: 'https://x.example', secret: '' };

test('recover sends the alerts that were raised while a webhook was paused, also from scans before, each created before its resolved', async (t) => {
  const given = operator(t);
  const { id, business_id } = await withWebhook(given);
  const since = timestamp(Date.now());
  await asService(given, async (records) => {
    await records.transaction(async (rows) => {
      await createSubscription({ rows, business_id, now_ms: START_MS }, WANTED, 1);
      await setReceiverStatus(rows, { kind: 'webhook', id }, 'paused', START_MS);
    });
    for (const [k, { minute }] of EPISODE.entries()) {
      const watch = createWatch(watchPartsOf(records, { now: () => START_MS + minute * MINUTE_MS }));
      await watch(editionOf(EPISODE.slice(0, k + 1)));
    }
  });
  await given.json('webhook', 'enable', id);
  t.like(await given.json('webhook', 'recover', id, '--since', since), { dropped: 2 });
  await asService(given, async ({ reader }) => {
    const own = reader.selectFrom('messages').selectAll().where('receiver_id', '=', id).orderBy('id');
    const messages = await own.execute();
    const sent = messages.map(({ event, state, after_id }) => [event, state, after_id]);
    t.deepEqual(sent, [
      ['alert.created', 'pending', null],
      ['alert.resolved', 'waiting', messages[0]?.id],
    ]);
  });
  t.like(await given.json('webhook', 'recover', id, '--since', since), { dropped: 0 });
});

test('rotate-secret says of a subscription that it is none', async (t) => {
  const given = operator(t);
  const { business_id } = await withWebhook(given);
  const made = await asService(given, (records) =>
    records.transaction((rows) => createSubscription({ rows, business_id, now_ms: given.config.now_ms }, WANTED, 1)),
  );
  const id = made?.id ?? '';
  const { code, err } = await given.run('webhook', 'rotate-secret', id);
  t.deepEqual([code, err], [2, `hail-api: ${id} is a subscription, expected a webhook: a new one has a new secret\n`]);
  t.is((await given.run('webhook', 'rotate-secret', 'wh_x')).code, 3);
});

test('doctor finds overdue deliveries and a key file that others may read', async (t) => {
  const given = operator(t);
  const { id, business_id } = await withWebhook(given);
  await failedEvent(given, id, business_id);
  mkdirSync(given.path('tables'));
  mkdirSync(given.path('manifests'));
  const sound = await given.run('doctor');
  t.deepEqual([sound.out.match(/^fault.*$/gm), sound.code], [null, 0]);
  await asService(given, (records) =>
    records.transaction(async (rows) => {
      await rows.updateTable('messages').set({ next_at: '2026-01-01T00:00:00.000Z' }).execute();
    }),
  );
  chmodSync(given.path('records/master.key'), 0o644);
  const { code, out } = await given.run('doctor');
  t.is(code, 5);
  t.regex(out, /fault {2}deliveries: an event for wh_\S+ is due since 2026-01-01/);
  t.regex(out, /fault {2}master key: \S+master\.key is 644, expected 600/);
});

test('doctor finds that the master key is gone, or another one', async (t) => {
  const given = operator(t);
  const { id, secret } = await withWebhook(given);
  const [key, away] = [given.path('records/master.key'), given.path('away.key')];
  renameSync(key, away);
  const { code, out } = await given.run('doctor');
  t.is(code, 5);
  t.regex(out, /fault {2}master key: \S+master\.key: no such file, expected the master key that the records/);
  t.false(existsSync(key));
  writeFileSync(key, `${'0'.repeat(64)}\n`, { mode: 0o600 });
  t.regex((await given.run('doctor')).out, /fault {2}master key: records \S+: master key is \S+, expected /);
  renameSync(away, key);
  t.regex((await given.run('doctor')).out, /^ok {5}master key: stored secrets are under one that is here$/m);
  t.deepEqual(await signingSecrets(given, id, Date.now()), [secret]);
});

const ID = 'evt_01KAJ4D2M8N6P4R2T0V8X6Z4B2';
const AT_MS = Date.parse('2026-05-01T20:12:00Z');
const MAIN = fileURLToPath(new URL('../../api/start.js', import.meta.url));

test('the listener takes events of both variants, counts repetitions, and refuses what its secrets did not sign', async (t) => {
  const given = operator(t);
  const { secret } = await withWebhook(given);
  const child = spawn(process.execPath, [MAIN, 'webhook', 'listen', '--port', '0', '--answer', '202'], {
    env: { ...BARE_ENVIRONMENT, HAIL_DATA: given.config.data_root },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  t.teardown(() => child.kill('SIGKILL'));
  const printed = text(child.stdout);
  let said = '';
  for await (const part of child.stderr.iterator({ destroyOnReturn: false })) {
    said += part;
    if (said.includes('HAIL_WEBHOOK_CA_FILE')) break;
  }
  const [, url, ca_file = ''] = /Listening at (\S+) .*CA_FILE=(\S+)/s.exec(said) ?? [];
  const client = openWebhookClient({ allow_cidrs: ['127.0.0.0/8'], ca_file, time_scale: 1 });
  t.teardown(() => client.close());
  const send = async (body: string, signed = secret) => {
    const message = { id: ID, event: 'alert.created', body };
    return (await postSigned(client, { url: `${url}depot?k=1`, secrets: [signed] }, message)).status_code;
  };
  const about = { id: ID, event: 'alert.created' as const, at_ms: AT_MS };
  const created = FORMATS.current.encode({
    ...about,
    data: { ...SAMPLES.current['alert.created'], location_name: '\u009b2J' },
  });
  const earlier = FORMATS.legacy.encode({ ...about, data: SAMPLES.legacy['alert.created'] });
  const statuses = [await send(created), await send(created), await send(earlier)];
  statuses.push(await send(created, 'whsec_b3RoZXI='), await send('{"id":1}'));
  t.deepEqual(statuses, [202, 202, 202, 401, 400]);
  child.kill('SIGTERM');
  const lines = (await printed).split('\n').filter((line) => line !== '');
  const shown = lines.flatMap((line) => /alert\.created {2}evt_\w+(.*)/.exec(line)?.[1] ?? []);
  t.deepEqual(shown, [
    '  /depot?k=1  signature valid, answered 202',
    ', time 2  /depot?k=1  signature valid, answered 202',
    ', time 3  /depot?k=1  signature valid, answered 202',
    ', time 4  /depot?k=1  signature does not match secret and body, answered 401',
  ]);
  t.regex(lines[1] ?? '', /u\{9b\}2J/);
  t.is(lines[5], JSON.stringify(SAMPLES.legacy['alert.created']));
});
const EVENT = { scan_id: '20260501T232309Z', opened: 2 };

/** What one event looks like in the log. */
async function lineOf(isTerminal: boolean, event: object = EVENT, name = 'Scan:Match:Done'): Promise<string> {
  let written = '';
  const stream = new Writable({
    write: (chunk, _, done) => {
      written += String(chunk);
      done();
    },
  });
  const log = await openServiceLog('info', isTerminal, stream);
  log.info(event, name);
  log.debug(EVENT, 'Scan:Match:Begun');
  await until(() => written !== '');
  return written;
}

test('an event is a JSON line where the log is no terminal', async (t) => {
  const { time, ...fields } = JSON.parse(await lineOf(false));
  t.deepEqual(fields, { level: 30, ...EVENT, msg: 'Scan:Match:Done' });
  t.regex(time, /^\d{4}-\d\d-\d\dT/);
});

test('an event is one readable line on a terminal', async (t) => {
  const line = await lineOf(true);
  t.regex(line, /^\[\d\d:\d\d:\d\d\] INFO: Scan:Match:Done \{"scan_id":"20260501T232309Z","opened":2\}\n$/);
});

test('what a caller sends cannot steer a terminal', async (t) => {
  const steering = 'a\u001b[2Jb\u009b2Jc\rd\u0007e\u007ff\u202eg\u2028h\\';
  const line = await lineOf(true, { path: steering, nested: [steering], err: new Error(steering) }, steering);
  t.notRegex(line, /(?!\n)[\p{C}\p{Zl}\p{Zp}]/u);
  t.true(line.includes('\\u001b[2J') && line.includes('\\u{9b}2J') && line.includes('\\u{202e}'), line);
  t.deepEqual(JSON.parse(await lineOf(false, { path: steering })).path, steering);
});
