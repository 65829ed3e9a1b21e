import { serveDocument } from '../http/document.ts';
import { JSON_TYPE } from '../http/reply.ts';
import type { PublicRoute } from '../middleware/public-routes.ts';

/** GET /v1/openapi.json, without a key. */
export function openApiDocument(document: object): PublicRoute {
  return { path: '/v1/openapi.json', handler: serveDocument(JSON_TYPE, JSON.stringify(document)) };
}
