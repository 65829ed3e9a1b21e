import { z } from 'zod';
import { table } from '../columns.ts';
import {
  count,
  degrees,
  flag,
  geometry,
  instant,
  kilometres,
  kilometresPerHour,
  latitude,
  longitude,
  millimetres,
  plainNumber,
  probability,
  stormDateColumn,
  text,
} from '../units.ts';

/** One storm object of a NOAA/CIMSS ProbSevere file, as ingested with a scan. */
export const ProbSevereObject = z.object({
  storm_date: stormDateColumn('Storm date of the scan the file was used for.'),
  scan_time: instant('Scan the file was used for.'),
  valid_time: instant('validTime of the file.'),
  probsevere_id: text('Object number; restarts in the long run, so never a track id.'),
  lat: latitude('Centroid of the polygon.'),
  lon: longitude('Centroid of the polygon.'),
  prob_hail: probability('Probability of hail >= 25.4 mm within 60 minutes.'),
  prob_wind: probability('Probability of severe wind.').nullable(),
  prob_tornado: probability('Probability of a tornado.').nullable(),
  mesh_mm: millimetres('Largest MESH of the object, from inches.').nullable(),
  vil_density_g_m3: plainNumber('VIL density.', 'g/m3').nullable(),
  mucape_j_kg: plainNumber('Most unstable CAPE.', 'J/kg').nullable(),
  effective_shear_kt: plainNumber('Effective bulk shear.', 'kt').nullable(),
  melting_level_km: kilometres('Wet-bulb zero height above the ground.').nullable(),
  flash_rate_per_min: plainNumber('Lightning flashes per minute.', '1/min').nullable(),
  size_px: count('Pixels of the object.').nullable(),
  speed_kmh: kilometresPerHour('Speed of motion; null when missing or above 40 m/s.').nullable(),
  direction_deg: degrees('Direction towards which it moves.').nullable(),
  flag_distrusted: flag('The model flags its own MESH.'),
  flag_stale: flag('Polygon and MESH repeat those of the previous file.'),
  model: text('probsevere-2 or probsevere-3.'),
  geometry: geometry('Polygon, RFC 7946 winding.'),
});
export type ProbSevereObject = z.infer<typeof ProbSevereObject>;

export const probsevere = table({
  name: 'probsevere',
  row: ProbSevereObject,
  schema_version: 1,
  order: 'scan_time, probsevere_id',
});
