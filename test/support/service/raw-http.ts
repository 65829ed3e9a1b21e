import { connect } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';

/** Between pieces, so that they arrive one by one. */
const PAUSE_MS = 20;
const PATIENCE_MS = 5_000;

/** Sends bytes to a service as they are, in one piece or several, and reads until it closes the connection. */
export async function sendRaw(url: string, text: string, ...more: readonly string[]) {
  const { hostname, port } = new URL(url);
  const socket = connect({ port: Number(port), host: hostname, noDelay: true });
  socket.write(Buffer.from(text, 'latin1'));
  for (const piece of more) {
    await pause(PAUSE_MS);
    socket.write(Buffer.from(piece, 'latin1'));
  }
  // A client that ends its half before the answer is taken to be gone; one whose request never ends is answered only then.
  const ending = setTimeout(() => socket.end(), PATIENCE_MS);
  socket.once('data', () => socket.end());
  const chunks: Buffer[] = [];
  for await (const chunk of socket) chunks.push(chunk as Buffer);
  clearTimeout(ending);
  const answer = Buffer.concat(chunks).toString('utf8');
  const [head = '', ...rest] = answer.split('\r\n\r\n');
  const [line = '', ...lines] = head.split('\r\n');
  return {
    status: Number(line.split(' ')[1]),
    /** Names in lower case. */
    headers: new Map(
      lines.map((header) => header.split(/: (.*)/)).map(([name = '', value = '']) => [name.toLowerCase(), value]),
    ),
    body: rest.join('\r\n\r\n'),
  };
}
