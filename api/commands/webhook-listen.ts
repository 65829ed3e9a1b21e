import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { Command } from 'commander';
import { z } from 'zod';
import { STOP_SIGNALS } from '../../schemas/command-line.ts';
import { escapeInvisible } from '../../schemas/errors.ts';
import { AnyEventBody } from '../../schemas/webhook-events.ts';
import type { Config } from '../config.ts';
import { recordsLocation } from '../records/database.ts';
import { openSecrets } from '../records/secrets.ts';
import { signatureFault } from '../webhooks/signature.ts';
import { storedSecrets } from '../webhooks/signing-secrets.ts';
import { wholeNumber, withRecords } from './cli.ts';
import { selfSigned } from './self-signed.ts';

const HOST = '127.0.0.1';
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
export function listenCommand(config: () => Config): Command {
  return new Command('listen')
    .description('receive deliveries on this machine, check their signatures and print them, until interrupted')
    .option('--port <n>', 'port to listen on; 0 takes a free one', wholeNumber(0, 65_535), DEFAULT_PORT)
    .option('--answer <status>', 'status to answer with, such as 503', wholeNumber(200, 599), 200)
    .option('--json', 'print one JSON object for each delivery')
    .action(
      async ({ port, answer, json }: { readonly port: number; readonly answer: number; readonly json?: true }) => {
        const settings = config();
        const stopped = new Promise<void>((resolve) => {
          for (const signal of STOP_SIGNALS) process.once(signal, () => resolve());
          // The reader of the output has gone.
          process.stdout.once('error', () => resolve());
        });
        const certificate = await ownCertificate(settings.data_root);
        const listener = await startListener({
          ...{ port, answer, certificate },
          secrets: () => secretsOfRecords(settings),
          received: (delivery) =>
            process.stdout.write(`${json ? JSON.stringify(delivery) : formatDelivery(delivery)}\n`),
        });
        process.stderr.write(`Listening at ${listener.url}  (Ctrl-C ends it)
The service reaches it when it was started with
  HAIL_WEBHOOK_ALLOW_CIDRS=127.0.0.0/8 HAIL_WEBHOOK_CA_FILE=${certificate.path}\n\n`);
        await stopped;
        await listener.stop();
      },
    );
}

export interface ListenerOptions {
  readonly port: number;
  readonly certificate: { readonly key: string; readonly cert: string };
  /** Secrets that may sign a delivery. */
  readonly secrets: () => Promise<readonly string[]>;
  readonly answer: number;
  readonly received: (delivery: ReceivedDelivery) => void;
}

/** Listens until it is stopped. Answers 401 to deliveries that none of the secrets signed. */
export async function startListener(
  options: ListenerOptions,
): Promise<{ readonly url: string; readonly stop: () => Promise<void> }> {
  const times = new Map<string, number>();
  const server = createServer(options.certificate, (request, response) => {
    handleDelivery(request, options, times).then(
      ({ id, answered }) =>
        response.writeHead(answered, { 'Content-Type': 'application/json' }).end(JSON.stringify({ received: id })),
      (error: unknown) => response.writeHead(400).end(`${error instanceof Error ? error.message : String(error)}\n`),
    );
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port, HOST, resolve);
  });
  return {
    url: `https://${HOST}:${(server.address() as AddressInfo).port}/`,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function handleDelivery(
  request: IncomingMessage,
  { secrets, answer, received }: ListenerOptions,
  times: Map<string, number>,
): Promise<ReceivedDelivery> {
  const sent = await text(request);
  const body = AnyEventBody.parse(JSON.parse(sent));
  const id = 'id' in body ? body.id : DeliveryId.parse(request.headers['x-service-delivery-id']);
  const signature = String(request.headers['x-service-signature'] ?? '');
  const faults = (await secrets()).map((secret) => signatureFault(signature, sent, secret, Date.now()));
  const fault = faults.includes(null) ? null : (faults[0] ?? 'no secret is known to check it with');
  const count = (times.get(id) ?? 0) + 1;
  times.set(id, count);
  const { event, data } = body;
  const about = { at: new Date().toISOString(), event, id, path: request.url ?? '', times: count };
  const delivery = { ...about, fault, answered: fault === null ? answer : 401, data };
  received(delivery);
  return delivery;
}

/** Secrets of the database, read for each delivery: webhooks may be created meanwhile. */
async function secretsOfRecords(config: Config): Promise<readonly string[]> {
  const { data_root, database_url, master_keys, now } = config;
  const location = recordsLocation(data_root, database_url);
  if ('path' in location && !existsSync(location.path)) return [];
  return await withRecords(config, async (records) => {
    const secrets = await openSecrets(records, { records_root: data_root, master_keys, now });
    return await storedSecrets(records.reader, secrets);
  });
}

/** The certificate of the listener in the data root; created at its first use. */
async function ownCertificate(data_root: string) {
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

/** A delivery as two lines, without control characters for the terminal. */
export function formatDelivery({ data, ...about }: ReceivedDelivery): string {
  const { at, event, id, path, times, fault, answered } = about;
  const again = times === 1 ? '' : `, time ${times}`;
  const line = `${at}  ${event}  ${id}${again}  ${path}  ${fault ?? 'signature valid'}, answered ${answered}`;
  return [line, JSON.stringify(data), ''].map(escapeInvisible).join('\n');
}
