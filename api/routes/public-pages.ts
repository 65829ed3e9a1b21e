import { JSON_TYPE } from '../http/reply.ts';
import { sendFile } from '../published/archives/response.ts';
import { archiveResponse } from '../published/archives/tile-archives.ts';
import type { Viewer } from '../published/archives/viewer.ts';
import type { Catalog } from '../published/catalog.ts';
import { type PublicRoute, serveDocument } from '../server/public.ts';

/** GET /: redirects to the documentation. */
export const frontPage: PublicRoute = {
  path: '/',
  handler: (ctx) => {
    ctx.body = null; // an empty string would set a Content-Type
    ctx.status = 302;
    ctx.set({ Location: 'docs', 'Cache-Control': 'no-store', 'Content-Length': '0' });
  },
};

/** GET /viewer and the files of the map page. */
export function viewerPages(viewer: Viewer): PublicRoute {
  return {
    path: '/viewer{/*rest}',
    handler: async (ctx) => {
      const { status, headers, body } = await viewer.respond({
        method: ctx.method,
        path: ctx.state.path,
        headers: ctx.req.headers,
      });
      ctx.status = status;
      ctx.set(headers);
      if (body !== null) ctx.body = body;
    },
  };
}

/** GET /tiles/scan/…, /tiles/reflectivity/… and /tiles/daily/…: the archives, public, whole or by range. */
export function archives(catalog: Pick<Catalog, 'edition'>): PublicRoute {
  return {
    path: '/tiles{/*rest}',
    handler: async (ctx) => {
      const request = { method: ctx.method, path: ctx.state.path, headers: ctx.headers };
      sendFile(ctx, await archiveResponse(request, catalog.edition()));
    },
  };
}

/** GET /v1/openapi.json, without a key; the earlier variant has its own path. */
export function openApiDocument(document: object, path = '/v1/openapi.json'): PublicRoute {
  return { path, handler: serveDocument(JSON_TYPE, JSON.stringify(document)) };
}
