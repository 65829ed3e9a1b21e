import { serveDocument } from '../http/document.ts';
import { type OpenStreams, openStreams } from '../http/open-streams.ts';
import { JSON_TYPE } from '../http/reply.ts';
import type { Viewer } from '../published/archives/viewer.ts';
import type { PublicRoute } from '../server/middleware/public-routes.ts';

/** GET /: redirects to the documentation. */
export const frontPage: PublicRoute = {
  path: '/',
  handler: (ctx) => {
    ctx.body = null; // an empty string would set a Content-Type
    ctx.status = 302;
    ctx.set({ Location: 'docs', 'Cache-Control': 'no-store', 'Content-Length': '0' });
  },
};

/** GET /viewer and the files of the map page, with a limit of open streams for its archives. */
export function viewerPages(viewer: Viewer, streams: OpenStreams = openStreams()): PublicRoute {
  return {
    path: '/viewer{/*rest}',
    handler: async (ctx) => {
      const { path, address } = ctx.state;
      const { status, headers, body } = await viewer.respond(
        { method: ctx.method, path, headers: ctx.req.headers },
        (open) => streams.open(address, open),
      );
      ctx.status = status;
      ctx.set(headers);
      if (body !== null) ctx.body = body;
    },
  };
}

/** GET /v1/openapi.json, without a key; the earlier variant has its own path. */
export function openApiDocument(document: object, path = '/v1/openapi.json'): PublicRoute {
  return { path, handler: serveDocument(JSON_TYPE, JSON.stringify(document)) };
}
