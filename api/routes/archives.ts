import type { Catalog } from '../catalog.ts';
import { type OpenStreams, openStreams } from '../files/open-streams.ts';
import { archiveResponse } from '../files/tiles.ts';
import type { OpenRoute } from '../middleware/open-route.ts';

/** GET /tiles/scan/… and /tiles/daily/…: the archives themselves, open to anyone, whole or by range, so many at once. */
export function archives(catalog: Catalog, streams: OpenStreams = openStreams()): OpenRoute {
  return {
    path: '/tiles/',
    allow: 'GET, HEAD, OPTIONS',
    answer: async ({ request, path, address }) => {
      const { status, headers, stream } = await archiveResponse(
        { method: request.method ?? 'GET', path, headers: request.headers },
        catalog.edition(),
        (open) => streams.open(address, open),
      );
      return { status, headers, body: stream };
    },
  };
}
