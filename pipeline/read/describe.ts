import type { GridDefinition, Packing, PackingLaw } from './grib2/index.ts';

/** The grid of a field in numbers; `template` is null where the file is no GRIB2. */
export type GridNumbers = {
  readonly template: number | null;
  readonly columns: number;
  readonly rows: number;
} & (
  | { readonly projection: 'latitude-longitude'; readonly step_lon_deg: number; readonly step_lat_deg: number }
  | { readonly projection: 'Lambert'; readonly step_x_m: number; readonly step_y_m: number }
  | { readonly projection: null }
);

/** How values are packed, in numbers: value = (reference + packed * 2^binary_scale) / 10^decimal_scale; null where that is not said. */
export interface PackingNumbers {
  /** Template of section 5; null where the file is no GRIB2. */
  readonly template: number | null;
  readonly name: string;
  readonly bits: number | null;
  readonly reference: number | null;
  readonly binary_scale: number | null;
  readonly decimal_scale: number | null;
}

const PACKING_NAMES: Readonly<Record<number, string>> = {
  0: 'simple',
  2: 'complex',
  3: 'complex with differences',
  4: 'floats',
  40: 'JPEG 2000',
  41: 'PNG',
};

/** The grid of a GRIB2 field in numbers. */
export function gridNumbers({ template, columns, rows, projection }: GridDefinition): GridNumbers {
  const size = { template, columns, rows };
  if (projection?.template === 0)
    return { ...size, projection: 'latitude-longitude', step_lon_deg: projection.di, step_lat_deg: projection.dj };
  if (projection?.template === 30)
    return { ...size, projection: 'Lambert', step_x_m: projection.dx_m, step_y_m: projection.dy_m };
  return { ...size, projection: null };
}

/** The packing of a GRIB2 field in numbers. */
export function packingNumbers(packing: Packing): PackingNumbers {
  const { template } = packing;
  const name = PACKING_NAMES[template] ?? 'not supported';
  const unknown = { template, name, bits: null, reference: null, binary_scale: null, decimal_scale: null };
  if ('precision' in packing) return { ...unknown, bits: 32 * packing.precision };
  if (!('bits' in packing)) return unknown;
  const { bits, reference, binary_scale, decimal_scale } = packing;
  return { template, name, bits, reference, binary_scale, decimal_scale };
}

/** A grid in words: `3.0 latitude-longitude, 7000 x 3500, step 0.01 x 0.01 deg`. */
export function gridWords(grid: GridNumbers): string {
  const template = grid.template === null ? '' : `3.${grid.template} `;
  const size = `${grid.columns} x ${grid.rows}`;
  switch (grid.projection) {
    case 'latitude-longitude':
      return `${template}latitude-longitude, ${size}, step ${grid.step_lon_deg} x ${grid.step_lat_deg} deg`;
    case 'Lambert':
      return `${template}Lambert, ${size}, step ${grid.step_x_m} x ${grid.step_y_m} m`;
    case null:
      return `${template.trim()}, ${size}, positions not supported`;
  }
}

/** A packing in words: `5.41 PNG, 16 bits, value = (-30 + x) / 10`. */
export function packingWords(packing: PackingNumbers): string {
  const { template, name, bits, reference, binary_scale, decimal_scale } = packing;
  const title = template === null ? name : `5.${template} ${name}`;
  if (bits === null) return title;
  if (reference === null || binary_scale === null || decimal_scale === null) return `${title}, ${bits} bits`;
  return `${title}, ${bits} bits, ${lawWords({ reference, binary_scale, decimal_scale })}`;
}

function lawWords({ reference, binary_scale, decimal_scale }: PackingLaw): string {
  const scaled = binary_scale === 0 ? 'x' : `x * 2^${binary_scale}`;
  const sum = reference === 0 ? scaled : `(${Number(reference.toPrecision(9))} + ${scaled})`;
  if (decimal_scale === 0) return `value = ${sum}`;
  return `value = ${sum} ${decimal_scale > 0 ? '/' : '*'} ${10 ** Math.abs(decimal_scale)}`;
}
