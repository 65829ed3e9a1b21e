import { PMTILES_TYPE } from '../../schemas/resources/tile-frame.ts';
import { ApiError } from '../http/errors.ts';
import { JSON_TYPE } from '../http/reply.ts';
import { serveFile } from '../published/archives/response.ts';
import { archiveAt } from '../published/archives/tile-archives.ts';
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

/**
 * GET /tiles/scan/…, /tiles/reflectivity/… and /tiles/daily/…: the archives that a manifest lists, public, whole or by range, with a
 * strong tag made of their content. Throws DataUnavailable for a listed archive that is gone or was altered.
 */
export function archives(catalog: Pick<Catalog, 'edition'>): PublicRoute {
  return {
    path: '/tiles{/*rest}',
    handler: async (ctx) => {
      const edition = catalog.edition();
      const archive = await archiveAt(ctx.state.path, edition);
      if (archive === null) throw new ApiError('not_found', 'no such archive');
      const { file, headers } = archive;
      const content = { bytes: file.bytes, etag: `"${file.sha256}"`, media_type: PMTILES_TYPE, headers };
      await serveFile(ctx, content, (range) => edition.files.open(file, range));
    },
  };
}

/** GET /v1/openapi.json, without a key; the earlier variant has its own path. */
export function openApiDocument(document: object, path = '/v1/openapi.json'): PublicRoute {
  return { path, handler: serveDocument(JSON_TYPE, JSON.stringify(document)) };
}
