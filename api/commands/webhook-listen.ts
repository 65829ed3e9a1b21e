import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer as createPlainServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { styleText } from 'node:util';
import { Command } from 'commander';
import { z } from 'zod';
import { STOP_SIGNALS } from '../../schemas/command-line.ts';
import { AnyEventBody } from '../../schemas/webhook-events.ts';
import type { Config } from '../config.ts';
import { recordsLocation } from '../records/database.ts';
import { openSecrets } from '../records/secrets.ts';
import { signatureFault } from '../webhooks/signature.ts';
import { storedSecrets } from '../webhooks/signing-secrets.ts';
import { collectWords, duration, type RecordsConfig, wholeNumber, withRecords } from './cli.ts';
import { selfSigned } from './self-signed.ts';

/** Settings of the command. */
type ListenConfig = RecordsConfig & Pick<Config, 'master_keys'>;

interface ListenOptions {
  readonly json?: true;
  readonly http?: true;
  readonly host: string;
  readonly port: number;
  readonly secret?: readonly string[];
  readonly answer: number;
  readonly delay: number;
}

/** The service sends no larger bodies. */
const BODY_BYTES_MAX = 1_000_000;
const DEFAULT_PORT = 8443;

const DeliveryId = z.string({ error: 'X-Service-Delivery-Id is missing, expected the id of the event' }).min(1);

/** A delivery with the result of its checks. */
export interface ReceivedDelivery {
  readonly at: string;
  readonly event: string;
  readonly id: string;
  /** Path of the request: several receivers may share one listener. */
  readonly path: string;
  /** Deliveries with this id so far: more than 1 is a retry. */
  readonly times: number;
  /** Why the signature is not valid; null: it is valid. */
  readonly fault: string | null;
  readonly answered: number;
  readonly data: Readonly<Record<string, unknown>>;
}

/** `hail-api webhook listen`: a receiver on this machine, for trials. */
export function listenCommand(config: () => ListenConfig): Command {
  return new Command('listen')
    .description('receive deliveries on this machine, check their signatures and print them, until interrupted')
    .option('--host <address>', 'address to listen on', '127.0.0.1')
    .option('--port <n>', 'port to listen on; 0 takes a free one', wholeNumber(0, 65_535), DEFAULT_PORT)
    .option('--http', 'without TLS, for behind something that has it')
    .option(
      '--secret <secret>',
      'secret to check with, may be repeated; those of the records when left out',
      collectWords,
    )
    .option('--answer <status>', 'status to answer with, such as 503', wholeNumber(200, 599), 200)
    .option('--delay <duration>', 'how long to think before answering', duration, 0)
    .option('--json', 'print one JSON object for each delivery')
    .action(async (options: ListenOptions) => {
      const settings = config();
      const stopped = new Promise<void>((resolve) => {
        for (const signal of STOP_SIGNALS) process.once(signal, () => resolve());
        // The reader of the output has gone.
        process.stdout.once('error', () => resolve());
      });
      const certificate = options.http ? null : await ownCertificate(settings.data_root);
      const listener = await startListener({
        ...options,
        certificate,
        secrets: options.secret === undefined ? secretsOfRecords(settings) : async () => options.secret ?? [],
        received: (delivery) =>
          process.stdout.write(`${options.json ? JSON.stringify(delivery) : formatDelivery(delivery)}\n`),
      });
      process.stderr.write(startMessage(listener.url, certificate, options.host));
      await stopped;
      await listener.stop();
    });
}

/** A certificate with its key, and the path of the certificate. */
interface Certificate {
  readonly key: string;
  readonly cert: string;
  readonly path: string;
}

export interface ListenerOptions {
  readonly host: string;
  readonly port: number;
  /** Null: plain HTTP. */
  readonly certificate: Pick<Certificate, 'key' | 'cert'> | null;
  /** Secrets that may sign a delivery. */
  readonly secrets: () => Promise<readonly string[]>;
  readonly answer: number;
  /** Milliseconds before the answer. */
  readonly delay: number;
  readonly received: (delivery: ReceivedDelivery) => void;
}

