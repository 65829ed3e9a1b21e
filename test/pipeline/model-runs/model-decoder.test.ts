import test from 'ava';
import { BadInput } from '../../../pipeline/error.ts';
import { openModelDecoder } from '../../../pipeline/model-runs/model-decoder.ts';

const CLAIM = { model: 'hrrr', run_time: 0, valid_time: 3_600_000 };
const NO_GRIB = { files: [{ subject: 'x', bytes: Buffer.from('no grib at all') }], claim: CLAIM };

test('files that are no model hour are refused, and the thread decodes on', async (t) => {
  const decoder = openModelDecoder();
  t.teardown(decoder.close);
  await t.throwsAsync(decoder.decode(NO_GRIB), { instanceOf: BadInput });
  await t.throwsAsync(decoder.decode(NO_GRIB), { instanceOf: BadInput });
});

test('a thread that does not answer in time is given up, and so is every later hour', async (t) => {
  const decoder = openModelDecoder(0);
  t.teardown(decoder.close);
  await t.throwsAsync(decoder.decode(NO_GRIB), { message: 'no model hour decoded within 0 ms' });
  await t.throwsAsync(decoder.decode(NO_GRIB), { message: 'no model hour decoded within 0 ms' });
});

test('a thread that has ended is told, not waited for', async (t) => {
  const decoder = openModelDecoder();
  await decoder.close();
  await t.throwsAsync(decoder.decode(NO_GRIB), { message: /ended with code/ });
});
