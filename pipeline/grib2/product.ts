import { type Section, signed, unsigned } from './section.ts';

/** Fixed surface of section 4; `value` is null when the table of surfaces gives none. */
export interface Surface {
  readonly type: number;
  readonly value: number | null;
}

/** Product definition (section 4): parameter, level and time of the values. */
export interface Product {
  readonly product_template: number;
  readonly category: number;
  readonly number: number;
  /** The centre's number of the model that made the field (octet 14). */
  readonly generating_process: number;
  /** Time the values are for: of forecasts the reference time plus the lead, of sums and extremes the end of the interval. */
  readonly valid_time: number | null;
  /** Start of the interval of sums and extremes; of everything else the valid time. */
  readonly valid_from: number | null;
  /** Code table 4.10 of sums and extremes: 0 average, 1 sum, 2 maximum, 3 minimum; null for values of an instant. */
  readonly statistic: number | null;
  readonly surface: Surface | null;
  /** The other bound of a layer; null for a single level. */
  readonly second_surface: Surface | null;
}

/** Product templates whose time is the reference time plus a lead: values of an instant. */
const INSTANT_TEMPLATES = [0, 1, 2, 3, 4, 5, 6, 7, 15];
/** Product template of sums and extremes over an interval. */
const INTERVAL_TEMPLATE = 8;
/** Product templates up to this one have their surfaces at octets 23 and 29. */
const LAST_SURFACE_TEMPLATE = 15;

/** Reads section 4. Times are null for product templates whose time we do not read, and for leads in months or years. */
export function readProduct(section: Section, reference_time: number): Product {
  const template = unsigned(section, 8, 2);
  const has_surfaces = template <= LAST_SURFACE_TEMPLATE;
  const second = has_surfaces ? readSurface(section, 29) : null;
  return {
    product_template: template,
    category: unsigned(section, 10, 1),
    number: unsigned(section, 11, 1),
    generating_process: unsigned(section, 14, 1),
    ...readTimes(section, template, reference_time),
    surface: has_surfaces ? readSurface(section, 23) : null,
    second_surface: second?.type === NO_SURFACE ? null : second,
  };
}

function readTimes(
  section: Section,
  template: number,
  reference_time: number,
): Pick<Product, 'valid_time' | 'valid_from' | 'statistic'> {
  if (template === INTERVAL_TEMPLATE)
    return {
      valid_time: readTime(section, 35),
      valid_from: readLead(section, reference_time),
      statistic: unsigned(section, 47, 1),
    };
  const valid_time = INSTANT_TEMPLATES.includes(template) ? readLead(section, reference_time) : null;
  return { valid_time, valid_from: valid_time, statistic: null };
}

/** Seven octets of year, month, day, hour, minute and second; null when the calendar has no such instant. */
export function readTime(section: Section, octet: number): number | null {
  const parts = [2, 3, 4, 5, 6].map((offset) => unsigned(section, octet + offset, 1));
  const two = parts.map((part) => String(part).padStart(2, '0'));
  const text = `${String(unsigned(section, octet, 2)).padStart(4, '0')}-${two[0]}-${two[1]}T${two.slice(2).join(':')}`;
  const time_ms = Date.parse(`${text}Z`);
  return Number.isNaN(time_ms) || new Date(time_ms).toISOString().slice(0, 19) !== text ? null : time_ms;
}

/** Milliseconds of the units of code table 4.4 that are of fixed length. */
const LEAD_UNIT_MS: Readonly<Record<number, number>> = {
  0: 60_000,
  1: 3_600_000,
  2: 86_400_000,
  10: 3 * 3_600_000,
  11: 6 * 3_600_000,
  12: 12 * 3_600_000,
  13: 1000,
};

/** The reference time plus the lead of octets 18 to 22. */
function readLead(section: Section, reference_time: number): number | null {
  const unit_ms = LEAD_UNIT_MS[unsigned(section, 18, 1)];
  const time_ms = unit_ms === undefined ? Number.NaN : reference_time + unit_ms * signed(section, 19, 4);
  return Math.abs(time_ms) < 8.64e15 ? time_ms : null;
}

/** Surface type of code table 4.5 that stands for no second surface. */
const NO_SURFACE = 255;

function readSurface(section: Section, octet: 23 | 29): Surface {
  const type = unsigned(section, octet, 1);
  const scale = signed(section, octet + 1, 1);
  const missing = unsigned(section, octet + 1, 1) === 0xff || unsigned(section, octet + 2, 4) === 0xffffffff;
  return { type, value: missing ? null : signed(section, octet + 2, 4) / 10 ** scale };
}