/** Listens until it is stopped. Answers 401 to deliveries that none of the secrets signed. */
export async function startListener(
  options: ListenerOptions,
): Promise<{ readonly url: string; readonly stop: () => Promise<void> }> {
  const { certificate, host, port } = options;
  const times = new Map<string, number>();
  const serve = (request: IncomingMessage, response: ServerResponse) => {
    handleDelivery(request, response, options, times).catch((error: unknown) => {
      response.writeHead(400).end(`${error instanceof Error ? error.message : String(error)}\n`);
    });
  };
  const server = certificate === null ? createPlainServer(serve) : createServer(certificate, serve);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
  const { port: taken } = server.address() as AddressInfo;
  return {
    url: `${certificate === null ? 'http' : 'https'}://${host.includes(':') ? `[${host}]` : host}:${taken}/`,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function handleDelivery(
  request: IncomingMessage,
  response: ServerResponse,
  { secrets, answer, delay, received }: ListenerOptions,
  times: Map<string, number>,
): Promise<void> {
  const text = await readBody(request);
  const body = AnyEventBody.parse(JSON.parse(text));
  const id = 'id' in body ? body.id : DeliveryId.parse(request.headers['x-service-delivery-id']);
  const signature = String(request.headers['x-service-signature'] ?? '');
  const faults = (await secrets()).map((secret) => signatureFault(signature, text, secret, Date.now()));
  const fault = faults.includes(null) ? null : (faults[0] ?? 'no secret is known to check it with');
  const answered = fault === null ? answer : 401;
  const count = (times.get(id) ?? 0) + 1;
  times.set(id, count);
  const { event, data } = body;
  const path = request.url ?? '';
  received({ at: new Date().toISOString(), event, id, path, times: count, fault, answered, data });
  if (delay > 0) await sleep(delay);
  response.writeHead(answered, { 'Content-Type': 'application/json' }).end(JSON.stringify({ received: id }));
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > BODY_BYTES_MAX) throw new Error(`body is over ${BODY_BYTES_MAX} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** Secrets of the database, read for each delivery: webhooks may be created meanwhile. */
function secretsOfRecords(config: ListenConfig): ListenerOptions['secrets'] {
  const { data_root, database_url, master_keys, now } = config;
  return async () => {
    const location = recordsLocation(data_root, database_url);
    if ('path' in location && !existsSync(location.path)) return [];
    return await withRecords(config, async (records) => {
      const secrets = await openSecrets(records, { records_root: data_root, master_keys, now });
      return await storedSecrets(records.reader, secrets);
    });
  };
}

/** The certificate of the listener in the data root; created at its first use. */
async function ownCertificate(data_root: string): Promise<Certificate> {
  const folder = join(data_root, 'records');
  const path = join(folder, 'listen.pem');
  const key_path = join(folder, 'listen.key');
  if (!existsSync(path) || !existsSync(key_path)) {
    const { key, cert } = await selfSigned(['localhost']);
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    writeFileSync(key_path, key, { mode: 0o600 });
    writeFileSync(path, cert);
  }
  return { key: readFileSync(key_path, 'utf8'), cert: readFileSync(path, 'utf8'), path };
}

/** Instructions for sending deliveries to the listener. */
function startMessage(url: string, certificate: Certificate | null, host: string): string {
  const reach =
    certificate === null
      ? 'Deliveries go to https addresses: put something with TLS in front of it.'
      : `The service reaches it when it was started with
  HAIL_WEBHOOK_ALLOW_CIDRS=${host.includes(':') ? '::1' : '127.0.0.0/8'} HAIL_WEBHOOK_CA_FILE=${certificate.path}`;
  return `Listening at ${url}  (Ctrl-C ends it)\n${reach}\n\n`;
}

/** A delivery as text for a terminal. */
export function formatDelivery({ at, event, id, path, times, fault, answered, data }: ReceivedDelivery): string {
  const paint = (style: Parameters<typeof styleText>[0], text: string) =>
    styleText(style, text, { stream: process.stdout });
  const verdict = fault === null ? paint('green', 'signature valid') : paint('red', fault);
  const again = times === 1 ? '' : paint('yellow', `  time ${times}`);
  const width = Math.max(0, ...Object.keys(data).map((name) => name.length));
  return [
    `${paint('dim', at.slice('YYYY-MM-DDT'.length, -1))}  ${paint('bold', event)}  ${id}${again}`,
    `  ${shownValue(path)}  ${verdict}, answered ${answered}`,
    ...Object.entries(data).map(([name, value]) => `  ${paint('dim', name.padEnd(width))}  ${shownValue(value)}`),
    '',
  ].join('\n');
}

/** A value on one line, without control characters for the terminal. */
function shownValue(value: unknown): string {
  return typeof value === 'string' && /^[^\p{C}]*$/u.test(value)
    ? value
    : JSON.stringify(value).replaceAll(/\p{C}/gu, '?');
}
