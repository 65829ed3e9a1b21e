import type { Blockage } from '../../schemas/geo/blockage.ts';
import type { Position } from '../../schemas/geo/position.ts';
import { hailDayFreezingLevelKm } from '../../schemas/reference/freezing-level.ts';
import { groundM } from '../../schemas/reference/terrain.ts';
import type { RadarBlock } from '../../schemas/resources/radar-block.ts';
import { mesh75OfShi, mesh95OfShi, poshOfShi, shiOfMesh } from '../../schemas/size.ts';
import { companionFields } from '../../schemas/tables/radar.ts';
import { monthOfYear } from './detection-quality.ts';
import { rounded } from './rounded.ts';

/** Radar products at a pixel or over a cell, from the tables. */
export type Products = Readonly<
  Record<Exclude<keyof typeof companionFields, 'lowest_reflectivity_dbz'>, number | null>
>;

/** Products for a track that shares its cell with others: the table has those of the whole cell only, so none is given. */
export const NO_PRODUCTS = Object.fromEntries(Object.keys(companionFields).map((name) => [name, null])) as Products;

/**
 * Radar block of a size with its companion products. The index and the percentile sizes follow from MESH; POSH falls back to
 * the index and the freezing level of the month; products that are not ingested are null.
 */
export function radarBlock(
  mesh_mm: number,
  products: Products,
  position: Position,
  time_ms: number,
  terrain: Blockage | null,
): RadarBlock {
  const shi = shiOfMesh(mesh_mm);
  const freezing_km = hailDayFreezingLevelKm(position.lat, monthOfYear(time_ms));
  const { posh_pct, vil_kg_m2, echo_top_18_km, echo_top_50_km, max_reflectivity_dbz } = products;
  const vil_density =
    vil_kg_m2 === null || echo_top_18_km === null || echo_top_18_km <= 0 ? null : vil_kg_m2 / echo_top_18_km;
  return {
    mesh_mm: rounded(mesh_mm, 1),
    mesh75_mm: rounded(mesh75OfShi(shi), 1),
    mesh95_mm: rounded(mesh95OfShi(shi), 1),
    shi: rounded(shi, 1),
    posh_pct: rounded(posh_pct ?? poshOfShi(shi, Math.max(0, freezing_km - groundM(position, terrain) / 1000)), 1),
    vil_kg_m2: rounded(vil_kg_m2, 1),
    vil_density_g_m3: rounded(vil_density, 2),
    max_reflectivity_dbz: rounded(max_reflectivity_dbz, 1),
    reflectivity_minus20c_dbz: rounded(products.reflectivity_minus20c_dbz, 1),
    echo_top_18_km: rounded(echo_top_18_km, 2),
    echo_top_50_km: rounded(echo_top_50_km, 2),
    h50_above_0c_km: rounded(echo_top_50_km === null ? null : echo_top_50_km - freezing_km, 2),
    azshear_0_2km_per_s: rounded(products.azshear_0_2km_per_s, 4),
  };
}
