import { DatabaseSync } from 'node:sqlite';
import { RecordsUnavailable } from '../../api/records/errors.ts';
import { onSqlite } from '../support/store/world.ts';
import { queueContract } from '../support/tasks/contract.ts';
import { Diary, openProcess, SETTINGS } from '../support/tasks/diary.ts';
import { until } from '../support/until.ts';

queueContract(onSqlite);

onSqlite('while another process locks the records nothing is lost, and nothing is run twice', async (t, world) => {
  const { add, queue, troubles } = await openProcess(t, world, { waits: { lock_ms: 50, statement_ms: 0 } });
  const diary = new Diary();
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  await add({ payload: 'done while they were locked' });
  queue.work('write', SETTINGS, async (task) => {
    await diary.note(task);
    await released;
  });
  await diary.until(1);
  const other = new DatabaseSync('path' in world.location ? world.location.path : '');
  t.teardown(() => other.close());
  other.exec('begin immediate');
  release();
  await until(() => troubles.length > 0);
  other.exec('commit');
  await until(() => troubles.length > 1);
  t.true(troubles[0] instanceof RecordsUnavailable);
  t.is(troubles[1], null);
  await add({ payload: 'last' });
  await diary.until(2);
  t.deepEqual(diary.payloads, ['done while they were locked', 'last']);
});
