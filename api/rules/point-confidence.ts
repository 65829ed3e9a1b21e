/**
 * `size_mm`: largest MESH, weighted by its distance, 0 without any radar signal; `n_detections`: pixels times scans in the nearest band
 * that has hail; `hdqi`: how well radar sees hail there, 0..1.
 */
type PointEvidence = Readonly<Record<'size_mm' | 'n_detections' | 'hdqi', number> & { corroborated: boolean }>;

/** Coefficients of the logistic sum; the constant keeps the .70 gate of verification at about 38 mm with 18 detections. */
const WEIGHTS = { constant: -1.2, size: 1.6, detections: 0.25, corroborated: 1.2, quality: 0.8, report: 3 } as const;
const SIZE_SCALE_MM = 19;
const QUALITY_MIDDLE = 0.5;
/** Radar alone proves neither hail nor its absence. */
const BOUNDS = { min: 0.02, max: 0.98 } as const;

/**
 * Confidence that hail fell at a point, 0.02 to 0.98: `ml_confidence` of the point products.
 * Rises with every input. Without a radar signal the sum is minus infinity, so the result is the lower bound. Methodology 1.1.0.
 */
export function pointConfidence({ size_mm, n_detections, corroborated, hdqi }: PointEvidence): number {
  const sum =
    WEIGHTS.constant +
    WEIGHTS.size * Math.log(size_mm / SIZE_SCALE_MM) +
    WEIGHTS.detections * Math.log(1 + n_detections) +
    (corroborated ? WEIGHTS.corroborated : 0) +
    WEIGHTS.quality * (hdqi - QUALITY_MIDDLE);
  return Math.min(BOUNDS.max, Math.max(BOUNDS.min, logistic(sum)));
}

/**
 * Confidence that hail fell at a point without a radar detection, from the nearest ground report: `weight` 0..1 by its distance.
 * The report raises the lower bound in log-odds, less where radar sees well; at most to .38. Methodology 1.1.0.
 */
export function reportConfidence(weight: number, hdqi: number): number {
  const unseen = Math.log(BOUNDS.min / (1 - BOUNDS.min));
  return logistic(unseen + WEIGHTS.report * weight - WEIGHTS.quality * (hdqi - QUALITY_MIDDLE));
}

function logistic(sum: number): number {
  return 1 / (1 + Math.exp(-sum));
}
