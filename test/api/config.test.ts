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

for (const [name, value] of [
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
