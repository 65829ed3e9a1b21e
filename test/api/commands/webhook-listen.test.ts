import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import test, { type ExecutionContext } from 'ava';
import { selfSigned } from '../../../api/commands/self-signed.ts';
import { type Heard, type ListenerOptions, page, startListener } from '../../../api/commands/webhook-listen.ts';
import { attemptDelivery, type Message } from '../../../api/push/attempt.ts';
import { earlierBodyOf } from '../../../api/push/earlier-events.ts';
import { bodyOf } from '../../../api/push/events.ts';
import { openOutlet } from '../../../api/push/outlet.ts';
import { EARLIER_SAMPLES, SAMPLES } from '../../../api/push/samples.ts';
import { EARLIER_EVENT_TYPES } from '../../../schemas/webhook-events.ts';

const SECRET = 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oDuSKQkQ5mb3Y=';
const OTHER = 'whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=';
const ID = 'evt_01KAJ4D2M8N6P4R2T0V8X6Z4B2';
const AT_MS = Date.parse('2026-05-01T20:12:00Z');

/** A listener with TLS, what it heard, and the way out of the service to it. */
async function listening(t: ExecutionContext, options: Partial<ListenerOptions> = {}) {
  const heard: Heard[] = [];
  const certificate = selfSigned();
  const listener = await startListener({
    host: '127.0.0.1',
    port: 0,
    certificate,
    secrets: async () => [OTHER, SECRET],
    answer: 200,
    delay: 0,
    heard: (each) => heard.push(each),
    ...options,
  });
  const folder = mkdtempSync(join(tmpdir(), 'hail-listen-'));
  const ca_file = join(folder, 'listen.pem');
  writeFileSync(ca_file, certificate.cert);
  const outlet = openOutlet({ allow_cidrs: ['127.0.0.0/8'], ca_file, time_scale: 1 });
  t.teardown(async () => {
    await listener.stop();
    outlet.close();
    rmSync(folder, { recursive: true });
  });
  const send = (message: Message) =>
    attemptDelivery(outlet, { url: `${listener.url}depot?k=1`, secrets: [SECRET] }, message);
  const deliver = () => {
    const event = 'alert.created' as const;
    return send({ id: ID, event, body: bodyOf({ id: ID, event, at_ms: AT_MS, data: SAMPLES[event] }) });
  };
  return { heard, send, deliver };
}

test('the listener takes what the service sends, finds its signature valid, and counts repetitions', async (t) => {
  const { heard, deliver } = await listening(t);
  t.is((await deliver()).status_code, 200);
  t.is((await deliver()).status_code, 200);
  t.deepEqual(
    heard.map(({ id, event, path, times, fault, answered }) => ({ id, event, path, times, fault, answered })),
    [1, 2].map((times) => ({ id: ID, event: 'alert.created', path: '/depot?k=1', times, fault: null, answered: 200 })),
  );
});

test('the listener takes every event of the earlier variant, too, and names it by the header', async (t) => {
  const { heard, send } = await listening(t);
  for (const event of EARLIER_EVENT_TYPES) {
    const data = EARLIER_SAMPLES[event];
    t.is((await send({ id: ID, event, body: earlierBodyOf({ event, at_ms: AT_MS, data }) })).status_code, 200);
  }
  t.deepEqual(
    heard.map(({ id, event, times, fault, data }) => ({ id, event, times, fault, data })),
    EARLIER_EVENT_TYPES.map((event, k) => ({ id: ID, event, times: k + 1, fault: null, data: EARLIER_SAMPLES[event] })),
  );
});

test('what is signed with another secret is answered 401', async (t) => {
  const { heard, deliver } = await listening(t, { secrets: async () => [OTHER] });
  t.is((await deliver()).status_code, 401);
  t.is(heard[0]?.fault, 'signature does not match secret and body');
});

test('the listener answers what it is told to', async (t) => {
  const { deliver } = await listening(t, { answer: 503 });
  t.is((await deliver()).status_code, 503);
});

test('what is no delivery is answered 400 and not printed', async (t) => {
  const heard: Heard[] = [];
  const listener = await startListener({
    host: '127.0.0.1',
    port: 0,
    certificate: null,
    secrets: async () => [],
    answer: 200,
    delay: 0,
    heard: (each) => heard.push(each),
  });
  t.teardown(listener.stop);
  const nameless = '{"event":"hail.detected","timestamp":"2026-05-01T20:12:00.000Z","data":{}}';
  for (const body of ['{"id":1}', nameless]) t.is((await fetch(listener.url, { method: 'POST', body })).status, 400);
  t.deepEqual(heard, []);
});

test('a delivery is printed with its fields in a column, and cannot steer the terminal', (t) => {
  const heard = {
    at: '2026-05-01T20:13:21.200Z',
    event: 'alert.resolved',
    id: ID,
    path: '/all\u009b2J',
    times: 2,
    fault: null,
    answered: 200,
    data: { threat_level: 'CLEAR', location_name: 'yard\u001b[2J\n', max_size_during_event: 44 },
  };
  t.is(
    stripVTControlCharacters(page(heard)),
    [
      `20:13:21.200  alert.resolved  ${ID}  time 2`,
      '  "/all?2J"  signature valid, answered 200',
      '  threat_level           CLEAR',
      '  location_name          "yard\\u001b[2J\\n"',
      '  max_size_during_event  44',
      '',
    ].join('\n'),
  );
});
