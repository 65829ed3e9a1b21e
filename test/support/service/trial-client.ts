import { strict as assert } from 'node:assert';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';

// A client as an author outside would write it. Everything it knows of the service comes from /docs and from the OpenAPI document
// that /docs links to. It imports nothing of the project; a test checks that.

/** A request that the server of the author has received. */
interface ReceivedRequest {
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

/** What the author has. */
export interface Author {
  /** `http://…/docs`. */
  readonly docs_url: string;
  readonly key: string;
  /** Address of a server of the author's, and what it has received so far. */
  readonly hook_url: string;
  readonly received: readonly ReceivedRequest[];
}

interface Operation {
  readonly operationId?: string;
  readonly 'x-credits'?: number;
  readonly parameters?: readonly { readonly in: string; readonly name: string; readonly required?: boolean }[];
}
interface OpenApi {
  readonly openapi: string;
  readonly servers: readonly { readonly url: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

/** Parts of a call besides its operation. */
interface CallParts {
  readonly path?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string | number>>;
  readonly body?: object;
  readonly headers?: Readonly<Record<string, string>>;
}

const POLL_MS = 500;
const PATIENCE_MS = 90_000;

/** The client, after it has read the documents. */
export interface TrialClient {
  /** Calls an operation by its id; throws for an error, with its code and the advice of the page of errors. */
  readonly call: <Answer>(operationId: string, parts?: CallParts) => Promise<Answer>;
  /** Credits of the calls so far, by the prices of the OpenAPI document. */
  readonly expectedCredits: () => number;
  /** The code of the guide for receivers. */
  readonly signatures: SignatureChecks;
  readonly close: () => Promise<void>;
}

interface SignatureChecks {
  verify(body: string, signature: string, secret: string): boolean;
  verifyStandard(body: string, headers: readonly [string, string, string], secret: string): boolean;
}

/** Reads the documents and builds the client. */
export async function openTrialClient({ docs_url, key }: Author): Promise<TrialClient> {
  const reference = await textOf(docs_url);
  const openapi = (await (await fetch(linkIn(reference, docs_url, /openapi\.json$/))).json()) as OpenApi;
  assert.match(openapi.openapi, /^3\.1/);
  const quickstart = await textOf(linkIn(reference, docs_url, /quickstart$/));
  const [server] = openapi.servers;
  assert.ok(server);
  assert.match(quickstart, new RegExp(`export HAIL_URL=${server.url}/v1\\b`));
  const errors_url = linkIn(reference, docs_url, /\/errors$/);
  const events_url = linkIn(reference, docs_url, /receive-events$/);
  const folder = await mkdtemp(join(tmpdir(), 'hail-trial-'));
  const signatures = await codeOf(await textOf(events_url), 'verify-webhook.ts', folder);

  const operations = new Map(
    Object.entries(openapi.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => [operation.operationId, { path, method, operation }]),
    ),
  );
  let credits = 0;

  return {
    signatures,
    expectedCredits: () => credits,
    call: async <Answer>(operationId: string, { path = {}, query = {}, body, headers = {} }: CallParts = {}) => {
      const found = operations.get(operationId);
      assert.ok(found, `the document has no operation ${operationId}`);
      const { parameters = [] } = found.operation;
      for (const { name, in: place, required } of parameters)
        if (required && place !== 'header')
          assert.ok(name in (place === 'path' ? path : query), `${operationId} ${name}`);
      for (const name of Object.keys(query))
        assert.ok(
          parameters.some((parameter) => parameter.name === name),
          `${operationId} has no parameter ${name}`,
        );
      const filled = found.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(path[name] ?? ''));
      const url = new URL(`${server.url}${filled}`);
      for (const [name, value] of Object.entries(query)) url.searchParams.set(name, String(value));
      const reply = await fetch(url, {
        method: found.method.toUpperCase(),
        headers: {
          Authorization: `Bearer ${key}`,
          ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      if (!reply.ok) {
        const { error, message } = (await reply.json()) as { readonly error: string; readonly message: string };
        throw new Error(`${error}: ${message}. ${await adviceOn(error, errors_url)}`);
      }
      if (reply.headers.get('Idempotent-Replay') === null) credits += found.operation['x-credits'] ?? 0;
      return (await reply.json()) as Answer;
    },
    close: () => rm(folder, { recursive: true }),
  };
}

/** What the page of errors says to do about a code. */
async function adviceOn(code: string, errors_url: string): Promise<string> {
  const [, advice] = new RegExp(`<article id="${code}">[\\s\\S]*?What to do\\.</strong> ([\\s\\S]*?)</p>`).exec(
    await textOf(errors_url),
  ) ?? [null, null];
  assert.ok(advice, `the page of errors has no ${code}`);
  return unescapeHtml(advice.replaceAll(/<[^>]+>/g, ''));
}

/** Address of the first link of a page that matches. */
function linkIn(page: string, page_url: string, pattern: RegExp): string {
  const link = [...page.matchAll(/href="([^"#]+)"/g)].map(([, href = '']) => href).find((href) => pattern.test(href));
  assert.ok(link, `${page_url} has no link ${pattern}`);
  return new URL(link, page_url).href;
}

async function textOf(url: string): Promise<string> {
  const reply = await fetch(url);
  assert.equal(reply.status, 200, url);
  return reply.text();
}

/** Copies the code block of a page that names a file, as the reader's copy button does, and loads it. */
async function codeOf(page: string, file: string, folder: string): Promise<SignatureChecks> {
  const blocks = [...page.matchAll(/<pre[^>]*><code>([\s\S]*?)<\/code><\/pre>/g)].map(([, code = '']) =>
    unescapeHtml(code),
  );
  const code = blocks.find((block) => block.split('\n')[0]?.includes(file));
  assert.ok(code, `the page has no code of ${file}`);
  await writeFile(join(folder, file), code);
  return import(pathToFileURL(join(folder, file)).href) as Promise<SignatureChecks>;
}

function unescapeHtml(text: string): string {
  const entities: Readonly<Record<string, string>> = { lt: '<', gt: '>', quot: '"', amp: '&' };
  return text.replaceAll(/&(lt|gt|quot|amp);/g, (_, name: string) => entities[name] ?? '');
}

/** Polls until what is asked for is there. */
export async function waitFor<Found>(
  what: string,
  find: () => Promise<Found | undefined> | Found | undefined,
): Promise<Found> {
  for (const end_ms = performance.now() + PATIENCE_MS; performance.now() < end_ms; await sleep(POLL_MS)) {
    const found = await find();
    if (found !== undefined) return found;
  }
  throw new Error(`${what} did not come within ${PATIENCE_MS / 1000} s`);
}
