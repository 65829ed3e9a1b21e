import { hash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { matches } from './freshness.ts';
import { acceptsGzip } from './negotiate.ts';
import type { OpenRoute } from './open-route.ts';

/** Serves one text that stays the same while the process lives, without a key. */
export function documentRoute(
  path: string,
  type: string,
  text: string,
  headers: Readonly<Record<string, string>> = {},
): OpenRoute {
  const plain = Buffer.from(text);
  const zipped = gzipSync(plain, { level: 9 });
  const tag = `W/"${hash('sha256', plain, 'base64url').slice(0, 27)}"`;
  const common = {
    'Content-Type': type,
    'Cache-Control': 'public, max-age=60',
    ETag: tag,
    Vary: 'Accept-Encoding',
    ...headers,
  };
  return {
    path,
    allow: 'GET, HEAD, OPTIONS',
    answer: async ({ request }) => {
      if (matches(request.headers['if-none-match'], tag)) return { status: 304, headers: common, body: null };
      if (!acceptsGzip(request.headers['accept-encoding'])) return { status: 200, headers: common, body: plain };
      return { status: 200, headers: { ...common, 'Content-Encoding': 'gzip' }, body: zipped };
    },
  };
}
