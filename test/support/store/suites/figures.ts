import { readRecordFigures } from '../../../../api/metrics/record-figures.ts';
import { makeTenant, type Register } from '../world.ts';

/** What the metrics read of the records. */
export function figuresSuite(test: Register): void {
  test('metrics read the same figures from every kind of database', async (t, world) => {
    const records = await world.open();
    const { caller } = await makeTenant(records, world, 'acme');
    const { business_id } = caller;
    const about = { business_id, receiver_id: 'wh_1', event: 'alert.created', body: '{}', alert_id: null };
    const message = { ...about, attempts: 0, attempts_before: 0, first_attempt_at: null, redelivered_from: null };
    const created_at = '2026-05-20T11:00:00.000Z';
    await records.transaction((rows) =>
      rows
        .insertInto('messages')
        .values([
          {
            ...message,
            id: 'evt_1',
            after_id: null,
            state: 'pending',
            next_at: '2026-05-20T11:50:00.000Z',
            created_at,
          },
          {
            ...message,
            id: 'evt_2',
            after_id: null,
            state: 'pending',
            next_at: '2026-05-20T11:40:00.000Z',
            created_at,
          },
          { ...message, id: 'evt_3', after_id: 'evt_2', state: 'waiting', next_at: null, created_at },
          { ...message, id: 'evt_4', after_id: null, state: 'delivered', next_at: null, created_at },
        ])
        .execute(),
    );
    const none = { waiting: 0, running: 0 };
    t.deepEqual(await readRecordFigures(records.reader), {
      pending: 3,
      next_at_ms: Date.parse('2026-05-20T11:40:00Z'),
      jobs: { report: none, export: none },
      waiting_since_ms: null,
      open_alerts: 0,
    });
  });
}
