import type { Viewer } from '../files/viewer.ts';
import type { OpenRoute } from '../middleware/open-route.ts';

const ALLOW = 'GET, HEAD, OPTIONS';

/** GET /: there is nothing here, the documentation is next door. */
export const frontPage: OpenRoute = {
  path: '/',
  allow: ALLOW,
  answer: async () => ({ status: 302, headers: { Location: 'docs', 'Cache-Control': 'no-store' }, body: '' }),
};

/** GET /viewer and the files of the map page. */
export function viewerPages(viewer: Viewer): readonly OpenRoute[] {
  return [
    {
      path: '/viewer/',
      allow: ALLOW,
      answer: ({ request, path }) =>
        viewer.respond({ method: request.method ?? 'GET', path, headers: request.headers }),
    },
  ];
}
