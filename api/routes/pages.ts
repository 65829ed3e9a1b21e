import type { Viewer } from '../files/viewer.ts';
import type { PublicRoute } from '../middleware/public-routes.ts';

/** GET /: there is nothing here, the documentation is next door. */
export const frontPage: PublicRoute = {
  path: '/',
  handler: (ctx) => {
    ctx.body = null; // an empty text would be of a type
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
