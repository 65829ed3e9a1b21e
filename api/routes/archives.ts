import type { Catalog } from '../catalog.ts';
import { archiveResponse } from '../files/tiles.ts';
import type { OpenRoute } from '../middleware/open-route.ts';

/** GET /tiles/scan/… and /tiles/daily/…: the archives themselves, open to anyone, whole or by range. */
export function archives(catalog: Catalog): OpenRoute {
  return {
    path: '/tiles/',
    allow: 'GET, HEAD, OPTIONS',
    answer: async ({ request, path }) => {
      const { status, headers, stream } = await archiveResponse(
        { method: request.method ?? 'GET', path, headers: request.headers },
        catalog.edition(),
      );
      return { status, headers, body: stream };
    },
  };
}
