import { SIZE_COLORS, type SizeColor } from '../../schemas/palette.ts';
import { SIZE_BANDS } from '../../schemas/size.ts';
import { MM_PER_INCH } from '../../schemas/units.ts';
import { edgeColor, MAP_SIDE } from './event-map.ts';
import type { PagePoint } from './map-markers.ts';
import { type Sheet, writeLine } from './sheet.ts';
import { MAP_SMALL } from './styles.ts';
import { sizeName } from './words.ts';

const STEP = MAP_SIDE / SIZE_COLORS.length;
export const LEGEND_HEIGHT = 26;

/** Colours of the pixels below a map, each with the size from which it applies. */
export function drawLegend(sheet: Sheet, { x, y }: PagePoint): void {
  const { doc } = sheet;
  for (const [k, step] of SIZE_COLORS.entries())
    doc
      .rect(x + k * STEP, y, STEP, 7)
      .lineWidth(0.3)
      .fillAndStroke(step.color, edgeColor(step));
  for (const [k, step] of SIZE_COLORS.entries()) {
    const last = k === SIZE_COLORS.length - 1;
    writeLine(sheet, `${stepInches(step)}${last ? ' in' : ''}`, x + k * STEP, y + 14.5, MAP_SMALL);
    writeLine(sheet, `${step.mm_min}${last ? ' mm' : ''}`, x + k * STEP, y + 22, MAP_SMALL);
  }
}

/** Inches from which a colour applies: those of its size band; the band begins at the mm below. */
export function stepInches({ category, mm_min }: SizeColor): string {
  const band = SIZE_BANDS.find((one) => one.category === category);
  return (band?.inches ?? mm_min / MM_PER_INCH).toFixed(2);
}

/** Meaning of a colour. */
export function stepName({ category, mm_min }: SizeColor): string {
  return category === null ? 'weak echo or small hail' : sizeName(mm_min);
}
