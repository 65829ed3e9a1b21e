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
export { END_BYTES, findMessage, INDICATOR_BYTES, isEndSection, statedLength } from './frame.ts';
export { type GridDefinition, isFlipped, nearestPoint, placeOf, positionOf, stepsAt } from './grid.ts';
export { type Field, parseGrib2 } from './message.ts';
export { PACKING_TEMPLATES, type Packing, type PackingLaw } from './packing.ts';
export type { Surface } from './product.ts';
export { sectionError } from './section.ts';
