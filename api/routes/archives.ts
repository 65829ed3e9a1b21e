import type { Readable } from 'node:stream';
import { type OpenStreams, openStreams } from '../http/open-streams.ts';
import { sendFile } from '../published/archives/response.ts';
import { archiveResponse } from '../published/archives/tile-archives.ts';
import type { Catalog } from '../published/catalog.ts';
import type { PublicRoute } from '../server/middleware/public-routes.ts';

/** GET /tiles/scan/…, /tiles/reflectivity/… and /tiles/daily/…: the archives, public, whole or by range, with a limit of open streams. */
export function archives(catalog: Catalog, streams: OpenStreams = openStreams()): PublicRoute {
  return {
    path: '/tiles{/*rest}',
    handler: async (ctx) => {
      const { path, address } = ctx.state;
      const request = { method: ctx.method, path, headers: ctx.headers };
      const limited = (open: () => Promise<Readable>) => streams.open(address, open);
      sendFile(ctx, await archiveResponse(request, catalog.edition(), limited));
    },
  };
}
