import type { Catalog } from '../catalog.ts';
import { archiveResponse } from '../files/tiles.ts';
import { type OpenStreams, openStreams } from '../http/open-streams.ts';
import type { PublicRoute } from '../middleware/public-routes.ts';

/** GET /tiles/scan/…, /tiles/reflectivity/… and /tiles/daily/…: the archives, public, whole or by range, with a limit of open streams. */
export function archives(catalog: Catalog, streams: OpenStreams = openStreams()): PublicRoute {
  return {
    path: '/tiles{/*rest}',
    handler: async (ctx) => {
      const { path, address } = ctx.state;
      const { status, headers, stream } = await archiveResponse(
        { method: ctx.method === 'HEAD' ? 'HEAD' : 'GET', path, headers: ctx.headers },
        catalog.edition(),
        (open) => streams.open(address, open),
      );
      ctx.status = status;
      ctx.set(headers);
      if (stream !== null) ctx.body = stream;
    },
  };
}
