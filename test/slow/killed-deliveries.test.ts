import test from 'ava';
import { scratch } from '../support/data/world.ts';
import { pushLoad } from '../support/kill/push-load.ts';

test('a service killed four times while a third of the answers are bad loses no event, and repeats one under its id only', async (t) => {
  const { faults, ...counts } = await pushLoad(t, await scratch(t), {
    events: 200,
    per_second: 100,
    receivers: 10,
    kills: 4,
    time_scale: 0.02,
  });
  t.log(JSON.stringify(counts));
  t.deepEqual(faults, []);
  t.is(counts.delivered + counts.dropped + counts.given_up, 200);
  t.true(counts.failed > 0 && counts.hung > 0 && counts.reset > 0);
});
