import { connect } from 'node:net';

/** An answer as it came over the wire. */
export interface RawAnswer {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

/** Sends bytes to a service as they are, and reads until it closes the connection. */
export async function sendRaw(url: string, text: string): Promise<RawAnswer> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.end(Buffer.from(text, 'latin1'));
  const chunks: Buffer[] = [];
  for await (const chunk of socket) chunks.push(chunk as Buffer);
  const answer = Buffer.concat(chunks).toString('utf8');
  const [head = '', ...rest] = answer.split('\r\n\r\n');
  const [line = '', ...lines] = head.split('\r\n');
  return {
    status: Number(line.split(' ')[1]),
    headers: new Map(
      lines.map((header) => [
        header.slice(0, header.indexOf(':')).toLowerCase(),
        header.slice(header.indexOf(':') + 2),
      ]),
    ),
    body: rest.join('\r\n\r\n'),
  };
}
