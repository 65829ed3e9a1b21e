import { type CheckedPolygon, checkPolygon, closed } from './polygon.ts';
import { quoted } from './rejected-item.ts';
import { eightDigitPosition, latLonDigits } from './text-product.ts';

/** Polygon of the `LAT...LON` line of a text product, which may leave out the closing position; or the reason why it has none. */
export function textOutline(lines: readonly string[]): CheckedPolygon | string {
  const digits = latLonDigits(lines);
  if (digits === null) return 'no line LAT...LON';
  const positions = digits.map(eightDigitPosition);
  const wrong = positions.indexOf(null);
  if (wrong !== -1) return `position ${quoted(digits[wrong])}, expected eight digits`;
  return checkPolygon([closed(positions.filter((position) => position !== null))]);
}
