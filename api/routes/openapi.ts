import { serveDocument } from '../http/document.ts';
import { JSON_TYPE } from '../http/reply.ts';
import type { PublicRoute } from '../middleware/public-routes.ts';

/** GET /v1/openapi.json, or the path of another description, without a key. */
export function openApiDocument(document: object, path = '/v1/openapi.json'): PublicRoute {
  return { path, handler: serveDocument(JSON_TYPE, JSON.stringify(document)) };
}
