import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { type Mail, openMailer, sendMail, spoolPath } from '../../../api/push/mail.ts';
import type { NewTask } from '../../../api/queue/queue.ts';

const MAIL: Mail = {
  id: '6f1c1f8e-0b5e-4a54-9d3c-3f0f5f5a2b11',
  to: 'ops@example.com',
  subject: 'hail: webhook wh_1 was disabled',
  text: 'Dächer\n.\nend',
  failed: 0,
};

function root(t: ExecutionContext): string {
  const path = mkdtempSync(join(tmpdir(), 'hail-mail-'));
  t.teardown(() => rmSync(path, { recursive: true }));
  return path;
}

/** A mail server that takes everything, or says no to every sender; what it was given as text. */
async function mailServer(t: ExecutionContext, takes: boolean) {
  const taken: string[] = [];
  const server = createServer((socket) => {
    let text = '';
    let inData = false;
    socket.write('220 test\r\n');
    socket.on('data', (chunk) => {
      text += chunk.toString();
      if (inData) {
        if (!text.endsWith('\r\n.\r\n')) return;
        taken.push(text);
        inData = false;
        text = '';
        socket.write('250 taken\r\n');
        return;
      }
      if (!text.endsWith('\r\n')) return;
      const command = text.slice(0, 4).toUpperCase();
      text = '';
      inData = command === 'DATA';
      const refused = command === 'MAIL' && !takes;
      socket.write(
        inData ? '354 go on\r\n' : refused ? '451 not now\r\n' : command === 'QUIT' ? '221 bye\r\n' : '250 ok\r\n',
      );
    });
    socket.on('error', () => {});
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => server.close());
  return { taken, url: `smtp://127.0.0.1:${(server.address() as AddressInfo).port}?from=hail@example.org` };
}

/** Records that keep what is queued. */
function outbox() {
  const added: NewTask[] = [];
  const queue = { add: async (_: unknown, task: NewTask) => void added.push(task) };
  const records = {
    transaction: async <Result>(work: (rows: never) => Promise<Result>) => await work(undefined as never),
  };
  return { added, services: { queue, records } };
}

test('without a server mail lies in a folder, once however often it is sent, for its owner alone', async (t) => {
  const records_root = root(t);
  const mailer = openMailer({ smtp_url: null, records_root });
  await mailer.send(MAIL);
  await mailer.send(MAIL);
  const folder = spoolPath(records_root);
  t.deepEqual(readdirSync(folder), [`${MAIL.id}.eml`]);
  t.is(statSync(join(folder, `${MAIL.id}.eml`)).mode & 0o777, 0o600);
  const text = readFileSync(join(folder, `${MAIL.id}.eml`), 'utf8');
  for (const line of ['To: ops@example.com', `Subject: ${MAIL.subject}`, `Message-ID: <${MAIL.id}@hail>`])
    t.true(text.includes(`${line}\r\n`), line);
});

test('nothing in a mail can add a header or a recipient', async (t) => {
  const records_root = root(t);
  const to = 'ops@example.com\r\nBcc: x@example.com';
  await openMailer({ smtp_url: null, records_root }).send({ ...MAIL, to, subject: 'a\r\nX-Evil: 1\r\n\r\nbody' });
  const [name = ''] = readdirSync(spoolPath(records_root));
  const [head = ''] = readFileSync(join(spoolPath(records_root), name), 'utf8').split('\r\n\r\n');
  const names = [...head.matchAll(/^([A-Za-z-]+):/gm)].map(([, each]) => each);
  t.deepEqual(
    names.filter((each) => each === 'Bcc' || each === 'X-Evil'),
    [],
  );
});

test('a mail server is given the mail, from the sender of its address', async (t) => {
  const { taken, url } = await mailServer(t, true);
  await openMailer({ smtp_url: url, records_root: root(t) }).send(MAIL);
  t.is(taken.length, 1);
  t.true(taken[0]?.includes('From: hail@example.org\r\n'));
  t.true(taken[0]?.includes('To: ops@example.com\r\n'));
});

test('what the server does not take is queued again as the same mail, later each time, up to an hour', async (t) => {
  const { url } = await mailServer(t, false);
  const { added, services } = outbox();
  const mailer = openMailer({ smtp_url: url, records_root: root(t) });
  const before_ms = Date.now();
  for (const failed of [0, 1, 20]) await sendMail({ payload: { ...MAIL, failed } }, mailer, services);
  t.deepEqual(
    added.map(({ payload }) => payload),
    [1, 2, 21].map((failed) => ({ ...MAIL, failed })),
  );
  const waits_min = added.map(({ due_ms = 0 }) => Math.floor((due_ms - before_ms) / 60_000));
  t.deepEqual(waits_min, [1, 2, 60]);
});

test('what the server has refused for a day lies in the folder, and is reported', async (t) => {
  const { url } = await mailServer(t, false);
  const { added, services } = outbox();
  const records_root = root(t);
  const told: string[] = [];
  const refused = (_: unknown, error: unknown) => told.push(String(error));
  const mailer = openMailer({ smtp_url: url, records_root, refused });
  await sendMail({ payload: { ...MAIL, failed: 29 } }, mailer, services);
  t.regex(told.join(), /not now/);
  t.deepEqual(added, []);
  t.deepEqual(readdirSync(spoolPath(records_root)), [`${MAIL.id}.eml`]);
});
