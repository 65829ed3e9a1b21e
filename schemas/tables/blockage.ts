import { z } from 'zod';
import { table } from '../columns.ts';
import * as column from '../units.ts';

/**
 * One step of a ray: the share of the beam that terrain blocks from a distance on, up to the next step. A ray without rows is
 * free. The lowest tilt of every examined radar begins with a step to 0 at 0 km along each azimuth.
 */
export const BlockageStep = z.object({
  radar_id: column.text('WSR-88D site.'),
  tilt_deg: column.degrees('Elevation of the beam, one of the tilts of VCP 12 and 212.'),
  azimuth_deg: column.wholeDegrees('Direction of the ray from the radar, 0 = north, clockwise.'),
  distance_km: column.kilometres('Distance along the ground from which on the share holds.'),
  blocked: column.probability('Largest share of the beam that terrain up to here blocks, two decimals.'),
  terrain_file: column.text('File name of the terrain model.'),
  terrain_step_arcsec: column.plainNumber(
    'Spacing of its heights from north to south, before any averaging.',
    'arc-second',
  ),
});
export type BlockageStep = z.infer<typeof BlockageStep>;

export const blockage = table({
  name: 'blockage',
  row: BlockageStep,
  schema_version: 1,
  order: 'radar_id, tilt_deg, azimuth_deg, distance_km',
});
