import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import type { ExecutionContext } from 'ava';

/** What is known of a name; `silent`: nothing is answered. */
export type Known =
  | { readonly A?: readonly string[]; readonly AAAA?: readonly string[]; readonly NS?: true }
  | 'silent';

export interface NameServer {
  /** As a resolver takes it. */
  readonly address: string;
  readonly names: Map<string, Known>;
  /** What it was asked, in order: name and type. */
  readonly questions: string[];
}

const TYPES: Readonly<Record<number, 'A' | 'NS' | 'AAAA'>> = { 1: 'A', 2: 'NS', 28: 'AAAA' };
const HEAD_BYTES = 12;

/** A name server (RFC 1035) over UDP on this machine. The root is asked for as ``; other names do not exist. */
export async function startNameServer(t: ExecutionContext): Promise<NameServer> {
  const socket = createSocket('udp4');
  const names = new Map<string, Known>();
  const questions: string[] = [];
  socket.on('message', (query, { port, address }) => {
    const { name, type, end } = question(query);
    questions.push(`${name} ${type}`);
    const known = names.get(name);
    if (known === 'silent') return;
    const records = recordsOf(known, type).map((data) => record(query.readUInt16BE(end - 4), data));
    const head = Buffer.from(query.subarray(0, HEAD_BYTES));
    head.writeUInt16BE(known === undefined ? 0x8183 : 0x8180, 2);
    head.writeUInt16BE(records.length, 6);
    // No additional records.
    head.fill(0, 8);
    socket.send(Buffer.concat([head, query.subarray(HEAD_BYTES, end), ...records]), port, address);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  t.teardown(() => socket.close());
  return { address: `127.0.0.1:${socket.address().port}`, names, questions };
}

function question(query: Buffer) {
  const labels: string[] = [];
  let at = HEAD_BYTES;
  for (let length = query[at] as number; length > 0; length = query[at] as number) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length).toLowerCase());
    at += 1 + length;
  }
  return { name: labels.join('.'), type: TYPES[query.readUInt16BE(at + 1)], end: at + 5 };
}

function recordsOf(known: Exclude<Known, 'silent'> | undefined, type: 'A' | 'NS' | 'AAAA' | undefined): Buffer[] {
  if (type === 'NS') return known?.NS ? [Buffer.from('\x01a\x04root\x00', 'latin1')] : [];
  if (type === 'A') return (known?.A ?? []).map((text) => Buffer.from(text.split('.').map(Number)));
  return (known?.AAAA ?? []).map((text) => Buffer.from(text.replaceAll(':', ''), 'hex'));
}

/** An answer about the name of the question, for a minute. */
function record(type: number, data: Buffer): Buffer {
  const head = Buffer.from([0xc0, HEAD_BYTES, 0, type, 0, 1, 0, 0, 0, 60, 0, data.length]);
  return Buffer.concat([head, data]);
}
