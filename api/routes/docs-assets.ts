import { readdirSync } from 'node:fs';
import { strippedModule } from '../files/viewer-assets.ts';
import { serveDocument } from '../http/document.ts';
import type { PublicRoute } from '../middleware/public-routes.ts';

const TYPE = 'text/javascript; charset=utf-8';
const OWN = new URL('../docs-page/', import.meta.url);

/** GET /docs/assets/<name>: the scripts of the reference and the guides. */
export const docsAssets: readonly PublicRoute[] = readdirSync(OWN)
  .filter((name) => name.endsWith('.ts'))
  .map(script);

/** A script, which is made on the first request for it. */
function script(name: string): PublicRoute {
  let made: Promise<ReturnType<typeof serveDocument>> | null = null;
  const serve = () => {
    made ??= strippedModule(new URL(name, OWN))
      .then((text) => serveDocument(TYPE, text, { 'X-Content-Type-Options': 'nosniff' }))
      .catch((error: unknown) => {
        made = null;
        throw error;
      });
    return made;
  };
  return { path: `/docs/assets/${name.replace(/\.ts$/, '.js')}`, handler: async (ctx) => (await serve())(ctx) };
}
