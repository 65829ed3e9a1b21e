import { documentRoute } from '../middleware/document.ts';
import type { OpenRoute } from '../middleware/open-route.ts';
import { JSON_TYPE } from '../middleware/reply.ts';

/** GET /v1/openapi.json, without a key. */
export function openApiDocument(document: object): OpenRoute {
  return documentRoute('/v1/openapi.json', JSON_TYPE, JSON.stringify(document));
}
