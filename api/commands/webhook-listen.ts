import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { Command } from 'commander';
import { z } from 'zod';
import { escapeInvisible } from '../../schemas/errors.ts';
import { AnyEventBody } from '../../schemas/webhook-events.ts';
import type { Config } from '../config.ts';
import { openCipher } from '../records/cipher.ts';
import { recordsLocation } from '../records/database.ts';
import { signatureFault } from '../webhooks/signature.ts';
import { storedSecrets } from '../webhooks/signing-secrets.ts';
import { stopSignal, wholeNumber, withRecords } from './cli.ts';

const HOST = '127.0.0.1';
const DEFAULT_PORT = 8443;

const DeliveryId = z.string({ error: 'X-Service-Delivery-Id is missing, expected the id of the event' }).min(1);

/** `hail-api webhook listen`: a receiver on this machine, for trials. Answers 401 to a delivery without a valid signature. */
export function listenCommand(config: () => Config): Command {
  return new Command('listen')
    .description('receive deliveries on this machine, check their signatures and print them, until interrupted')
    .option('--port <n>', 'port to listen on; 0 takes a free one', wholeNumber(0, 65_535), DEFAULT_PORT)
    .option('--answer <status>', 'status to answer with, such as 503', wholeNumber(200, 599), 200)
    .option('--json', 'print one JSON object for each delivery')
    .action(
      async ({ port, answer, json }: { readonly port: number; readonly answer: number; readonly json?: true }) => {
        const settings = config();
        const stopped = stopSignal();
        const readerGone = once(process.stdout, 'error');
        const { path, ...certificate } = await ownCertificate(settings.data_root);
        const times = new Map<string, number>();
        const server = createServer(certificate, async (request, response) => {
          try {
            const delivery = await readDelivery(request, settings, answer, times);
            process.stdout.write(`${json ? JSON.stringify(delivery) : formatDelivery(delivery)}\n`);
            response.writeHead(delivery.answered, { 'Content-Type': 'application/json' });
            response.end(JSON.stringify({ received: delivery.id }));
          } catch (error) {
            response.writeHead(400).end(`${error instanceof Error ? error.message : String(error)}\n`);
          }
        });
        await once(server.listen(port, HOST), 'listening');
        process.stderr.write(`Listening at https://${HOST}:${(server.address() as AddressInfo).port}/  (Ctrl-C ends it)
The service reaches it when it was started with
  HAIL_WEBHOOK_ALLOW_CIDRS=127.0.0.0/8 HAIL_WEBHOOK_CA_FILE=${path}\n\n`);
        await Promise.race([stopped, readerGone]);
        server.close();
        server.closeAllConnections();
      },
    );
}

/** A delivery with the result of its checks. */
async function readDelivery(request: IncomingMessage, settings: Config, answer: number, seen: Map<string, number>) {
  const sent = await text(request);
  const body = AnyEventBody.parse(JSON.parse(sent));
  const id = 'id' in body ? body.id : DeliveryId.parse(request.headers['x-service-delivery-id']);
  const signature = String(request.headers['x-service-signature'] ?? '');
  const secrets = await secretsOfRecords(settings);
  const faults = secrets.map((secret) => signatureFault(signature, sent, secret, Date.now()));
  const fault = faults.includes(null) ? null : (faults[0] ?? 'no secret is known to check it with');
  const times = (seen.get(id) ?? 0) + 1;
  seen.set(id, times);
  return {
    at: new Date().toISOString(),
    event: body.event,
    id,
    /** Several receivers may share one listener. */
    path: request.url ?? '',
    /** Deliveries with this id so far: more than 1 is a retry. */
    times,
    /** Why the signature is not valid; null: it is valid. */
    fault,
    answered: fault === null ? answer : 401,
    data: body.data,
  };
}

/** Secrets of the database, read for each delivery: webhooks may be created meanwhile. */
async function secretsOfRecords(config: Config): Promise<readonly string[]> {
  const { data_root, database_url, master_keys, now } = config;
  const location = recordsLocation(data_root, database_url);
  if ('path' in location && !existsSync(location.path)) return [];
  return await withRecords(config, async (records) => {
    const cipher = await openCipher(records.store, { records_root: data_root, master_keys, now });
    return await storedSecrets(records.reader, cipher);
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
function formatDelivery(delivery: Awaited<ReturnType<typeof readDelivery>>): string {
  const { at, event, id, path, times, fault, answered, data } = delivery;
  const again = times === 1 ? '' : `, time ${times}`;
  const line = `${at}  ${event}  ${id}${again}  ${path}  ${fault ?? 'signature valid'}, answered ${answered}`;
  return [line, JSON.stringify(data), ''].map(escapeInvisible).join('\n');
}

/**
 * A new key and self-signed certificate for 127.0.0.1 and for names, both PEM: P-256, valid until the end of 2049. For trials on
 * one machine.
 */
export async function selfSigned(names: readonly string[] = []) {
  // Loaded here: importing it takes longer than most commands run.
  const { generate } = await import('selfsigned');
  const { private: key, cert } = await generate([{ name: 'commonName', value: 'localhost' }], {
    keyType: 'ec',
    algorithm: 'sha256',
    notBeforeDate: new Date('2020-01-01T00:00:00Z'),
    notAfterDate: new Date('2049-12-31T23:59:59Z'),
    extensions: [
      { name: 'basicConstraints', cA: true },
      {
        name: 'subjectAltName',
        altNames: [...names.map((value) => ({ type: 2 as const, value })), { type: 7, ip: '127.0.0.1' }],
      },
    ],
  });
  return { key, cert };
}
