import type { HailField, ScanInput, USUAL_COMPANIONS } from '../grid.ts';
import { MISSING, SIMULATED_PRODUCTS, type SimulatedProduct, type SimulatedScan } from './fields.ts';

/** Product of each companion, and how many of its stored steps make one unit. */
const COMPANION_OF: Readonly<
  Record<(typeof USUAL_COMPANIONS)[number], { product: SimulatedProduct; per_unit: number }>
> = {
  posh_pct: { product: 'POSH', per_unit: 10 },
  vil_kg_m2: { product: 'VIL', per_unit: 10 },
  echo_top_18_km: { product: 'EchoTop_18', per_unit: 1000 },
  echo_top_50_km: { product: 'EchoTop_50', per_unit: 1000 },
  max_reflectivity_dbz: { product: 'MergedReflectivityQCComposite', per_unit: 10 },
};

/** Input of the pipeline for a simulated scan, equal to writing and reading its files. */
export function scanInput(scan: SimulatedScan): ScanInput {
  const { scan_time, index, values } = scan;
  const withHail = Uint32Array.from(index.keys().filter((n) => values.MESH[n] > 0));
  const companion = (name: keyof typeof COMPANION_OF) => {
    const { product, per_unit } = COMPANION_OF[name];
    return Float32Array.from(withHail, (n) => {
      const value = values[product][n];
      return value === MISSING ? Number.NaN : value / per_unit;
    });
  };
  return {
    scan_time,
    simulated: true,
    mesh: hailField(scan, withHail),
    companions: {
      posh_pct: companion('posh_pct'),
      vil_kg_m2: companion('vil_kg_m2'),
      echo_top_18_km: companion('echo_top_18_km'),
      echo_top_50_km: companion('echo_top_50_km'),
      max_reflectivity_dbz: companion('max_reflectivity_dbz'),
    },
    uncovered: null,
    probsevere: null,
    products: SIMULATED_PRODUCTS,
  };
}

function hailField({ window, index, values }: SimulatedScan, withHail: Uint32Array): HailField {
  const rowStart = new Uint32Array(window.rows + 1);
  for (const n of withHail) rowStart[Math.floor(index[n] / window.cols) + 1]++;
  for (let row = 0; row < window.rows; row++) rowStart[row + 1] += rowStart[row];
  return {
    window,
    rowStart,
    col: Uint16Array.from(withHail, (n) => window.col0 + (index[n] % window.cols)),
    tenths: Uint16Array.from(withHail, (n) => values.MESH[n]),
    covered_px: window.rows * window.cols,
    uncovered_px: 0,
  };
}
