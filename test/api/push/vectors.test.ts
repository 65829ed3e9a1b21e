import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import test, { type ExecutionContext } from 'ava';
import { z } from 'zod';
import { signatureFault, signatureHeaders } from '../../../api/push/sign.ts';
import { PROJECT } from '../../support/data/markdown.ts';

const Vectors = z.object({
  now_s: z.int(),
  vectors: z.array(
    z.object({
      what: z.string(),
      secrets: z.array(z.string()).min(1),
      body: z.string(),
      headers: z.record(z.string(), z.string()),
    }),
  ),
  forged: z.array(
    z.object({ what: z.string(), secret: z.string(), body: z.string(), signature: z.string(), now_s: z.int() }),
  ),
});
const { now_s, vectors, forged } = Vectors.parse(
  JSON.parse(readFileSync(`${PROJECT}data/reference/webhook-vectors.json`, 'utf8')),
);

const EXAMPLES = `${PROJECT}data/examples`;

/** What receivers are asked: a delivery, a secret, the time, and whether it is ours. */
const QUESTIONS = [
  ...vectors.flatMap(({ what, secrets, body, headers }) =>
    secrets.map((secret) => ({
      what,
      body,
      signature: headers['X-Service-Signature'] ?? '',
      secret,
      now_s,
      ours: true,
    })),
  ),
  ...forged.map((each) => ({ ...each, ours: false })),
];

function folder(t: ExecutionContext): string {
  const path = mkdtempSync(join(tmpdir(), 'hail-vectors-'));
  t.teardown(() => rmSync(path, { recursive: true }));
  return path;
}

/** Skipped, with its reason in the title, where a program is not there to be run. */
function testWhere(program: string, title: string, body: (t: ExecutionContext) => void): void {
  const isThere = spawnSync(program, ['--version']).error === undefined;
  (isThere ? test : test.skip)(`${title} (needs ${program})`, body);
}

for (const { what, secrets, body, headers } of vectors)
  test(`the published vector of ${what} is what is sent`, (t) => {
    const { 'X-Service-Event': event = '', 'X-Service-Delivery-Id': id = '' } = headers;
    t.deepEqual(signatureHeaders({ id, event, body, secrets, at_ms: now_s * 1000 }), headers);
    t.is(JSON.parse(body).id, id);
  });

test('our own check takes every published vector, and none of the forged ones', (t) => {
  for (const { what, body, signature, secret, now_s: at_s, ours } of QUESTIONS)
    t.is(signatureFault(signature, body, secret, at_s * 1000) === null, ours, what);
});

test('the TypeScript of the examples takes every published vector, and none of the forged ones', async (t) => {
  const { verify } = await import(pathToFileURL(`${EXAMPLES}/verify-webhook.ts`).href);
  for (const { what, body, signature, secret, now_s: at_s, ours } of QUESTIONS)
    t.is(verify(body, signature, secret, at_s), ours, what);
});

testWhere('python3', 'the Python of the examples takes every published vector, and none of the forged ones', (t) => {
  const path = folder(t);
  copyFileSync(`${EXAMPLES}/verify-webhook.py`, join(path, 'verify.py'));
  writeFileSync(join(path, 'questions.json'), JSON.stringify(QUESTIONS));
  const ask = [
    'import json; from verify import verify',
    "asked = json.load(open('questions.json', encoding='utf-8'))",
    "print(json.dumps([verify(q['body'].encode(), q['signature'], q['secret'], q['now_s']) for q in asked]))",
  ].join('\n');
  const { stdout, stderr } = spawnSync('python3', ['-B', '-c', ask], { cwd: path, encoding: 'utf8' });
  t.is(stderr, '');
  t.deepEqual(
    JSON.parse(stdout),
    QUESTIONS.map(({ ours }) => ours),
  );
});

testWhere(
  'openssl',
  'the shell of the examples takes every published vector, and none of the forged ones of that time',
  (t) => {
    const path = folder(t);
    copyFileSync(`${EXAMPLES}/verify-webhook.sh`, join(path, 'verify.sh'));
    for (const { what, body, signature, secret, ours } of QUESTIONS.filter((each) => each.now_s === now_s)) {
      writeFileSync(join(path, 'body'), body);
      const { status } = spawnSync('sh', ['verify.sh', 'body', signature, secret], { cwd: path });
      t.is(status, ours ? 0 : 1, what);
    }
  },
);
