import type { Cell } from '../../schemas/tables/cells.ts';
import type { ProbSevereObject } from '../../schemas/tables/probsevere.ts';
import type { TrackPoint } from '../../schemas/tables/tracks.ts';
import { vilDensity } from '../detect/model.ts';
import type { TrainingSample } from './train-model.ts';

/** ProbSevere objects below this MESH have a probability near zero whatever else they show, mm. */
const OBJECT_MIN_MM = 3;

/**
 * Cells with the ProbHail of the object that they lie in, of a storm date. The largest cell stands for an object; objects
 * that repeat the file before, or that distrust their own MESH, say nothing. `echo_top_50_above_freezing_km` stays unknown:
 * the table of cells has the echo top but not the height of freezing that it was taken over.
 */
export function publishedSamples(
  cells: readonly Cell[],
  objects: readonly ProbSevereObject[],
  tracks: readonly TrackPoint[],
): TrainingSample[] {
  const name = (scan_time: number, of: string | number) => `${scan_time} ${of}`;
  const byObject = new Map<string, Cell>();
  for (const cell of cells) {
    if (cell.probsevere_id === null) continue;
    const known = byObject.get(name(cell.scan_time, cell.probsevere_id));
    if (!known || known.estimated_size_mm < cell.estimated_size_mm)
      byObject.set(name(cell.scan_time, cell.probsevere_id), cell);
  }
  const trackOf = new Map(
    tracks.flatMap((track) =>
      track.cell_index === null ? [] : [[name(track.scan_time, track.cell_index), track] as const],
    ),
  );
  return objects.flatMap((object) => {
    const cell = byObject.get(name(object.scan_time, object.probsevere_id));
    const usable = !object.flag_stale && !object.flag_distrusted && (object.mesh_mm ?? 0) >= OBJECT_MIN_MM;
    if (!cell || !usable) return [];
    const track = trackOf.get(name(cell.scan_time, cell.cell_index));
    return [
      {
        source: 'probsevere',
        group: object.storm_date,
        target: object.prob_hail,
        predictors: {
          mesh_mm: cell.estimated_size_mm,
          posh_pct: cell.posh_pct,
          vil_density_g_m3: vilDensity(cell.vil_kg_m2, cell.echo_top_18_km),
          echo_top_50_above_freezing_km: null,
          area_km2: cell.area_km2,
          growth_mm_per_min: track?.size_growth_rate_mm_per_min ?? null,
          duration_min: track?.duration_min ?? null,
        },
      } as const,
    ];
  });
}
