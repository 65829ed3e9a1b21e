import { connect, isIPv6, type LookupFunction, type Socket } from 'node:net';
import { type SecureContext, connect as secure, type TLSSocket } from 'node:tls';
import { unlessAborted } from '../event-loop.ts';
import type { ReceiverUrl } from './public-address.ts';

/** Why an attempt has no answer. Operators see `blocked`; clients see `connect` instead. */
export type FaultClass = 'dns' | 'blocked' | 'connect' | 'tls' | 'timeout';

/** Failure of an attempt without an answer. */
export class AttemptFault extends Error {
  readonly error_class: FaultClass;

  constructor(error_class: FaultClass, reason: string, options?: ErrorOptions) {
    super(reason, options);
    this.name = 'AttemptFault';
    this.error_class = error_class;
  }
}

export interface ConnectOptions {
  /** Validated addresses: the connection uses only these and no further look-up. */
  readonly addresses: readonly string[];
  /** Trusted authorities and lowest TLS version. */
  readonly secureContext: SecureContext;
  /** Aborts with an AttemptFault at the time limit. */
  readonly signal: AbortSignal;
}

/** Failures of the TCP connection, also during TLS. */
const BROKEN: ReadonlySet<unknown> = new Set(['ECONNRESET', 'ECONNABORTED', 'EPIPE', 'ETIMEDOUT']);

/** Most bytes that a connection may receive in all: TLS handshake and records, 1xx answers, headers, chunk framing, body. */
const RECEIVED_BYTES_MAX = 64 * 1024;
/** Interval of counting bytes without data events, such as bytes of a handshake. */
const COUNT_EVERY_MS = 100;

/** A connection to a receiver with a verified certificate. It ends with an AttemptFault once it has received too many bytes. */
export interface Connection {
  readonly socket: TLSSocket;
  /** Counts received bytes now. Called after each read, so that no read follows the first surplus one. */
  readonly checkReceived: () => void;
}

/** Connects to the address that answers first, and verifies its certificate. Throws AttemptFault. */
export async function openConnection(receiver: ReceiverUrl, options: ConnectOptions): Promise<Connection> {
  const { addresses, signal } = options;
  const { host, port } = receiver;
  const { promise, resolve, reject } = Promise.withResolvers<Connection>();
  // Only the plain socket counts the bytes of TLS itself.
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
    return await unlessAborted(promise, signal);
  } catch (error) {
    raw.destroy();
    throw error;
  }
}

function secureOver(raw: Socket, { host, host_is }: ReceiverUrl, { secureContext }: ConnectOptions): TLSSocket {
  return secure({
    socket: raw,
    host,
    // Servers choose their certificate by this name; an address is not a valid server name.
    ...(host_is === 'name' ? { servername: host } : {}),
    secureContext,
    rejectUnauthorized: true,
    ALPNProtocols: ['http/1.1'],
  });
}

/** A look-up that returns the validated addresses. Node does no look-up for a literal address, which was validated itself. */
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
