import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What goes wrong with one request for an object, or for a listing (key `?list`). */
type Fault =
  | { readonly kind: 'status'; readonly status: number; readonly headers?: Readonly<Record<string, string>> }
  /** Sends so many bytes of what was asked for, then breaks the connection. */
  | { readonly kind: 'reset'; readonly after: number }
  /** Sends so many bytes without a Content-Length and ends as if that were all. */
  | { readonly kind: 'truncate'; readonly after: number }
  /** Announces (and sends) other content than the listing promised. */
  | { readonly kind: 'body'; readonly body: Buffer }
  /** Sends so many bytes and then nothing more, with the connection open; `stalled` is called. */
  | { readonly kind: 'stall'; readonly after: number; readonly stalled: () => void }
  /** Sends the whole object whatever range was asked for. */
  | { readonly kind: 'whole' };

export type BucketServer = Awaited<ReturnType<typeof startBucket>>;

export interface StartBucket {
  readonly objects?: Readonly<Record<string, Buffer>>;
  /** Objects per page of a listing. */
  readonly pageSize?: number;
}

/** A local HTTP server that behaves like a public S3 bucket: ListObjectsV2 with continuation, objects, ranges, ETags. */
export async function startBucket({ objects = {}, pageSize = 2 }: StartBucket) {
  const bodies = new Map(Object.entries(objects));
  const faults = new Map<string, Fault[]>();
  const requests: string[] = [];
  const answer: RequestListener = (request, response) => {
    const url = new URL(request.url ?? '/', 'http://bucket');
    const isListing = url.searchParams.get('list-type') === '2';
    const key = isListing ? '?list' : decodeURIComponent(url.pathname.slice(1));
    const range = request.headers.range ?? '';
    requests.push(`${request.method} ${isListing ? `list ${url.searchParams}` : key} ${range}`.trim());
    const fault = faults.get(key)?.shift();
    const body = isListing ? Buffer.from(listing(bodies, url.searchParams, pageSize)) : bodies.get(key);
    respond(request, response, body, fault);
  };
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    /** Method, path with query, and Range header of every request, in order. */
    requests,
    /** Puts an object in, or another version of it. */
    put: (key: string, body: Buffer) => void bodies.set(key, body),
    /** What the next requests for a key meet, one fault each; afterwards all is well. */
    fail: (key: string, ...list: Fault[]) => void faults.set(key, list),
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function respond(request: IncomingMessage, response: ServerResponse, body: Buffer | undefined, fault?: Fault): void {
  if (fault?.kind === 'status') {
    response.writeHead(fault.status, fault.headers).end('<Error><Code>SlowDown</Code></Error>');
    return;
  }
  if (body === undefined) {
    response.writeHead(404).end('<Error><Code>NoSuchKey</Code></Error>');
    return;
  }
  const range = /^bytes=(\d+)-$/.exec(request.headers.range ?? '');
  const ifRange = request.headers['if-range'];
  const isPart = range !== null && fault?.kind !== 'whole' && (ifRange === undefined || ifRange === etagOf(body));
  const start = isPart ? Number(range[1]) : 0;
  if (isPart && start >= body.length) {
    response.writeHead(416, { 'content-range': `bytes */${body.length}` }).end();
    return;
  }
  const content = fault?.kind === 'body' ? fault.body : body.subarray(start);
  response.setHeader('etag', etagOf(body));
  if (fault?.kind !== 'truncate') response.setHeader('content-length', content.length);
  if (isPart) response.setHeader('content-range', `bytes ${start}-${body.length - 1}/${body.length}`);
  response.statusCode = isPart ? 206 : 200;
  send(response, content, fault);
}

function send(response: ServerResponse, content: Buffer, fault: Fault | undefined): void {
  if (fault?.kind === 'reset') response.write(content.subarray(0, fault.after), () => response.destroy());
  else if (fault?.kind === 'stall') response.write(content.subarray(0, fault.after), fault.stalled);
  else if (fault?.kind === 'truncate') response.write(content.subarray(0, fault.after), () => response.end());
  else response.end(content);
}

function listing(bodies: ReadonlyMap<string, Buffer>, query: URLSearchParams, pageSize: number): string {
  const prefix = query.get('prefix') ?? '';
  // The token of this bucket is the last key of the page before, in a form that needs escaping twice.
  const after = query.get('continuation-token')?.replace(/^token <(.*)> &$/, '$1') ?? query.get('start-after') ?? '';
  const keys = [...bodies.keys()].filter((key) => key.startsWith(prefix) && key > after).sort();
  const page = keys.slice(0, pageSize);
  const more = keys.length > page.length;
  const contents = page.map((key) => {
    const body = bodies.get(key) as Buffer;
    return `<Contents><Key>${escapeXml(key)}</Key><LastModified>2024-02-28T02:54:01.000Z</LastModified><ETag>${escapeXml(etagOf(body))}</ETag><Size>${body.length}</Size><StorageClass>STANDARD</StorageClass></Contents>`;
  });
  const token = more ? `<NextContinuationToken>${escapeXml(`token <${page.at(-1)}> &`)}</NextContinuationToken>` : '';
  return `<?xml version="1.0" encoding="UTF-8"?>
<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>bucket</Name><Prefix>${escapeXml(prefix)}</Prefix>${token}<KeyCount>${page.length}</KeyCount><MaxKeys>${pageSize}</MaxKeys><IsTruncated>${more}</IsTruncated>${contents.join('')}</ListBucketResult>`;
}

function etagOf(body: Buffer): string {
  return `"${createHash('md5').update(body).digest('hex')}"`;
}

function escapeXml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (sign) => `&#${sign.codePointAt(0)};`).replaceAll('&#38;', '&amp;');
}
