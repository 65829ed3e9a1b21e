import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { roughDistanceKm } from '../../schemas/geo/distance.ts';
import { LATTICES } from '../../schemas/geo/lattice.ts';
import type { Cell, ProbSevereObject, TrackPoint } from '../../schemas/tables/radar.ts';
import { MS_PER_MIN } from '../../schemas/time.ts';
import { MM_PER_INCH } from '../../schemas/units.ts';
import { type CellShape, findCells } from '../detect/cells.ts';
import type { Predictors } from '../detect/hail-model.ts';
import { cellPredictors } from '../detect/predictors.ts';
import { PipelineError } from '../error.ts';
import { MAX_PROBSEVERE_BYTES, readProbSevere } from '../read/probsevere.ts';
import { simulateScan } from '../simulate/fields.ts';
import { scanInput } from '../simulate/scan-input.ts';
import { scanTimes } from '../simulate/scan-times.ts';
import type { Scenario } from '../simulate/scenario.ts';
import { stormAt, stormsBetween } from '../simulate/storms.ts';
import { growthRate, recentSizes, type SizeAt } from '../track/trend.ts';
import type { TrainingSample } from './train-model.ts';

/** An evening: an hour of history, an hour of cases, an hour of verification. */
const PAST_MIN = 60;
const CASES_MIN = 60;
const FUTURE_MIN = 60;
/** Interval of the cases of a storm, minutes: closer cases are redundant. */
const CASE_EVERY_MIN = 10;
/** A cell belongs to the nearest simulated storm within this distance, km. */
const STORM_MAX_KM = 15;
/** Smallest MESH of a ProbSevere object used: below it ProbHail is near zero whatever the other predictors, mm. */
const OBJECT_MIN_MM = 3;
/** Size law of hail on the ground in the simulator: ln D = base + slope ln MESH + spread N. */
const GROUND_LAW = { base: 1.18, slope: 0.62, spread: 0.28 } as const;
/** Size of the event, mm. */
const EVENT_MM = MM_PER_INCH;

/**
 * Cases of one simulated evening that starts at `start_ms`: storm cells as detected by the pipeline.
 * The target is the probability of hail >= 25.4 mm at the storm's largest MESH in the next 60 minutes, by the simulator's size law.
 */
export function eveningSamples(scenario: Scenario, start_ms: number): TrainingSample[] {
  const end_ms = start_ms + (PAST_MIN + CASES_MIN + FUTURE_MIN) * MS_PER_MIN;
  const sizes = new Map<string, SizeAt[]>();
  const cases: { storm_id: string; scan_time: number; cell: CellShape }[] = [];
  let nextCase_ms = start_ms + PAST_MIN * MS_PER_MIN;
  for (const scan_time of scanTimes(scenario.seed, start_ms, end_ms)) {
    const cells = largestByStorm(scenario, scan_time, findCells(scanInput(simulateScan(scenario, scan_time))));
    for (const [storm_id, cell] of cells) {
      const size = { scan_time, size_mm: cell.estimated_size_mm };
      sizes.set(storm_id, [...(sizes.get(storm_id) ?? []), size]);
    }
    if (scan_time < nextCase_ms || scan_time >= end_ms - FUTURE_MIN * MS_PER_MIN) continue;
    nextCase_ms += CASE_EVERY_MIN * MS_PER_MIN;
    for (const [storm_id, cell] of cells) cases.push({ storm_id, scan_time, cell });
  }
  return cases.map(({ storm_id, scan_time, cell }) => {
    const seen = sizes.get(storm_id) ?? [];
    const past = seen.filter((size) => size.scan_time <= scan_time);
    const future = seen.filter(
      (size) => size.scan_time >= scan_time && size.scan_time <= scan_time + FUTURE_MIN * MS_PER_MIN,
    );
    return {
      source: 'simulated',
      group: `${scenario.day_type}-${scenario.seed}`,
      target: groundProbability(Math.max(...future.map(({ size_mm }) => size_mm))),
      predictors: cellPredictors(LATTICES.conus, cell, scan_time, {
        growth_mm_per_min: growthRate(recentSizes(past, scan_time)),
        duration_min: (scan_time - past[0].scan_time) / MS_PER_MIN,
      }),
    };
  });
}

