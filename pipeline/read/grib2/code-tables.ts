/** Abbreviation and unit of a model parameter. */
export interface Parameter {
  readonly name: string;
  readonly unit: string;
}

/** The parameters that model files for storm work carry, by discipline/category/number (WMO code table 4.2, NCEP local). */
const PARAMETERS: Readonly<Record<string, readonly [name: string, unit: string]>> = {
  '0/0/0': ['t', 'K'],
  '0/0/5': ['tmin', 'K'],
  '0/0/6': ['dpt', 'K'],
  '0/1/0': ['q', 'kg/kg'],
  '0/1/1': ['r', '%'],
  '0/1/3': ['pwat', 'kg/m2'],
  '0/1/8': ['tp', 'kg/m2'],
  '0/1/10': ['acpcp', 'kg/m2'],
  '0/1/31': ['hail', 'm'],
  '0/2/2': ['u', 'm/s'],
  '0/2/3': ['v', 'm/s'],
  '0/2/8': ['w', 'Pa/s'],
  '0/2/10': ['absv', '1/s'],
  '0/2/15': ['vucsh', 'm/s'],
  '0/2/16': ['vvcsh', 'm/s'],
  '0/2/22': ['gust', 'm/s'],
  '0/3/0': ['pres', 'Pa'],
  '0/3/1': ['prmsl', 'Pa'],
  '0/3/5': ['gh', 'gpm'],
  '0/7/6': ['cape', 'J/kg'],
  '0/7/7': ['cin', 'J/kg'],
  '0/7/8': ['hlcy', 'm2/s2'],
  '0/7/199': ['mxuphl', 'm2/s2'],
  '0/16/195': ['refd', 'dBZ'],
  '0/16/196': ['refc', 'dBZ'],
  '0/19/0': ['vis', 'm'],
};

/** Abbreviation and unit of a model parameter; null for one that is not in our short list. */
export function parameterOf(discipline: number, category: number, number: number): Parameter | null {
  const [name, unit] = PARAMETERS[`${discipline}/${category}/${number}`] ?? [];
  return name === undefined || unit === undefined ? null : { name, unit };
}

/** Fixed surfaces of code table 4.5 in words, with the factor from the file's unit to the word's. */
const SURFACES: Readonly<Record<number, readonly [words: string, factor: number]>> = {
  1: ['surface', 0],
  2: ['cloud base', 0],
  3: ['cloud top', 0],
  4: ['0 C isotherm', 0],
  6: ['maximum wind', 0],
  7: ['tropopause', 0],
  10: ['whole atmosphere', 0],
  100: ['hPa', 0.01],
  101: ['mean sea level', 0],
  102: ['m above sea level', 1],
  103: ['m above ground', 1],
  104: ['sigma', 1],
  105: ['hybrid level', 1],
  108: ['hPa above ground', 0.01],
  200: ['whole atmosphere, one layer', 0],
};

/** A fixed surface in words: `500 hPa`, `2 m above ground`, `surface`, or its number in the code table. */
export function surfaceWords(surface: { readonly type: number; readonly value: number | null } | null): string {
  if (surface === null) return 'level not given';
  const [words, factor] = SURFACES[surface.type] ?? [`surface type ${surface.type}`, 0];
  if (factor === 0 || surface.value === null) return words;
  return `${Number((surface.value * factor).toPrecision(12))} ${words}`;
}
