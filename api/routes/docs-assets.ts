import { readdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { strippedModule } from '../files/viewer-assets.ts';
import { serveDocument } from '../http/document.ts';
import { JSON_TYPE } from '../http/reply.ts';
import type { PublicRoute } from '../middleware/public-routes.ts';
import { ASSETS_PATH } from './docs-html.ts';
import type { DocsSource } from './docs-reference.ts';
import { searchEntries } from './docs-search.ts';

const SCRIPT_TYPE = 'text/javascript; charset=utf-8';
const OWN = new URL('../docs-page/', import.meta.url);

/** The scripts of the documentation pages, the library that they search with, and what is searched. */
export function docsAssets(source: DocsSource): readonly PublicRoute[] {
  const modules = readdirSync(OWN).filter((name) => name.endsWith('.ts'));
  return [
    ...modules.map((name) =>
      asset(name.replace(/\.ts$/, '.js'), SCRIPT_TYPE, async () =>
        (await strippedModule(new URL(name, OWN))).replaceAll(/(from ')minisearch'/g, "$1./minisearch.js'"),
      ),
    ),
    asset('minisearch.js', SCRIPT_TYPE, async () => {
      const text = await readFile(new URL(import.meta.resolve('minisearch')), 'utf8');
      return text.replace(/^\/\/# sourceMappingURL=.*$/m, '');
    }),
    asset('search.json', JSON_TYPE, async () => JSON.stringify(searchEntries(source))),
  ];
}

/** A file that is made on the first request for it. */
function asset(name: string, type: string, make: () => Promise<string>): PublicRoute {
  let made: Promise<ReturnType<typeof serveDocument>> | null = null;
  const serve = () => {
    made ??= make()
      .then((text) => serveDocument(type, text, { 'X-Content-Type-Options': 'nosniff' }))
      .catch((error: unknown) => {
        made = null;
        throw error;
      });
    return made;
  };
  return { path: `/${ASSETS_PATH}${name}`, handler: async (ctx) => (await serve())(ctx) };
}
