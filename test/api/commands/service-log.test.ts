import { Writable } from 'node:stream';
import test from 'ava';
import { openServiceLog } from '../../../api/commands/serve.ts';
import { until } from '../../support/until.ts';

const EVENT = { scan_id: '20260501T232309Z', opened: 2 };

/** What one event looks like in the log. */
async function lineOf(isTerminal: boolean, event: object = EVENT, name = 'Scan:Match:Done'): Promise<string> {
  let written = '';
  const stream = new Writable({
    write: (chunk, _, done) => {
      written += String(chunk);
      done();
    },
  });
  const log = await openServiceLog('info', isTerminal, stream);
  log.info(event, name);
  log.debug(EVENT, 'Scan:Match:Begun');
  await until(() => written !== '');
  return written;
}

test('an event is a JSON line where the log is no terminal', async (t) => {
  const { time, ...fields } = JSON.parse(await lineOf(false));
  t.deepEqual(fields, { level: 30, ...EVENT, msg: 'Scan:Match:Done' });
  t.regex(time, /^\d{4}-\d\d-\d\dT/);
});

test('an event is one readable line on a terminal', async (t) => {
  t.regex(
    await lineOf(true),
    /^\[\d\d:\d\d:\d\d\] INFO: Scan:Match:Done \{"scan_id":"20260501T232309Z","opened":2\}\n$/,
  );
});

test('what a caller sends cannot steer a terminal', async (t) => {
  const steering = 'a\u001b[2Jb\u009b2Jc\rd\u0007e\u007ff\u202eg\u2028h\\';
  const line = await lineOf(true, { path: steering, nested: [steering], err: new Error(steering) }, steering);
  t.notRegex(line, /(?!\n)[\p{C}\p{Zl}\p{Zp}]/u);
  t.true(line.includes('\\u001b[2J') && line.includes('\\u{9b}2J') && line.includes('\\u{202e}'), line);
  t.deepEqual(JSON.parse(await lineOf(false, { path: steering })).path, steering);
});
