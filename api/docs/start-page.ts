import { SIZE_COLORS } from '../../schemas/palette.ts';
import { timestamp } from '../../schemas/time.ts';
import type { Edition } from '../published/catalog.ts';
import type { PublicRoute } from '../server/public.ts';
import type { Services } from '../services.ts';
import { GUIDE_POLICY, html, page } from './pages.ts';

const BANDS = SIZE_COLORS.filter(({ category }) => category !== null);
/** Paths of the storms in the picture, each with the width of its swath, how far along it hail falls, and its size bands. */
const STORMS = [
  { path: 'M-10 178C70 168 128 132 196 112S290 84 330 58', width: 46, bands: 6 },
  { path: 'M58 262C130 248 190 216 244 202S312 178 350 168', width: 26, bands: 3 },
  { path: 'M4 88C50 76 82 62 128 52', width: 17, bands: 2 },
];

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
      ctx.set({ 'Content-Type': 'text/html; charset=utf-8', 'Content-Security-Policy': GUIDE_POLICY });
      ctx.body = page('/', 'Hail from radar', bodyOf(catalog.failure() === null ? catalog.edition() : null, base_url));
    },
  };
}

function bodyOf(edition: Edition | null, base_url: string): string {
  return `<main class="start">
<section class="hero">
<div>
<h1>Hail from public radar</h1>
<p>Where hail fell, how large it was and where it goes: measured by radar every two minutes, over the United States.</p>
<p class="doors"><a class="main" href="viewer">Open the map</a> <a href="docs/quickstart">Quickstart</a> <a href="docs">API reference</a></p>
</div>
${picture()}
</section>
<section class="cards">
<div><h2>What is published</h2>
${publishedIn(edition)}
</div>
<div><h2>Get a key</h2>
<p>Calls of <code>/v1</code> need a key. The first start of the service prints one; whoever runs it makes more:</p>
<figure><figcaption>shell</figcaption><pre tabindex="0"><code>hail-api key create BUSINESS --live</code></pre></figure>
<p>Documentation, tiles and this page need none.</p>
</div>
<div><h2>Ask</h2>
<figure><figcaption>shell</figcaption><pre tabindex="0"><code>curl -H "Authorization: Bearer $HAIL_KEY" '${html(base_url)}/hail/current?lat=35.47&amp;lon=-97.52&amp;radius_km=150'</code></pre></figure>
<p><a href="docs/verify-a-date">Verify a date</a>, <a href="docs/receive-events">receive events</a>, <a href="docs/tiles">draw tiles</a>, or <a href="docs/files">read the files</a>.</p>
</div>
</section>
<p class="small">A radar estimate of the largest hail, not a measurement on the ground: <a href="docs/limits">limits</a>. Radar: NOAA MRMS, which implies no endorsement.</p>
</main>`;
}

/** Dates of the edition by their provenance, and its newest scan. */
function publishedIn(edition: Edition | null): string {
  if (edition === null) return '<p>The published files cannot be read at the moment.</p>';
  const { dates, newest_scan_ms } = edition;
  if (dates.length === 0 || newest_scan_ms === null)
    return '<p>Nothing yet. <code>make ingest</code> publishes a storm evening of the simulator.</p>';
  const simulated = dates.filter((date) => edition.provenanceOf([date]) === 'simulated').length;
  const count = (dates: number, kind: string) => (dates === 0 ? [] : `${dates} ${kind}`);
  return `${simulated === 0 ? '' : '<p class="badge">Simulated · not real weather</p>\n'}<dl>
<dt>Storm dates</dt><dd>${dates[0]}${dates.length === 1 ? '' : ` to ${dates.at(-1)}`}</dd>
<dt>Of these</dt><dd>${[count(dates.length - simulated, 'observed'), count(simulated, 'simulated')].flat().join(', ')}</dd>
<dt>Newest scan</dt><dd>${timestamp(newest_scan_ms).replace(/T(\d+:\d+).*/, ' $1 UTC')}</dd>
</dl>`;
}

/** Swaths along storm tracks, in the colours of the sizes. */
function picture(): string {
  const swaths = STORMS.map(({ path, width, bands }) => {
    const tiers = BANDS.slice(0, bands).map(({ color }, k) => {
      const start = 4 + k * (40 / bands);
      const width_here = width * (1 - k / (bands + 0.6));
      const dash = `stroke-dasharray="${92 - k * (62 / bands) - start} 200" stroke-dashoffset="${-start}"`;
      return `<path d="${path}" pathLength="100" stroke="${color}" stroke-width="${width_here}" ${dash}/>`;
    });
    return `${tiers.join('')}<path class="track" d="${path}"/>`;
  });
  const legend = BANDS.map(
    ({ category, color, mm_min }) =>
      `<li><svg viewBox="0 0 10 10" aria-hidden="true"><rect width="10" height="10" rx="2" fill="${color}"/></svg>${mm_min} mm, ${category?.replace('_', ' ')}</li>`,
  );
  return `<div><svg class="storms" viewBox="0 0 340 290" fill="none" stroke-linecap="round" role="img" aria-label="Drawing of hail swaths along the tracks of storms">
<path class="grid" d="M0 58H340M0 116H340M0 174H340M0 232H340M68 0V290M136 0V290M204 0V290M272 0V290"/>
${swaths.join('\n')}
</svg>
<ul class="sizes" aria-label="Colours of hail sizes">${legend.join('')}</ul></div>`;
}
