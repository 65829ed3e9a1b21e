import { readFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { basename, join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { openViewer, type Viewer } from '../../../api/files/viewer.ts';
import { ERRORS, type ErrorCode } from '../../../schemas/errors.ts';
import { Current, Manifest, type PublishedFile } from '../../../schemas/manifest.ts';

/** What the page meets: the viewer's files, the two lists of archives, the archives themselves. Nothing else of the API. */
export interface ViewerService {
  readonly origin: string;
  readonly key: string;
  /** Dates of the root, ascending. */
  readonly dates: readonly string[];
  /** Every request line so far, with its Range. */
  readonly requests: readonly string[];
  /** The next calls, of whatever path, are refused with this; null: answered again. */
  refuse(code: ErrorCode | null, headers?: Readonly<Record<string, string>>): void;
  close(): Promise<void>;
}

interface Day {
  readonly frames: readonly object[];
  readonly daily: PublishedFile | null;
  readonly data_as_of: string;
}

const TILES = 'application/vnd.pmtiles';
const SCAN_CACHE = 'public, max-age=31536000, immutable';
const DAILY_CACHE = 'public, max-age=60, must-revalidate';

/** Serves a published root, or one without anything published, on a free port, as simulated or as observed data. */
export async function serveViewer(
  root: string | null,
  source: 'simulated' | 'observed' = 'simulated',
  port = 0,
): Promise<ViewerService> {
  const key = 'hs_live_of_the_test';
  const requests: string[] = [];
  let refusal: { code: ErrorCode; headers: Readonly<Record<string, string>> } | null = null;
  const files = new Map<string, { path: string; cache: string }>();
  const days = new Map<string, Day>();
  let viewer: Viewer | null = null;

  const json = (
    response: ServerResponse,
    status: number,
    body: object,
    headers: Readonly<Record<string, string>> = {},
  ) => {
    response.writeHead(status, {
      'Content-Type': 'application/json; charset=utf-8',
      'X-Data-Source': source,
      ...headers,
    });
    response.end(JSON.stringify(body));
  };
  const list = (request: IncomingMessage, response: ServerResponse, url: URL) => {
    if (refusal)
      return json(
        response,
        ERRORS[refusal.code].status,
        { error: refusal.code, message: '', request_id: 'req_1' },
        refusal.headers,
      );
    if (request.headers.authorization !== `Bearer ${key}`)
      return json(response, 401, { error: 'unauthorized', message: 'no such key', request_id: 'req_1' });
    const date = url.searchParams.get('date') ?? [...days.keys()].at(-1) ?? null;
    if (url.searchParams.has('date') && !/^\d{4}-\d{2}-\d{2}$/.test(date ?? ''))
      return json(response, 400, { error: 'invalid_parameter', message: `date is '${date}'`, request_id: 'req_1' });
    const day = days.get(date ?? '');
    const data_as_of = day?.data_as_of ?? [...days.values()].at(-1)?.data_as_of ?? null;
    if (url.pathname === '/v1/tiles/scan')
      return json(response, 200, {
        layer: 'scan',
        date,
        available: day !== undefined,
        data_as_of,
        frame_count: day?.frames.length ?? 0,
        frames: day?.frames ?? [],
        note: source,
      });
    const found = day?.daily ?? null;
    return json(response, 200, {
      layer: 'daily',
      date,
      available: found !== null,
      data_as_of,
      url: found && `${origin}/tiles/daily/${date}.pmtiles`,
      content_type: TILES,
      cache_control: DAILY_CACHE,
      size_bytes: found?.bytes ?? null,
      note: source,
    });
  };
  const archive = async (
    request: IncomingMessage,
    response: ServerResponse,
    { path, cache }: { path: string; cache: string },
  ) => {
    const bytes = await readFile(join(root ?? '', path));
    const [, from, to] = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '') ?? [];
    const start = Number(from ?? 0);
    const end = Math.min(Number(to ?? bytes.length), bytes.length - 1);
    if (start > end) return void response.writeHead(416, { 'Content-Range': `bytes */${bytes.length}` }).end();
    response.writeHead(from === undefined ? 200 : 206, {
      'Content-Type': TILES,
      'Cache-Control': cache,
      ETag: `"${basename(path)}"`,
      'Content-Range': `bytes ${start}-${end}/${bytes.length}`,
    });
    response.end(bytes.subarray(start, end + 1));
  };
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const url = new URL(request.url as string, origin);
    requests.push(`${request.method} ${request.url}${request.headers.range ? ` ${request.headers.range}` : ''}`);
    if (url.pathname.startsWith('/v1/tiles/') || (refusal && url.pathname.startsWith('/v1/')))
      return list(request, response, url);
    const file = files.get(url.pathname);
    if (file) return archive(request, response, file);
    if (!url.pathname.startsWith('/viewer')) return void response.writeHead(404).end();
    const made = await (viewer as Viewer).respond({
      method: request.method as string,
      path: url.pathname,
      headers: request.headers,
    });
    response.writeHead(made.status, made.headers).end(made.body ?? undefined);
  };

  const server = createServer((request, response) => {
    answer(request, response).catch((error: Error) => response.writeHead(500).end(error.message));
  });
  await new Promise<void>((listening) => server.listen(port, '127.0.0.1', listening));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  viewer = openViewer(`${origin}/v1`);
  for (const [date, day] of root === null ? [] : await readDays(root, origin, files)) days.set(date, day);
  return {
    origin,
    key,
    dates: [...days.keys()],
    requests,
    refuse(code, headers = {}) {
      refusal = code === null ? null : { code, headers };
    },
    async close() {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
}

async function readDays(
  root: string,
  origin: string,
  files: Map<string, { path: string; cache: string }>,
): Promise<[string, Day][]> {
  const current = Current.parse(JSON.parse(await readFile(join(root, 'current.json'), 'utf8')));
  const instance = await DuckDBInstance.create();
  const connection = await instance.connect();
  const days: [string, Day][] = [];
  for (const [date, commit] of Object.entries(current.open_dates).sort()) {
    const manifest = Manifest.parse(
      JSON.parse(await readFile(join(root, 'manifests', date, `${String(commit).padStart(6, '0')}.json`), 'utf8')),
    );
    const tables = manifest.files.filter(({ table }) => table === 'frames').map(({ path }) => `'${join(root, path)}'`);
    const rows = await connection.runAndReadAll(
      `SELECT *, strftime(scan_time, '%Y-%m-%dT%H:%M:%SZ') AS time FROM read_parquet([${tables}]) ORDER BY scan_time`,
    );
    const painted = new Map(
      manifest.files.filter(({ kind }) => kind === 'reflectivity-tiles').map((file) => [file.first_scan, file.path]),
    );
    const frames = rows.getRowObjects().map((row) => {
      const path = `/tiles/scan/${date}/${basename(String(row.tile_path))}`;
      files.set(path, { path: String(row.tile_path), cache: SCAN_CACHE });
      const reflectivity = painted.get(String(row.scan_id)) ?? null;
      const under = reflectivity === null ? null : `/tiles/reflectivity/${date}/${basename(reflectivity)}`;
      if (reflectivity !== null && under !== null) files.set(under, { path: reflectivity, cache: SCAN_CACHE });
      return {
        scan_id: row.scan_id,
        scan_time: row.time,
        url: origin + path,
        reflectivity_url: under === null ? null : origin + under,
        content_type: TILES,
        cache_control: SCAN_CACHE,
        max_prob: row.max_prob,
        max_size_mm: row.max_size_mm,
        storms: JSON.parse(String(row.storms)),
      };
    });
    const daily = manifest.files.find(({ kind }) => kind === 'daily-tiles') ?? null;
    if (daily) files.set(`/tiles/daily/${date}.pmtiles`, { path: daily.path, cache: DAILY_CACHE });
    days.push([date, { frames, daily, data_as_of: String(rows.getRowObjects().at(-1)?.time) }]);
  }
  connection.closeSync();
  instance.closeSync();
  return days;
}
