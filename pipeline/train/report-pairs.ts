import { roughDistanceKm } from '../../schemas/geo/distance.ts';
import type { GroundReport } from '../../schemas/tables/feeds.ts';
import type { TrackPoint } from '../../schemas/tables/radar.ts';
import { MS_PER_MIN } from '../../schemas/time.ts';
import { PipelineError } from '../error.ts';
import { mean } from './skill.ts';

/** Largest distance and time difference between a report and its storm: positions are accurate to 1-5 km, times to 5-15 minutes. */
const PAIR_KM = 8;
const PAIR_MIN = 15;

/** MESH of a storm, and the size of a ground report under it. */
export interface ReportPair {
  readonly date: string;
  readonly mesh_mm: number;
  readonly size_mm: number;
}

/** Reports paired with the largest MESH of the storms nearby; reports without a storm nearby are left out. */
export function reportPairs(
  reports: readonly Pick<GroundReport, 'storm_date' | 'time' | 'lat' | 'lon' | 'size_mm'>[],
  tracked: readonly Pick<TrackPoint, 'scan_time' | 'lat' | 'lon' | 'estimated_size_mm'>[],
): ReportPair[] {
  return reports.flatMap((report) => {
    const near = tracked.filter(
      (point) =>
        Math.abs(point.scan_time - report.time) <= PAIR_MIN * MS_PER_MIN && roughDistanceKm(point, report) <= PAIR_KM,
    );
    const mesh_mm = near.reduce((largest, point) => Math.max(largest, point.estimated_size_mm), 0);
    return mesh_mm > 0 ? [{ date: report.storm_date, mesh_mm, size_mm: report.size_mm }] : [];
  });
}

/**
 * Least-squares line through the logarithms of the pairs; null without two different values of MESH. Throws when sizes do not rise
 * with MESH: such reports belong to other storms, or are wrong.
 */
export function fitSizeLaw(pairs: readonly ReportPair[]): { readonly base: number; readonly slope: number } | null {
  const points = pairs.map(({ mesh_mm, size_mm }) => [Math.log(mesh_mm), Math.log(size_mm)] as const);
  const [x, y] = [mean(points.map(([mesh]) => mesh)), mean(points.map(([, size]) => size))];
  const spread = mean(points.map(([mesh]) => (mesh - x) ** 2));
  if (points.length < 2 || spread < 1e-9) return null;
  const slope = mean(points.map(([mesh, size]) => (mesh - x) * (size - y))) / spread;
  if (!(slope > 0 && Number.isFinite(y)))
    throw new PipelineError(
      'train',
      'size law',
      `sizes of ${points.length} reports go with MESH to the power of ${slope.toFixed(2)}, expected one above 0`,
    );
  return { base: y - slope * x, slope };
}
