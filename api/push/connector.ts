import type { LookupFunction } from 'node:net';
import { isIPv6 } from 'node:net';
import { connect, type SecureContext, type TLSSocket } from 'node:tls';
import type { Receiver } from './address.ts';

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

/** Connects to one of the addresses, whichever answers first, and has it prove that it is the receiver. Throws AttemptFault. */
export async function connectTo(receiver: Receiver, options: ConnectOptions): Promise<TLSSocket> {
  const { addresses, secureContext, late } = options;
  const { host, host_is, port } = receiver;
  const { promise, resolve, reject } = Promise.withResolvers<TLSSocket>();
  let reached = false;
  const socket = connect({
    host,
    port,
    lookup: answerWith(addresses),
    // Servers choose the certificate by the name that they are called by; there is none in an address.
    ...(host_is === 'name' ? { servername: host } : {}),
    secureContext,
    rejectUnauthorized: true,
    ALPNProtocols: ['http/1.1'],
  });
  socket.once('connect', () => {
    reached = true;
  });
  socket.once('secureConnect', () => resolve(socket));
  socket.on('error', (error) => reject(faultOf(error, reached)));
  socket.once('close', () => reject(new AttemptFault('connect', 'connection was closed')));
  try {
    return await orLate(promise, late);
  } catch (error) {
    socket.destroy();
    throw error;
  }
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

function faultOf(error: Error, reached: boolean): AttemptFault {
  const { code } = error as NodeJS.ErrnoException;
  const error_class = reached && !BROKEN.has(code) ? 'tls' : 'connect';
  return new AttemptFault(error_class, code ?? error.message, { cause: error });
}
