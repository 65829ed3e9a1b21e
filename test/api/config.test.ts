import test from 'ava';
import { readConfig, SettingsError } from '../../api/config.ts';
import { testUnknownSettings } from '../support/service/unknown-settings.ts';

test('without any setting the service listens on this machine alone, on port 8080', (t) => {
  const { host, port, base_url, database_url, trusted_proxies, metrics_port } = readConfig({});
  t.deepEqual(
    { host, port, base_url, database_url, trusted_proxies, metrics_port },
    { host: '127.0.0.1', port: 8080, base_url: null, database_url: null, trusted_proxies: [], metrics_port: null },
  );
});

test('an empty setting is one left out', (t) => {
  t.is(readConfig({ HAIL_PORT: '', HAIL_BASE_URL: '' }).port, 8080);
});

test('settings are read as what they mean', (t) => {
  const config = readConfig({
    HAIL_PORT: '9000',
    HAIL_BASE_URL: 'https://hail.example/api/v1/',
    HAIL_TRUST_PROXY: '10.0.0.0/8, ::1',
    HAIL_METRICS_PORT: '9001',
    HAIL_NOW: '2026-05-01T20:00:00Z',
    HAIL_DATABASE_URL: 'postgres://u@localhost/hail',
  });
  t.is(config.port, 9000);
  t.is(config.base_url, 'https://hail.example/api/v1');
  t.deepEqual(config.trusted_proxies, ['10.0.0.0/8', '::1']);
  t.is(config.metrics_port, 9001);
  t.is(config.now(), Date.parse('2026-05-01T20:00:00Z'));
});

test('settings of webhooks and mail are read, and have usual values', (t) => {
  const { master_keys, webhooks, smtp_url } = readConfig({});
  t.deepEqual(webhooks, { allow_cidrs: [], ca_file: null, time_scale: 1 });
  t.deepEqual([master_keys, smtp_url], [null, null]);
  const [hex, base64] = ['ab'.repeat(32), Buffer.alloc(32, 7).toString('base64')];
  const config = readConfig({
    HAIL_MASTER_KEY: `${hex},${base64}`,
    HAIL_WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8,::1',
    HAIL_WEBHOOK_CA_FILE: '/etc/ca.pem',
    HAIL_WEBHOOK_TIME_SCALE: '0.01',
    HAIL_SMTP_URL: 'smtps://u:p@mail.example:465?from=hail@example.com',
  });
  t.deepEqual(config.master_keys, [Buffer.from(hex, 'hex'), Buffer.alloc(32, 7)]);
  t.deepEqual(config.webhooks, { allow_cidrs: ['127.0.0.0/8', '::1'], ca_file: '/etc/ca.pem', time_scale: 0.01 });
  t.is(config.smtp_url, 'smtps://u:p@mail.example:465?from=hail@example.com');
});

for (const [name, value] of [
  ['HAIL_MASTER_KEY', 'ab'.repeat(31)],
  ['HAIL_MASTER_KEY', `${'ab'.repeat(32)},s3cret`],
  ['HAIL_SMTP_URL', 'http://u:s3cret@mail.example'],
] as const)
  test(`${name} is refused without repeating its ${value.length} characters`, (t) => {
    const error = t.throws(() => readConfig({ [name]: value }), { instanceOf: SettingsError });
    t.true(error?.message.startsWith(`${name} is set: `));
    t.false(error?.message.includes('s3cret') || error?.message.includes('abab'));
  });

for (const [name, value] of [
  ['HAIL_WEBHOOK_TIME_SCALE', '0'],
  ['HAIL_WEBHOOK_TIME_SCALE', '2'],
  ['HAIL_WEBHOOK_ALLOW_CIDRS', 'localhost'],
  ['HAIL_PORT', '70000'],
  ['HAIL_PORT', '80 80'],
  ['HAIL_BASE_URL', 'https://hail.example'],
  ['HAIL_BASE_URL', 'ftp://hail.example/v1'],
  ['HAIL_DATABASE_URL', 'mysql://localhost/hail'],
  ['HAIL_TRUST_PROXY', '10.0.0.0/33'],
  ['HAIL_TRUST_PROXY', 'proxy.example'],
] as const)
  test(`${name}=${value} is refused by name`, (t) => {
    const error = t.throws(() => readConfig({ [name]: value }), { instanceOf: SettingsError });
    t.true(error?.message.startsWith(`${name} is '${value}'`));
  });

test('every setting that does not fit is named', (t) => {
  t.throws(() => readConfig({ HAIL_PORT: 'x', HAIL_METRICS_PORT: 'y' }), { message: /HAIL_PORT.*; HAIL_METRICS_PORT/ });
});

testUnknownSettings(readConfig, SettingsError);
