import type { z } from 'zod';
import * as wire from './fields.ts';

/** Values of the radar products at a pixel or over a storm cell, named after the products. Missing products are null. */
export const RadarBlock = wire.resource('RadarBlock', {
  mesh_mm: wire.mm('Maximum estimated size of hail (MESH), the MRMS product.'),
  mesh75_mm: wire.mm('75th percentile size for the same index (Murillo et al. 2021).'),
  mesh95_mm: wire.mm('95th percentile size for the same index (Murillo et al. 2021).'),
  shi: wire.number('Severe hail index, from MESH = 2.54 SHI^0.5.', 'J/(m s)'),
  posh_pct: wire.percent(
    'Probability of severe hail (>= 19 mm): of the product, else from the index and the climatological freezing level.',
  ),
  vil_kg_m2: wire.number('Vertically integrated liquid.', 'kg/m2').nullable(),
  vil_density_g_m3: wire.number('Vertically integrated liquid over the 18 dBZ echo top.', 'g/m3').nullable(),
  max_reflectivity_dbz: wire.number('Composite reflectivity.', 'dBZ').nullable(),
  reflectivity_minus20c_dbz: wire.number('Reflectivity at the -20 C level.', 'dBZ').nullable(),
  echo_top_18_km: wire.km('Height above sea level of the highest 18 dBZ echo.').nullable(),
  echo_top_50_km: wire.km('Height above sea level of the highest 50 dBZ echo.').nullable(),
  h50_above_0c_km: wire.km('Height of the 50 dBZ echo above the climatological 0 C level.').nullable(),
  azshear_0_2km_per_s: wire.number('Azimuthal shear from 0 to 2 km.', '1/s').nullable(),
});
export type RadarBlock = z.infer<typeof RadarBlock>;
