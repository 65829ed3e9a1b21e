import { z } from 'zod';
import { wireKm, wireMm, wireNumber, wirePercent } from './fields.ts';

/** Values of the radar products at a pixel or over a storm cell, named after the products. Missing products are null. */
export const RadarBlock = z.object({
  mesh_mm: wireMm('Maximum estimated size of hail (MESH), the MRMS product.'),
  mesh75_mm: wireMm('75th percentile size for the same index (Murillo et al. 2021).'),
  mesh95_mm: wireMm('95th percentile size for the same index (Murillo et al. 2021).'),
  shi: wireNumber('Severe hail index, from MESH = 2.54 SHI^0.5.', 'J/(m s)'),
  posh_pct: wirePercent(
    'Probability of severe hail (>= 19 mm): of the product, else from the index and the climatological freezing level.',
  ),
  vil_kg_m2: wireNumber('Vertically integrated liquid.', 'kg/m2').nullable(),
  vil_density_g_m3: wireNumber('Vertically integrated liquid over the 18 dBZ echo top.', 'g/m3').nullable(),
  max_reflectivity_dbz: wireNumber('Composite reflectivity.', 'dBZ').nullable(),
  reflectivity_minus20c_dbz: wireNumber('Reflectivity at the -20 C level.', 'dBZ').nullable(),
  echo_top_18_km: wireKm('Height above sea level of the highest 18 dBZ echo.').nullable(),
  echo_top_50_km: wireKm('Height above sea level of the highest 50 dBZ echo.').nullable(),
  h50_above_0c_km: wireKm('Height of the 50 dBZ echo above the climatological 0 C level.').nullable(),
  azshear_0_2km_per_s: wireNumber('Azimuthal shear from 0 to 2 km.', '1/s').nullable(),
});
export type RadarBlock = z.infer<typeof RadarBlock>;
