import type { Metrics } from './skill.ts';
import { escaped } from './svg.ts';

const SIDE = 320;
const LEFT = 56;
const TOP = 40;
const RADIUS_MIN = 3;
const RADIUS_MAX = 9;
const COLOURS = ['#0b5fa5', '#b5462f', '#4b7a2b'];

/** Reliability diagram as SVG: forecast against observed frequency, one circle for each bin, its area by the number of cases. */
export function reliabilitySvg(
  title: string,
  curves: readonly { readonly title: string; readonly bins: Metrics['reliability'] }[],
): string {
  const x = (share: number) => (LEFT + SIDE * share).toFixed(1);
  const y = (share: number) => (TOP + SIDE * (1 - share)).toFixed(1);
  const ticks = [0, 0.2, 0.4, 0.6, 0.8, 1];
  const most = Math.max(1, ...curves.flatMap(({ bins }) => bins.map(({ cases }) => cases)));
  const grid = ticks.map(
    (at) =>
      `<path d="M${x(at)} ${y(0)}V${y(1)}M${x(0)} ${y(at)}H${x(1)}" stroke="#dddddd" fill="none"/>` +
      `<text x="${x(at)}" y="${TOP + SIDE + 18}" text-anchor="middle">${at.toFixed(1)}</text>` +
      `<text x="${LEFT - 8}" y="${Number(y(at)) + 4}" text-anchor="end">${at.toFixed(1)}</text>`,
  );
  const drawn = curves.map(({ bins }, k) => {
    const colour = COLOURS[k % COLOURS.length];
    const line = bins.map(({ forecast, observed }) => `${x(forecast)},${y(observed)}`).join(' ');
    const dots = bins.map(({ cases, forecast, observed }) => {
      const radius = RADIUS_MIN + (RADIUS_MAX - RADIUS_MIN) * Math.sqrt(cases / most);
      return `<circle cx="${x(forecast)}" cy="${y(observed)}" r="${radius.toFixed(1)}" fill="${colour}" fill-opacity="0.7"/>`;
    });
    return `<polyline points="${line}" fill="none" stroke="${colour}" stroke-width="1.5"/>${dots.join('')}`;
  });
  const legend = curves.map(({ title: name, bins }, k) => {
    const cases = bins.reduce((sum, bin) => sum + bin.cases, 0);
    const at = TOP + SIDE + 62 + 20 * k;
    return `<circle cx="${LEFT + 6}" cy="${at - 4}" r="5" fill="${COLOURS[k % COLOURS.length]}"/><text x="${LEFT + 18}" y="${at}">${escaped(name)}, ${cases} cases held out</text>`;
  });
  const height = TOP + SIDE + 62 + 20 * curves.length;
  return `<svg xmlns="http://www.w3.org/2000/svg" width="420" height="${height}" viewBox="0 0 420 ${height}" font-family="sans-serif" font-size="12" fill="#222222">
<rect width="420" height="${height}" fill="#ffffff"/>
<text x="12" y="22" font-size="13" font-weight="bold">${escaped(title)}</text>
${grid.join('\n')}
<path d="M${x(0)} ${y(0)}L${x(1)} ${y(1)}" stroke="#888888" stroke-dasharray="4 4"/>
${drawn.join('\n')}
<text x="${LEFT + SIDE / 2}" y="${TOP + SIDE + 38}" text-anchor="middle">probability said</text>
<text transform="translate(16 ${TOP + SIDE / 2}) rotate(-90)" text-anchor="middle">observed</text>
${legend.join('\n')}
</svg>
`;
}
