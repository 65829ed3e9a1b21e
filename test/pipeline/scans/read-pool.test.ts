import test from 'ava';
import { Unreadable } from '../../../pipeline/error.ts';
import { startReadPool } from '../../../pipeline/scans/read-pool.ts';

const FILES = {
  scan_time: 0,
  mesh: '/nowhere/mesh.grib2',
  companions: {},
  probsevere: null,
  previous_probsevere: null,
};

test('a read asked of threads that have ended fails at once', async (t) => {
  const readers = startReadPool(1);
  await readers.close();
  await t.throwsAsync(readers.read(FILES), { message: /reader thread ended/ });
});

test('an error that is no fault of a file keeps its message across the threads', async (t) => {
  const readers = startReadPool(1);
  t.teardown(readers.close);
  await t.throwsAsync(readers.read({ ...FILES, mesh: 7 as never }), { instanceOf: Error, message: /path/ });
});

test('a file that is not there is Unreadable across the threads, and says which', async (t) => {
  const readers = startReadPool(1);
  t.teardown(readers.close);
  const error = await t.throwsAsync(readers.read(FILES), { instanceOf: Unreadable });
  t.deepEqual([error.subject, error.is_gone], [FILES.mesh, true]);
});
