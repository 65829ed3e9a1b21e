import { detectionQuality } from '../../schemas/geo/beam.ts';
import type { Position } from '../../schemas/geo/position.ts';
import { hailDayFreezingLevelKm } from '../../schemas/reference/freezing-level.ts';
import { WSR88D } from '../../schemas/reference/wsr88d.ts';
import type { DetectionQualityBlock } from '../../schemas/resources/detection-quality.ts';
import { rounded } from './rounded.ts';

/** The block as the interface writes it, and whether the place counts as covered. */
export interface PlaceQuality {
  readonly covered: boolean;
  readonly block: DetectionQualityBlock;
}

/**
 * Detection quality of a place in a month, 1 to 12, from the WSR-88D sites and the table of freezing levels on days with
 * hail, which is what the pipeline's confidence rests on too. No terrain is known, so nothing is blocked.
 */
export function qualityAt(position: Position, month: number): PlaceQuality {
  const freezing_level_km = hailDayFreezingLevelKm(position.lat, month);
  const { covered, ...block } = detectionQuality(position, { sites: WSR88D, freezing_level_km });
  const { sample_coverage, beam_blockage, dual_pol_availability } = block.components;
  return {
    covered,
    block: {
      ...block,
      components: {
        sample_coverage: rounded(sample_coverage, 3),
        beam_blockage: rounded(beam_blockage, 3),
        dual_pol_availability: rounded(dual_pol_availability, 3),
      },
      nearest_radar: block.nearest_radar && {
        id: block.nearest_radar.id,
        distance_km: rounded(block.nearest_radar.distance_km, 2),
      },
    },
  };
}
