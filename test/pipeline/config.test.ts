import { resolve } from 'node:path';
import test from 'ava';
import { readConfig } from '../../pipeline/config.ts';
import { UsageError } from '../../pipeline/error.ts';
import { testUnknownSettings } from '../support/service/unknown-settings.ts';

test('settings that are not given have their defaults', (t) => {
  const config = readConfig({});
  t.deepEqual(
    [config.data_root, config.storm_day_start_hour, config.log_level, config.mrms_url],
    [resolve('data'), 0, 'info', 'https://noaa-mrms-pds.s3.amazonaws.com'],
  );
  t.true(Object.isFrozen(config));
});

test('an empty setting counts as not given', (t) => {
  t.is(readConfig({ HAIL_STORM_DAY_START_HOUR: '' }).storm_day_start_hour, 0);
});

test('HAIL_NOW fixes the data clock', (t) => {
  const { now } = readConfig({ HAIL_NOW: '2026-05-01T20:12:00Z' });
  t.is(now(), Date.parse('2026-05-01T20:12:00Z'));
  t.is(now(), now());
});

test('the address of the bucket loses its closing slashes', (t) => {
  t.is(readConfig({ HAIL_MRMS_URL: 'http://localhost:8000/mrms//' }).mrms_url, 'http://localhost:8000/mrms');
});

for (const [name, value] of [
  ['HAIL_STORM_DAY_START_HOUR', '24'],
  ['HAIL_STORM_DAY_START_HOUR', '-1'],
  ['HAIL_STORM_DAY_START_HOUR', '1.5'],
  ['HAIL_STORM_DAY_START_HOUR', '0x5'],
  ['HAIL_NOW', '2026-02-30T00:00:00Z'],
  ['HAIL_NOW', '2026-05-01'],
  ['HAIL_NOW', '2026-05-01T20:12:00+02:00'],
  ['HAIL_MRMS_URL', 'somewhere'],
  ['HAIL_MRMS_URL', 'file:///etc'],
  ['HAIL_LOG_LEVEL', 'verbose'],
] as const)
  test(`${name}=${value} is refused by name`, (t) => {
    const error = t.throws(() => readConfig({ [name]: value }), { instanceOf: UsageError });
    t.true(error?.message.startsWith(`${name} is '${value}'`));
  });

test('every setting that does not fit is named', (t) => {
  const error = t.throws(() => readConfig({ HAIL_NOW: 'x', HAIL_LOG_LEVEL: 'y' }));
  t.regex(error?.message ?? '', /HAIL_NOW.*HAIL_LOG_LEVEL/);
});

testUnknownSettings(readConfig, UsageError);
