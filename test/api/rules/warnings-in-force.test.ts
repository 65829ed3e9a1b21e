import test from 'ava';
import fc from 'fast-check';
import { warningSpans, warningsInForce, warningsSince } from '../../../api/rules/warnings-in-force.ts';
import type { Warning } from '../../../schemas/tables/warnings.ts';
import { MS_PER_MIN } from '../../../schemas/time.ts';

const T0 = Date.parse('2025-05-01T20:00:00Z');

/** A message `sent` minutes after 20 UTC about an event that ends `ends` minutes after it. */
function message(warning_id: string, sent: number, ends: number, more: Partial<Warning> = {}): Warning {
  return {
    warning_id,
    event: 'Severe Thunderstorm Warning',
    message_type: 'Alert',
    severity: 'Severe',
    office: 'NWS Norman OK',
    headline: null,
    areas: null,
    issued_at: T0 + sent * MS_PER_MIN,
    expires_at: T0 + ends * MS_PER_MIN,
    tornado_detection: null,
    hail_size_mm: 25.4,
    gust_kmh: null,
    speed_kmh: null,
    direction_deg: null,
    vtec_action: 'NEW',
    vtec_event: 'KOUN.SV.W.0101',
    replaces: '',
    positions: 0,
    geometry: null,
    west: null,
    south: null,
    east: null,
    north: null,
    is_refused_polygon: false,
    data_source: 'observed',
    ...more,
  };
}

const inForce = (messages: readonly Warning[], at: number) =>
  warningsInForce(warningSpans(messages), T0 + at * MS_PER_MIN).map(({ warning_id }) => warning_id);

test('a warning is in force from when it is sent until the event ends, the end excluded', (t) => {
  const warning = message('a', 0, 45);
  t.deepEqual(
    [-1, 0, 44, 45].map((at) => inForce([warning], at).length),
    [0, 1, 1, 0],
  );
});

test('an update replaces its predecessor by name, without a VTEC line too', (t) => {
  const none = { vtec_event: null, vtec_action: null };
  const messages = [
    message('a', 0, 45, none),
    message('b', 20, 45, { ...none, message_type: 'Update', replaces: 'a' }),
  ];
  t.deepEqual(inForce(messages, 10), ['a']);
  t.deepEqual(inForce(messages, 20), ['b']);
});

test('an update replaces all earlier messages of its event, named or not', (t) => {
  const messages = [message('a', 0, 45), message('b', 10, 45), message('c', 20, 45, { vtec_action: 'CON' })];
  t.deepEqual(inForce(messages, 20), ['c']);
});

test('an update that shortens an event ends it early', (t) => {
  const messages = [message('a', 0, 45), message('b', 10, 15, { vtec_action: 'CON' })];
  t.deepEqual(inForce(messages, 20), []);
});

for (const vtec_action of ['CAN', 'EXP', 'UPG'])
  test(`the VTEC action ${vtec_action} ends its event`, (t) => {
    const messages = [message('a', 0, 45), message('b', 10, 45, { message_type: 'Update', vtec_action })];
    t.deepEqual(inForce(messages, 10), []);
  });

test('a CAP cancellation ends what it names', (t) => {
  const none = { vtec_event: null, vtec_action: null };
  const messages = [
    message('a', 0, 45, none),
    message('b', 10, 45, { ...none, message_type: 'Cancel', replaces: 'a' }),
  ];
  t.deepEqual(inForce(messages, 10), []);
});

test('a cancellation of a part leaves the part that the same minute continues', (t) => {
  const messages = [
    message('a', 0, 45),
    message('b', 20, 45, { message_type: 'Update', vtec_action: 'CAN' }),
    message('c', 20, 45, { message_type: 'Update', vtec_action: 'CON' }),
  ];
  t.deepEqual(inForce(messages, 25), ['c']);
});

test('the same event number in the next year is another event', (t) => {
  const year = 365 * 24 * 60;
  const messages = [message('a', 0, 45), message('b', year, year + 45)];
  t.deepEqual(inForce(messages, 10), ['a']);
  t.deepEqual(inForce(messages, year + 1), ['b']);
});

