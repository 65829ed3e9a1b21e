import tables from '../../data/reference/spc-categories.json' with { type: 'json' };

/** Categories of a convective outlook, from the lowest. */
export const SPC_CATEGORIES = ['TSTM', 'MRGL', 'SLGT', 'ENH', 'MDT', 'HIGH'] as const;

/** Probability contours of hail, percent. */
export const HAIL_CONTOURS_PCT = [5, 15, 30, 45, 60] as const;

/** Name of a category, such as `Marginal Risk`; null for a label that is none. */
export function categoryName(label: string): string | null {
  return tables.categories.find((category) => category.label === label)?.name ?? null;
}

/** Rank of a category, 1 for TSTM to 6 for HIGH; null for a label that is none. */
export function categoryRank(label: string): number | null {
  return tables.categories.find((category) => category.label === label)?.rank ?? null;
}

/** Labels of the areas of significant hail, or of intensity, at an instant: SIGN until 3 March 2026, CIG1 and CIG2 since. */
export function hailIntensityLabels(at_ms: number): readonly string[] {
  const table = tables.hail.find(
    ({ from, until }) => (from === null || at_ms >= Date.parse(from)) && (until === null || at_ms < Date.parse(until)),
  );
  if (table === undefined) throw new RangeError(`no category table at ${at_ms}`);
  return table.intensity_labels;
}