/** Cases of a folder of ProbSevere files, in the order of their names; the target is ProbHail. */
export async function probsevereSamples(folder: string): Promise<TrainingSample[]> {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.json')).sort();
  if (names.length === 0) throw new PipelineError('train', folder, 'no ProbSevere file, expected at least one *.json');
  const samples: TrainingSample[] = [];
  for (const name of names) {
    const path = join(folder, name);
    const bytes = await readFile(path);
    if (bytes.length > MAX_PROBSEVERE_BYTES)
      throw new PipelineError('train', path, `${bytes.length} bytes, expected at most ${MAX_PROBSEVERE_BYTES}`);
    const { valid_time, objects } = readProbSevere(bytes, path);
    for (const { mesh_mm, flag_distrusted, prob_hail } of objects) {
      if (mesh_mm === null || mesh_mm < OBJECT_MIN_MM || flag_distrusted) continue;
      samples.push({
        source: 'probsevere',
        group: new Date(valid_time).toISOString().slice(0, 10),
        target: prob_hail,
        predictors: meshAlone(mesh_mm),
      });
    }
  }
  return samples;
}

/** Predictors of a storm of which only MESH is known. */
export function meshAlone(mesh_mm: number): Predictors {
  return {
    mesh_mm,
    posh_pct: null,
    echo_top_50_above_freezing_km: null,
    area_km2: null,
    growth_mm_per_min: null,
    duration_min: null,
  };
}

/** Largest cell of each simulated storm that has one, by storm. */
function largestByStorm(scenario: Scenario, scan_time: number, cells: readonly CellShape[]): Map<string, CellShape> {
  const storms = stormsBetween(scenario, scan_time, scan_time).map((storm) => stormAt(storm, scan_time));
  const largest = new Map<string, CellShape>();
  for (const cell of cells) {
    let nearest: string | null = null;
    let nearest_km = STORM_MAX_KM;
    for (const state of storms) {
      const distance_km = state.peak_mm > 0 ? roughDistanceKm(state, cell) : Number.POSITIVE_INFINITY;
      if (distance_km >= nearest_km) continue;
      nearest_km = distance_km;
      nearest = state.storm.storm_id;
    }
    if (nearest === null) continue;
    const known = largest.get(nearest);
    if (!known || known.estimated_size_mm < cell.estimated_size_mm) largest.set(nearest, cell);
  }
  return largest;
}

function groundProbability(mesh_mm: number): number {
  return normalShare((GROUND_LAW.base + GROUND_LAW.slope * Math.log(mesh_mm) - Math.log(EVENT_MM)) / GROUND_LAW.spread);
}

/** Share of a standard normal below z, to 1e-7. Source: Abramowitz & Stegun 26.2.17. */
function normalShare(z: number): number {
  const t = 1 / (1 + 0.2316419 * Math.abs(z));
  const tail =
    Math.exp((-z * z) / 2) *
    0.3989422804014327 *
    t *
    (0.31938153 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429))));
  return z > 0 ? 1 - tail : tail;
}

/**
 * Cells of a storm date with the ProbHail of their object. The largest cell represents an object; objects that repeat the previous
 * file (`flag_stale`) or flag their own MESH (`flag_distrusted`) are left out. `echo_top_50_above_freezing_km` is null: the cells
 * table has the echo top but not the freezing level it was measured from.
 */
export function publishedSamples(
  cells: readonly Cell[],
  objects: readonly ProbSevereObject[],
  tracks: readonly TrackPoint[],
): TrainingSample[] {
  const name = (scan_time: number, of: string | number) => `${scan_time} ${of}`;
  const byObject = new Map<string, Cell>();
  for (const cell of cells) {
    if (cell.probsevere_id === null) continue;
    const known = byObject.get(name(cell.scan_time, cell.probsevere_id));
    if (!known || known.estimated_size_mm < cell.estimated_size_mm)
      byObject.set(name(cell.scan_time, cell.probsevere_id), cell);
  }
  const trackOf = new Map(
    tracks.flatMap((track) =>
      track.cell_index === null ? [] : [[name(track.scan_time, track.cell_index), track] as const],
    ),
  );
  return objects.flatMap((object) => {
    const cell = byObject.get(name(object.scan_time, object.probsevere_id));
    const usable = !object.flag_stale && !object.flag_distrusted && (object.mesh_mm ?? 0) >= OBJECT_MIN_MM;
    if (!cell || !usable) return [];
    const track = trackOf.get(name(cell.scan_time, cell.cell_index));
    return [
      {
        source: 'probsevere',
        group: object.storm_date,
        target: object.prob_hail,
        predictors: {
          ...meshAlone(cell.estimated_size_mm),
          posh_pct: cell.posh_pct,
          area_km2: cell.area_km2,
          growth_mm_per_min: track?.size_growth_rate_mm_per_min ?? null,
          duration_min: track?.duration_min ?? null,
        },
      } as const,
    ];
  });
}