test('messages of the future change nothing yet', (t) => {
  const messages = [message('a', 0, 45), message('b', 20, 45, { vtec_action: 'CAN', replaces: 'a' })];
  t.deepEqual(inForce(messages, 19), ['a']);
});

test('the newest comes first', (t) => {
  const messages = ['a', 'b', 'c'].map((id, i) => message(id, [5, 10, 0][i]!, 45, { vtec_event: `KOUN.SV.W.010${i}` }));
  t.deepEqual(inForce(messages, 20), ['b', 'a', 'c']);
});

test('nothing in force has expired, and the order of arrival does not matter', (t) => {
  const anyMessage = fc
    .record({
      id: fc.integer({ min: 0, max: 9 }),
      sent: fc.integer({ min: 0, max: 60 }),
      lasts: fc.integer({ min: 0, max: 60 }),
      replaces: fc.integer({ min: 0, max: 9 }),
      vtec_action: fc.constantFrom('NEW', 'CON', 'CAN'),
      event: fc.integer({ min: 0, max: 2 }),
    })
    .map(({ id, sent, lasts, replaces, vtec_action, event }) =>
      message(`${id}`, sent, sent + lasts, { replaces: `${replaces}`, vtec_action, vtec_event: `E${event}` }),
    );
  fc.assert(
    fc.property(
      fc.uniqueArray(anyMessage, { selector: (m) => m.warning_id }),
      fc.integer({ min: 0, max: 120 }),
      (messages, at) => {
        const found = warningsInForce(warningSpans(messages), T0 + at * MS_PER_MIN);
        t.true(
          found.every(
            ({ issued_at, expires_at }) => issued_at <= T0 + at * MS_PER_MIN && expires_at > T0 + at * MS_PER_MIN,
          ),
        );
        t.deepEqual(warningsInForce(warningSpans(messages.toReversed()), T0 + at * MS_PER_MIN), found);
        const past = warningsSince(warningSpans(messages), T0 + at * MS_PER_MIN, T0 + at * MS_PER_MIN);
        t.deepEqual(
          past.map(({ message }) => message),
          found,
        );
      },
    ),
    { numRuns: 200 },
  );
});

/** Id and minutes after 20 UTC at which each warning of the past was over. */
const past = (messages: readonly Warning[], since: number, at: number) =>
  warningsSince(warningSpans(messages), T0 + since * MS_PER_MIN, T0 + at * MS_PER_MIN).map(
    ({ message: { warning_id }, end_ms }) => [warning_id, (end_ms - T0) / MS_PER_MIN],
  );

test('a warning of the past is its last message, once', (t) => {
  const messages = [message('a', 0, 45), message('b', 10, 45, { vtec_action: 'CON' })];
  t.deepEqual(past(messages, 0, 100), [['b', 45]]);
});

test('a warning that expired before the span asked for is left out, one that reaches into it is not', (t) => {
  t.deepEqual(past([message('a', 0, 45)], 45, 100), []);
  t.deepEqual(past([message('a', 0, 45)], 44, 100), [['a', 45]]);
});

test('a warning that was cancelled is in the past until its cancellation', (t) => {
  const messages = [message('a', 0, 45), message('b', 20, 45, { vtec_action: 'CAN', replaces: 'a' })];
  t.deepEqual(past(messages, 0, 100), [['a', 20]]);
  t.deepEqual(past(messages, 20, 100), []);
  t.deepEqual(past(messages, 0, 19), [['a', 45]]);
});

test('a warning whose part was cancelled lives on in the part that was continued', (t) => {
  const messages = [
    message('a', 0, 45),
    message('b', 20, 45, { message_type: 'Update', vtec_action: 'CAN' }),
    message('c', 20, 45, { message_type: 'Update', vtec_action: 'CON' }),
  ];
  t.deepEqual(past(messages, 0, 100), [['c', 45]]);
});
