/**
 * GRIB edition 2: bytes to fields, fields to values.
 *
 *     const [field] = parseGrib2(bytes, 'mesh.grib2');      // headers of every field; values stay packed
 *     const decoded = decodeField(field);                   // packed numbers, row by row
 *     const point = nearestPoint(field.grid, { lat: 41.565, lon: -87.695 });
 *     const mm = valueReader(decoded)(point.j * decoded.columns + point.i);
 *
 * README.md lists the templates and the bounds. Damaged bytes are a BadInput that names file, message and section.
 */
export { type Decoded, decodeField, MAX_POINTS, valueReader } from './decode.ts';
export { type GridDefinition, isFlipped, nearestPoint, placeOf, positionOf, stepsAt } from './grid.ts';
export {
  END_BYTES,
  type Field,
  findMessage,
  INDICATOR_BYTES,
  isEndSection,
  parseGrib2,
  type Surface,
  statedLength,
} from './message.ts';
export { PACKING_TEMPLATES, type Packing, type PackingLaw } from './packing.ts';
export { sectionError } from './section.ts';
