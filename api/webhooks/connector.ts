import { connect, isIPv6, type LookupFunction, type Socket } from 'node:net';
import { type SecureContext, connect as secure, type TLSSocket } from 'node:tls';
import type { ReceiverUrl } from './address.ts';

/** Why an attempt got no answer. `blocked` is for operators; clients read `connect`. */
export type FaultClass = 'dns' | 'blocked' | 'connect' | 'tls' | 'timeout';

/** An attempt that got no answer. */
export class AttemptFault extends Error {
  readonly error_class: FaultClass;

  constructor(error_class: FaultClass, reason: string, options?: ErrorOptions) {
    super(reason, options);
    this.name = 'AttemptFault';
    this.error_class = error_class;
  }
}

/** What a connection is made with. */
export interface ConnectOptions {
  /** Those that were judged: no other is connected to, and nothing is looked up any more. */
  readonly addresses: readonly string[];
  /** Whose certificates are believed, and the oldest TLS. */
  readonly secureContext: SecureContext;
  /** Aborts with an AttemptFault when nobody waits any longer. */
  readonly late: AbortSignal;
}

/** Failures of the connection beneath TLS, whenever they come. */
const BROKEN: ReadonlySet<unknown> = new Set(['ECONNRESET', 'ECONNABORTED', 'EPIPE', 'ETIMEDOUT']);

/** Bytes that a connection may receive, whatever they are: TLS handshake and records, 1xx answers, headers, chunk framing, body. */
const RECEIVED_BYTES_MAX = 64 * 1024;
/** How often bytes are counted that no data event shows, such as those of a handshake. */
const COUNT_EVERY_MS = 100;

/** A connection to a receiver whose certificate was verified. It ends with an AttemptFault once it received too many bytes. */
export interface Connection {
  readonly socket: TLSSocket;
  /** Counts now: for each read of the socket, so that no read follows the one that was too many. */
  readonly checkReceived: () => void;
}

/** Connects to one of the addresses, whichever answers first, and has it prove that it is the receiver. Throws AttemptFault. */
export async function connectTo(receiver: ReceiverUrl, options: ConnectOptions): Promise<Connection> {
  const { addresses, late } = options;
  const { host, port } = receiver;
  const { promise, resolve, reject } = Promise.withResolvers<Connection>();
  // The bytes of TLS itself are counted here alone.
  const raw = connect({ host, port, lookup: answerWith(addresses) });
  raw.on('error', (error) => reject(faultOf(error, 'connect')));
  raw.once('close', () => reject(new AttemptFault('connect', 'connection was closed')));
  raw.once('connect', () => {
    const socket = secureOver(raw, receiver, options);
    const checkReceived = () => {
      if (raw.bytesRead <= RECEIVED_BYTES_MAX) return;
      socket.destroy(new AttemptFault('connect', `sent more than ${RECEIVED_BYTES_MAX / 1024} KB`));
    };
    const counting = setInterval(checkReceived, COUNT_EVERY_MS);
    raw.once('close', () => clearInterval(counting));
    socket.once('close', () => raw.destroy());
    socket.on('error', (error) => reject(faultOf(error, 'tls')));
    socket.once('secureConnect', () => resolve({ socket, checkReceived }));
  });
  try {
    return await orLate(promise, late);
  } catch (error) {
    raw.destroy();
    throw error;
  }
}

function secureOver(raw: Socket, { host, host_is }: ReceiverUrl, { secureContext }: ConnectOptions): TLSSocket {
  return secure({
    socket: raw,
    host,
    // Servers choose the certificate by the name that they are called by; there is none in an address.
    ...(host_is === 'name' ? { servername: host } : {}),
    secureContext,
    rejectUnauthorized: true,
    ALPNProtocols: ['http/1.1'],
  });
}

/** The result, unless the signal aborts first: then what it aborts with is thrown. */
export async function orLate<Result>(result: Promise<Result>, late: AbortSignal): Promise<Result> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const abort = () => reject(late.reason);
  if (late.aborted) abort();
  late.addEventListener('abort', abort, { once: true });
  try {
    return await Promise.race([result, aborted]);
  } finally {
    late.removeEventListener('abort', abort);
  }
}

/** A look-up that knows its answer. An address that stands for itself is connected to without any: it was judged as it is. */
function answerWith(addresses: readonly string[]): LookupFunction {
  const answers = addresses.map((address) => ({ address, family: isIPv6(address) ? 6 : 4 }));
  return (_, { all }, callback) => {
    const [first] = answers;
    if (all) callback(null, answers);
    else callback(null, first?.address ?? '', first?.family ?? 0);
  };
}

function faultOf(error: Error, stage: 'connect' | 'tls'): AttemptFault {
  if (error instanceof AttemptFault) return error;
  const { code } = error as NodeJS.ErrnoException;
  return new AttemptFault(BROKEN.has(code) ? 'connect' : stage, code ?? error.message, { cause: error });
}
