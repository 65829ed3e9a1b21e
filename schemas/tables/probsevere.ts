import { z } from 'zod';
import { table } from '../columns.ts';
import * as column from '../units.ts';

/** One storm object of a NOAA/CIMSS ProbSevere file, as ingested with a scan. */
export const ProbSevereObject = z.object({
  storm_date: column.stormDate('Storm date of the scan the file was used for.'),
  scan_time: column.instant('Scan the file was used for.'),
  valid_time: column.instant('validTime of the file.'),
  probsevere_id: column.text('Object number; restarts in the long run, so never a track id.'),
  lat: column.latitude('Centroid of the polygon.'),
  lon: column.longitude('Centroid of the polygon.'),
  prob_hail: column.probability('Probability of hail >= 25.4 mm within 60 minutes.'),
  prob_wind: column.probability('Probability of severe wind.').nullable(),
  prob_tornado: column.probability('Probability of a tornado.').nullable(),
  mesh_mm: column.millimetres('Largest MESH of the object, from inches.').nullable(),
  vil_density_g_m3: column.plainNumber('VIL density.', 'g/m3').nullable(),
  mucape_j_kg: column.plainNumber('Most unstable CAPE.', 'J/kg').nullable(),
  effective_shear_kt: column.plainNumber('Effective bulk shear.', 'kt').nullable(),
  melting_level_km: column.kilometres('Wet-bulb zero height above the ground.').nullable(),
  flash_rate_per_min: column.plainNumber('Lightning flashes per minute.', '1/min').nullable(),
  size_px: column.count('Pixels of the object.').nullable(),
  speed_kmh: column.kilometresPerHour('Speed of motion; null when missing or above 40 m/s.').nullable(),
  direction_deg: column.degrees('Direction towards which it moves.').nullable(),
  flag_distrusted: column.flag('The model flags its own MESH.'),
  flag_stale: column.flag('Polygon and MESH repeat those of the previous file.'),
  model: column.text('probsevere-2 or probsevere-3.'),
  geometry: column.geometry('Polygon, RFC 7946 winding.'),
});
export type ProbSevereObject = z.infer<typeof ProbSevereObject>;

export const probsevere = table({
  name: 'probsevere',
  row: ProbSevereObject,
  schema_version: 1,
  order: 'scan_time, probsevere_id',
});
