import { readFileSync } from 'node:fs';
import { type InspectOptions, inspectFile } from '../../../pipeline/commands/inspect-file.ts';
import { sharedData, sharedTest } from '../../support/data/shared-data.ts';

/** The report on the one grid field of a file; throws when the file turns out to be something else. */
async function detailOf(path: string, look: Partial<InspectOptions> = {}) {
  const report = await inspectFile(path, { at: [], thresholds: null, bbox: null, field: null, ...look });
  if (report.format === 'ProbSevere' || report.detail === null) throw new TypeError('no single field');
  return report.detail;
}

interface MeshFigures {
  readonly thresholds_mm: Record<
    string,
    { pixels: number; area_km2: number; components_8: number; components_4: number }
  >;
}

sharedTest('the 24 h maximum: pixels, exact areas and component counts are those of the figures', async (t) => {
  const name = 'MRMS_MESH_Max_1440min_00.50_20240228-100000.grib2';
  const expected = JSON.parse(readFileSync(sharedData('expected.json'), 'utf8')).mrms[name] as MeshFigures;
  const thresholds = Object.keys(expected.thresholds_mm)
    .map(Number)
    .filter((mm) => mm >= 5);
  const detail = await detailOf(sharedData('mrms', name), { thresholds });
  for (const { threshold, pixels, area_km2, components_8, components_4 } of detail.thresholds) {
    const figure = expected.thresholds_mm[threshold];
    t.deepEqual([pixels, components_8, components_4], [figure?.pixels, figure?.components_8, figure?.components_4]);
    t.true(Math.abs((area_km2 as number) - (figure?.area_km2 as number)) <= 1e-4 + 1e-6 * (figure?.area_km2 as number));
  }
});

interface MrmsFigures {
  readonly product: string;
  readonly grid: { readonly ni: number; readonly nj: number; readonly di: number; readonly dj: number };
  readonly packing: Readonly<
    Record<'template' | 'bits' | 'reference_value' | 'binary_scale' | 'decimal_scale', number>
  >;
  readonly sentinels: { readonly counts: Readonly<Record<string, number>> };
  readonly valid: Readonly<Record<'count' | 'min' | 'max' | 'zeros' | 'negative', number>>;
}

sharedTest('every MRMS file has the grid, the packing, the sentinels and the values of the figures', async (t) => {
  const { mrms } = JSON.parse(readFileSync(sharedData('expected.json'), 'utf8')) as {
    mrms: Record<string, MrmsFigures>;
  };
  t.true(Object.keys(mrms).length >= 7);
  for (const [name, figures] of Object.entries(mrms)) {
    const { grid, packing, summary } = await detailOf(sharedData('mrms', name));
    const { template, bits, reference_value, binary_scale, decimal_scale } = figures.packing;
    t.like(packing, { template, bits, reference: reference_value, binary_scale, decimal_scale }, name);
    const { ni, nj, di, dj } = figures.grid;
    t.like(grid, { columns: ni, rows: nj, step_lon_deg: di, step_lat_deg: dj }, name);
    for (const found of [summary.no_coverage, summary.nothing])
      if (found !== null) t.is(figures.sentinels.counts[found.value], found.points, `${name} ${found.value}`);
    const { count, min, max, zeros, negative } = figures.valid;
    t.like(summary, { values: count, zeros, negative, min: { value: min }, max: { value: max } }, name);
  }
});

sharedTest('three states of the 24 h maximum: what lies in the box is what the figures say', async (t) => {
  const name = 'MRMS_MESH_Max_1440min_00.50_20240228-100000.grib2';
  const { regions } = JSON.parse(readFileSync(sharedData('expected.json'), 'utf8')).mesh_regions as {
    regions: Record<string, MeshFigures & { bbox: [number, number, number, number]; max: number }>;
  };
  for (const region of ['IL', 'OH', 'MI']) {
    const { bbox, thresholds_mm, max } = regions[region] as (typeof regions)[string];
    const detail = await detailOf(sharedData('mrms', name), {
      bbox,
      thresholds: Object.keys(thresholds_mm).map(Number),
    });
    t.is(detail.summary.max?.value, max);
    for (const { threshold, pixels, area_km2, components_8, components_4 } of detail.thresholds) {
      const figure = thresholds_mm[threshold];
      t.deepEqual([pixels, components_8, components_4], [figure?.pixels, figure?.components_8, figure?.components_4]);
      t.true(Math.abs((area_km2 as number) - (figure?.area_km2 as number)) < 1e-4);
    }
  }
});
