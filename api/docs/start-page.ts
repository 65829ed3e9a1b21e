import { readFileSync } from 'node:fs';
import { timestamp } from '../../schemas/time.ts';
import type { Edition } from '../published/catalog.ts';
import type { PublicRoute } from '../server/public.ts';
import type { Services } from '../services.ts';
import { EXAMPLE_URL, GUIDE_POLICY, html, page } from './pages.ts';

const BODY = readFileSync(new URL('./start.html', import.meta.url), 'utf8');

/** GET /: what the service is, what it has published, and how to get a key. A caller who wants JSON is led to the documentation. */
export function startPage({ catalog, base_url }: Pick<Services, 'catalog' | 'base_url'>): PublicRoute {
  return {
    path: '/',
    handler: (ctx) => {
      ctx.state.rate_headers = {};
      ctx.set({ 'Cache-Control': 'no-store', Vary: 'Accept' });
      if (ctx.accepts('html', 'json') === 'json') {
        ctx.body = null; // an empty string would set a Content-Type
        ctx.status = 302;
        ctx.set({ Location: 'docs', 'Content-Length': '0' });
        return;
      }
      const published = publishedIn(catalog.failure() === null ? catalog.edition() : null);
      const body = BODY.replace('<!-- published -->', published).replace(EXAMPLE_URL, html(base_url));
      ctx.set({ 'Content-Type': 'text/html; charset=utf-8', 'Content-Security-Policy': GUIDE_POLICY });
      ctx.body = page('/', 'Hail from radar', body);
    },
  };
}

/** Dates of the edition by their provenance, and its newest scan; null: there is no edition. */
function publishedIn(edition: Edition | null): string {
  if (edition === null) return '<p>The published files cannot be read at the moment.</p>';
  const { dates, newest_scan_ms } = edition;
  if (newest_scan_ms === null)
    return '<p>Nothing yet. <code>make ingest</code> publishes a storm evening of the simulator.</p>';
  const simulated = dates.filter((date) => edition.provenanceOf([date]) === 'simulated').length;
  const counts = [...(simulated < dates.length ? [`${dates.length - simulated} observed`] : [])];
  if (simulated > 0) counts.push(`${simulated} simulated`);
  const badge = simulated === 0 ? '' : '<p class="badge">Simulated · not real weather</p>';
  return `${badge}<dl>
<dt>Storm dates</dt><dd>${[...new Set([dates[0], dates.at(-1)])].join(' to ')}</dd>
<dt>Of these</dt><dd>${counts.join(', ')}</dd>
<dt>Newest scan</dt><dd>${timestamp(newest_scan_ms).replace(/T(\d+:\d+).*/, ' $1 UTC')}</dd>
</dl>`;
}
