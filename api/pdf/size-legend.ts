import { SIZE_COLORS, type SizeColor } from '../../schemas/palette.ts';
import { MAP_SIDE } from './event-map.ts';
import type { Spot } from './map-markers.ts';
import { type Doc, write } from './sheet.ts';
import { MAP_SMALL } from './styles.ts';
import { inches, sizeName } from './words.ts';

const STEP = MAP_SIDE / SIZE_COLORS.length;
export const LEGEND_HEIGHT = 34;

/** Colours of the pixels below a map, each with the size from which it applies. */
export function drawLegend(doc: Doc, { x, y }: Spot): void {
  for (const [k, { color }] of SIZE_COLORS.entries()) doc.rect(x + k * STEP, y, STEP, 7).fill(color);
  for (const [k, { mm_min }] of SIZE_COLORS.entries()) {
    const last = k === SIZE_COLORS.length - 1;
    write(doc, `${inches(mm_min).replace(' in', '')}${last ? ' in' : ''}`, x + k * STEP, y + 14.5, MAP_SMALL);
    write(doc, `${mm_min}${last ? ' mm' : ''}`, x + k * STEP, y + 22, MAP_SMALL);
  }
}

/** `from 0.75 in (19 mm) nickel`: what a colour stands for. */
export function stepName({ category, mm_min }: SizeColor): string {
  return category === null ? 'weak echo, may be no hail' : sizeName(mm_min);
}
