/** Reference size of the logistic, mm: hail from here on is "severe" in the definition of POSH. */
const SIZE_SCALE_MM = 19;
/** Scans beyond this many add nothing. */
const SCANS_FULL = 5;
/** Weights set by judgement, to be refitted once enough ground reports are published. */
const WEIGHTS = { base: -2.2, size: 1.1, scans: 0.9, posh: 0.8, quality: 0.7, small: -1, spike: -3 } as const;

export interface Evidence {
  readonly mesh_mm: number;
  /** Distinct scans with a detection at the place in the last 30 minutes, this one included. */
  readonly scan_count: number;
  readonly posh_pct: number;
  /** Radar detection-quality index 0..1. */
  readonly hdqi: number;
  /** The echo is a component of a few weak pixels. */
  readonly small: boolean;
  /** The echo is a component of a few pixels >= 19 mm without an echo nearby in the previous scans: sun strobes, chaff, clutter. */
  readonly spike: boolean;
}

/** Confidence 0..1 that hail of about this size fell here. It rises with size, persistence, POSH and radar quality. */
export function detectionConfidence({ mesh_mm, scan_count, posh_pct, hdqi, small, spike }: Evidence): number {
  const score =
    WEIGHTS.base +
    WEIGHTS.size * Math.log(mesh_mm / SIZE_SCALE_MM) +
    (WEIGHTS.scans * Math.min(scan_count, SCANS_FULL)) / SCANS_FULL +
    (WEIGHTS.posh * posh_pct) / 100 +
    WEIGHTS.quality * hdqi +
    (small ? WEIGHTS.small : 0) +
    (spike ? WEIGHTS.spike : 0);
  return 1 / (1 + Math.exp(-score));
}
