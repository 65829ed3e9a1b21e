import type { Verdict } from '../../schemas/resources/verification.ts';
import { type Sheet, writeLine } from './sheet.ts';
import type { TextStyle } from './styles.ts';

/** Word, colour and meaning of a verdict; the colour only repeats the word and the shape. */
export const VERDICT_LOOKS: Readonly<Record<Verdict, { word: string; color: string; means: string }>> = {
  hit: {
    word: 'Hit',
    color: '#8f2317',
    means: 'A radar detection that a ground report corroborates, or a strong one alone.',
  },
  marginal: {
    word: 'Marginal',
    color: '#94610f',
    means: 'Any other radar detection, or a ground report without one.',
  },
  miss: {
    word: 'Miss',
    color: '#4d6475',
    means: 'A weak radar echo only, below the detection limit, and no report.',
  },
};

/** Draws the shape of a verdict around a centre: disc, half disc, ring. */
export function drawMark(sheet: Sheet, verdict: Verdict, x: number, y: number, radius: number): void {
  const { doc } = sheet;
  const { color } = VERDICT_LOOKS[verdict];
  const inner = radius - radius / 8;
  if (verdict === 'hit') {
    doc.circle(x, y, radius).fill(color);
    return;
  }
  if (verdict === 'marginal') doc.path(`M ${x} ${y - inner} A ${inner} ${inner} 0 0 0 ${x} ${y + inner} Z`).fill(color);
  doc
    .circle(x, y, inner)
    .lineWidth(radius / 4)
    .stroke(color);
}

/** Shape and word of a verdict with their baseline at `baseline`. */
export function drawVerdict(sheet: Sheet, verdict: Verdict, x: number, baseline: number, style: TextStyle): void {
  const { word, color } = VERDICT_LOOKS[verdict];
  const radius = style.size * 0.36;
  drawMark(sheet, verdict, x + radius, baseline - style.size * 0.36, radius);
  writeLine(sheet, word, x + 2 * radius + style.size * 0.5, baseline, { ...style, color });
}
