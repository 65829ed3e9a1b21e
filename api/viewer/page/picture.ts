import { element, penOf } from './page.ts';
import { BASEMAP, SIZES } from './palette.ts';
import { categoryInWords, inchesOfStep } from './words.ts';

const EDGE_PX = 20;
const SWATCH = { width: 78, height: 22, gap: 6, line: 15 };
const LINE_PX = 20;

/** What is written under the map, in order. */
interface Line {
  readonly text: string;
  readonly font: string;
}

/** The map as it is on its canvas, and under it its title, time, scale of sizes, caution and sources, at the canvas's resolution. */
export function drawPicture(map: HTMLCanvasElement): HTMLCanvasElement {
  const scale = map.width / map.clientWidth;
  const width = map.clientWidth;
  const picture = document.createElement('canvas');
  const pen = penOf(picture);
  const above = wrapped(pen, [titleLine(), ...timeLines()], width);
  const below = wrapped(pen, closingLines(), width);
  const columns = Math.max(1, Math.floor((width - 2 * EDGE_PX + SWATCH.gap) / (SWATCH.width + SWATCH.gap)));
  const rows = Math.ceil(SIZES.length / columns);
  const row_px = SWATCH.height + 2 * SWATCH.line + SWATCH.gap;
  const foot = 2 * EDGE_PX + (above.length + below.length) * LINE_PX + rows * row_px + SWATCH.gap;
  picture.width = map.width;
  picture.height = map.height + Math.ceil(foot * scale);
  pen.fillStyle = BASEMAP.paper ?? '#ffffff';
  pen.fillRect(0, 0, picture.width, picture.height);
  pen.drawImage(map, 0, 0);
  pen.scale(scale, scale);
  pen.textBaseline = 'top';

  let top = map.height / scale + EDGE_PX;
  top = drawLines(pen, above, top) + SWATCH.gap;
  for (const [index, step] of SIZES.entries()) {
    const left = EDGE_PX + (index % columns) * (SWATCH.width + SWATCH.gap);
    const row_top = top + Math.floor(index / columns) * row_px;
    pen.fillStyle = step.color;
    pen.fillRect(left, row_top, SWATCH.width, SWATCH.height);
    pen.font = fontOf(12, 'bold');
    pen.fillStyle = step.ink;
    pen.fillText(`${inchesOfStep(step)} in`, left + 6, row_top + 5);
    pen.font = fontOf(11);
    pen.fillStyle = BASEMAP.ink;
    pen.fillText(`${step.mm_min} mm`, left, row_top + SWATCH.height + 3);
    pen.fillText(categoryInWords(step.category) ?? 'scans', left, row_top + SWATCH.height + 3 + SWATCH.line);
  }
  drawLines(pen, below, top + rows * row_px);
  return picture;
}

function drawLines(pen: CanvasRenderingContext2D, lines: readonly Line[], from: number): number {
  pen.fillStyle = BASEMAP.ink;
  for (const [index, { text, font }] of lines.entries()) {
    pen.font = font;
    pen.fillText(text, EDGE_PX, from + index * LINE_PX);
  }
  return from + lines.length * LINE_PX;
}

function titleLine(): Line {
  const simulated = element('simulated');
  const words = simulated.hidden ? [] : [simulated.textContent];
  return { text: [document.title, ...words].join(' · '), font: fontOf(16, 'bold') };
}

function timeLines(): Line[] {
  return [
    { text: said('clock-utc', 'clock-local', 'data-time'), font: fontOf(13) },
    { text: said('summary'), font: fontOf(13) },
  ];
}

function closingLines(): Line[] {
  const sources = document.querySelector('#map-sources')?.textContent ?? '';
  const caution = document.querySelector('#caution strong')?.textContent ?? '';
  return [
    {
      text: `${caution}. Sizes: this much or more. Hatched: no radar coverage, not known. ${said('source')}`,
      font: fontOf(12),
    },
    { text: `${sources} ${location.href}`.trim(), font: fontOf(11) },
  ];
}

/** Texts of elements of the page, those that are not empty. */
function said(...ids: readonly string[]): string {
  return ids
    .map((id) => (element(id).textContent ?? '').trim())
    .filter((text) => text !== '')
    .join(' · ');
}

/** Lines broken at spaces so that none is wider than the picture. */
function wrapped(pen: CanvasRenderingContext2D, lines: readonly Line[], width: number): Line[] {
  return lines.flatMap(({ text, font }) => {
    pen.font = font;
    const broken: string[] = [''];
    for (const word of text.split(/\s+/)) {
      const longer = `${broken.at(-1)} ${word}`.trim();
      if (broken.at(-1) === '' || pen.measureText(longer).width <= width - 2 * EDGE_PX)
        broken[broken.length - 1] = longer;
      else broken.push(word);
    }
    return broken.filter((line) => line !== '').map((line) => ({ text: line, font }));
  });
}

function fontOf(size_px: number, weight = 'normal'): string {
  return `${weight} ${size_px}px ${getComputedStyle(document.body).fontFamily}`;
}
