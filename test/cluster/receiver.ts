import { appendFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { startReceiver } from '../support/service/receiver.ts';

/*
 * A receiver of webhooks as a program that can be killed: `node receiver.ts FOLDER PORT`. The folder holds its key and certificate.
 * Each message is on disk before it is answered.
 */
const [folder = '', port = ''] = process.argv.slice(2);
const certificate = {
  key: readFileSync(join(folder, 'key.pem'), 'utf8'),
  cert: readFileSync(join(folder, 'cert.pem'), 'utf8'),
};
const receiver = await startReceiver({ teardown: () => {} }, { certificate, port: Number(port) });
receiver.answer = ({ path, headers, body }, response) => {
  const id = String(headers['webhook-id']);
  appendFileSync(join(folder, 'received.jsonl'), `${JSON.stringify({ id, path, body })}\n`);
  response.end('thanks');
};
