import { ALERTS, raise, startAlertService, subscribe } from '../support/service/alerts.ts';
import { strangersKey } from '../support/service/portfolio.ts';
import { closeWithoutFailures, testWith } from '../support/service/test-with.ts';
import { answerOf } from '../support/service/webhooks.ts';

const test = testWith(startAlertService, closeWithoutFailures);

test('a subscription is read with its alerts, newest first', async (t) => {
  const id = await subscribe(t.context);
  const past = await raise(t.context, id, {
    status: 'resolved',
    open_location: null,
    triggered_at: '2026-05-01T20:40:00.000Z',
    resolved_at: '2026-05-01T21:30:00.000Z',
    track_id: '20260501-t1',
  });
  const open = await raise(t.context, id);
  const { status, body } = await answerOf(t.context, `${ALERTS}/${id}`);
  t.is(status, 200);
  t.like(body, { id, status: 'active', trigger_count: 0 });
  t.false('webhook_secret' in body);
  const common = { estimated_size_mm: 30, max_size_mm: 40, confidence: 0.7, location: { lat: 35.5, lon: -97.5 } };
  t.deepEqual(body.recent_alerts, [
    {
      alert_id: open.id,
      status: 'open',
      threat_level: 'HIGH',
      triggered_at: '2026-05-02T00:55:00Z',
      resolved_at: null,
      ...common,
      track_id: null,
    },
    {
      alert_id: past.id,
      status: 'resolved',
      threat_level: 'CLEAR',
      triggered_at: '2026-05-01T20:40:00Z',
      resolved_at: '2026-05-01T21:30:00Z',
      ...common,
      track_id: '20260501-t1',
    },
  ]);
});

test('a subscription shows its last 20 alerts', async (t) => {
  const id = await subscribe(t.context);
  for (let k = 10; k < 32; k++)
    await raise(t.context, id, {
      status: 'closed',
      open_location: null,
      triggered_at: `2026-05-01T20:${k}:00.000Z`,
    });
  const { body } = await answerOf(t.context, `${ALERTS}/${id}`);
  const recent = body.recent_alerts as { triggered_at: string }[];
  t.is(recent.length, 20);
  t.deepEqual([recent[0]?.triggered_at, recent.at(-1)?.triggered_at], ['2026-05-01T20:31:00Z', '2026-05-01T20:12:00Z']);
});

test("another business's subscription is not found, like one that never was", async (t) => {
  const id = await subscribe(t.context, {}, await strangersKey(t.context));
  const messages = [];
  for (const asked of [id, 'sub_01KAJ3W9QZ6R8V2T4X5Y7A9B0C', 'no%20id']) {
    const { status, body } = await answerOf(t.context, `${ALERTS}/${asked}`);
    t.deepEqual([status, body.error], [404, 'not_found']);
    messages.push(body.message);
  }
  t.is(messages[0], messages[1]);
});
