import { z } from 'zod';
import { table } from '../columns.ts';
import { degrees, kilometres, plainNumber, probability, text, wholeDegrees } from '../units.ts';

/**
 * One step of a ray: the share of the beam that terrain blocks from a distance on, up to the next step. A ray without rows is
 * free. The lowest tilt of every examined radar begins with a step to 0 at 0 km along each azimuth.
 */
export const BlockageStep = z.object({
  radar_id: text('WSR-88D site.'),
  tilt_deg: degrees('Elevation of the beam, one of the tilts of VCP 12 and 212.'),
  azimuth_deg: wholeDegrees('Direction of the ray from the radar, 0 = north, clockwise.'),
  distance_km: kilometres('Distance along the ground from which on the share holds.'),
  blocked: probability('Largest share of the beam that terrain up to here blocks, two decimals.'),
  terrain_file: text('File name of the terrain model.'),
  terrain_step_arcsec: plainNumber('Spacing of its heights from north to south, before any averaging.', 'arc-second'),
});
export type BlockageStep = z.infer<typeof BlockageStep>;

export const blockage = table({
  name: 'blockage',
  row: BlockageStep,
  schema_version: 1,
  order: 'radar_id, tilt_deg, azimuth_deg, distance_km',
});
