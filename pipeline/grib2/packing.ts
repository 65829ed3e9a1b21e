import { float32, type Section, sectionError, signed, unsigned } from './section.ts';

/** value = (reference + packed x 2^binary_scale) / 10^decimal_scale. */
export interface PackingLaw {
  readonly reference: number;
  readonly binary_scale: number;
  readonly decimal_scale: number;
}

/** How the values of a field are packed (section 5). */
export type Packing =
  | (PackingLaw & { readonly template: 0 | 41; readonly bits: number })
  | (PackingLaw & { readonly template: 2 | 3; readonly bits: number; readonly groups: Groups })
  | { readonly template: 4; readonly precision: number }
  | { readonly template: number; readonly unsupported: true };

/** Group splitting of the complex packings. */
export interface Groups {
  readonly count: number;
  readonly reference_width: number;
  readonly width_bits: number;
  readonly reference_length: number;
  readonly length_increment: number;
  readonly last_length: number;
  readonly length_bits: number;
  /** 0 nothing missing, 1 primary missing values, 2 primary and secondary. */
  readonly missing_management: number;
  /** Order of the spatial differences, 0 for packing 5.2. */
  readonly order: number;
  /** Octets of each extra descriptor. */
  readonly descriptor_octets: number;
}

/**
 * Data representation templates that `decodeField` reads, with the length of section 5 in bytes: the wrong template reads
 * other numbers from the same octets.
 */
export const PACKING_TEMPLATES = {
  0: { name: 'simple', bytes: 21 },
  2: { name: 'complex', bytes: 47 },
  3: { name: 'complex with differences', bytes: 49 },
  4: { name: 'floats', bytes: 12 },
  41: { name: 'PNG', bytes: 21 },
} as const;
type KnownTemplate = keyof typeof PACKING_TEMPLATES;

function isKnown(template: number): template is KnownTemplate {
  return template in PACKING_TEMPLATES;
}

/** Reads section 5. A template that is not in the table is no error until the values are asked for. */
export function readPacking(section: Section): Packing {
  const template = unsigned(section, 10, 2);
  if (!isKnown(template)) return { template, unsupported: true };
  const { bytes } = PACKING_TEMPLATES[template];
  const { length } = section.bytes;
  if (length !== bytes) throw sectionError(section, `${length} bytes of template 5.${template}, expected ${bytes}`);
  if (template === 4) {
    const precision = unsigned(section, 12, 1);
    if (precision !== 1 && precision !== 2)
      throw sectionError(section, `float precision ${precision}, expected 1 or 2`);
    return { template, precision };
  }
  const law = {
    reference: float32(section, 12),
    binary_scale: scaleFactor(section, 'binary', 16),
    decimal_scale: scaleFactor(section, 'decimal', 18),
  };
  const bits = unsigned(section, 20, 1);
  if (bits > 32) throw sectionError(section, `values of ${bits} bits, expected 0 to 32`);
  if (template === 2 || template === 3) return { template, ...law, bits, groups: readGroups(section, template) };
  return { template, ...law, bits };
}

/** Beyond these no number of any known product lies, and values would leave the range of floats. */
const MAX_SCALE_FACTOR = 64;

function scaleFactor(section: Section, name: string, octet: number): number {
  const value = signed(section, octet, 2);
  if (Math.abs(value) > MAX_SCALE_FACTOR)
    throw sectionError(section, `${name} scale factor ${value}, expected -${MAX_SCALE_FACTOR} to ${MAX_SCALE_FACTOR}`);
  return value;
}

/** Group description of templates 5.2 and 5.3. Throws BadInput for numbers that the templates do not define. */
function readGroups(section: Section, template: 2 | 3): Groups {
  const groups: Groups = {
    missing_management: unsigned(section, 23, 1),
    count: unsigned(section, 32, 4),
    reference_width: unsigned(section, 36, 1),
    width_bits: unsigned(section, 37, 1),
    reference_length: unsigned(section, 38, 4),
    length_increment: unsigned(section, 42, 1),
    last_length: unsigned(section, 43, 4),
    length_bits: unsigned(section, 47, 1),
    order: template === 3 ? unsigned(section, 48, 1) : 0,
    descriptor_octets: template === 3 ? unsigned(section, 49, 1) : 0,
  };
  const within = (name: string, value: number, low: number, high: number) => {
    if (value < low || value > high) throw sectionError(section, `${name} is ${value}, expected ${low} to ${high}`);
  };
  within('missing value management', groups.missing_management, 0, 2);
  within('bits of group widths', groups.width_bits, 0, 32);
  within('bits of group lengths', groups.length_bits, 0, 32);
  if (template === 3) {
    within('order of spatial differences', groups.order, 1, 2);
    within('octets of extra descriptors', groups.descriptor_octets, 0, 4);
  }
  return groups;
}
