import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { STRIKE_MM } from '../../schemas/nowcast/probability.ts';
import type { NOWCAST_MODEL } from '../../schemas/reference/nowcast-model.ts';
import { MS_PER_MIN, utcDate } from '../../schemas/time.ts';
import { readProbSevere } from '../read/probsevere.ts';
import { fitLogistic } from './logistic.ts';
import { to4 } from './nowcast-fit.ts';

/**
 * Ridge penalty. Without it the size coefficient diverges: of the few objects here none that began with 25 mm or more fell below
 * 19 mm within 15 minutes.
 */
const RIDGE = 1;

/** A storm object with hail >= 19 mm at a time, and whether it still had hail >= 19 mm some minutes later. */
export interface SurvivalCase {
  readonly object: string;
  readonly size_mm: number;
  readonly minutes: number;
  readonly lives: boolean;
}

/** Sizes of objects at a time, by id. */
interface SizesAt {
  readonly time_ms: number;
  readonly sizes_mm: ReadonlyMap<string, number>;
}

/** All pairs of an object with hail >= 19 mm and a later file of the same day. An object missing from the file has no hail. */
export function survivalCases(days: readonly (readonly SizesAt[])[]): SurvivalCase[] {
  return days.flatMap((files, day) =>
    files.flatMap(({ time_ms, sizes_mm }) =>
      [...sizes_mm].flatMap(([id, size_mm]) => {
        if (size_mm < STRIKE_MM) return [];
        return files
          .filter((later) => later.time_ms > time_ms)
          .map((later) => ({
            object: `${day} ${id}`,
            size_mm,
            minutes: (later.time_ms - time_ms) / MS_PER_MIN,
            lives: (later.sizes_mm.get(id) ?? 0) >= STRIKE_MM,
          }));
      }),
    ),
  );
}

/** Survival law fitted to cases; `source` describes them. */
export function fitSurvival(cases: readonly SurvivalCase[], source: string): typeof NOWCAST_MODEL.survival {
  const { intercept, weights } = fitLogistic(
    cases.map(({ size_mm, minutes }) => [Math.log(size_mm / STRIKE_MM), minutes]),
    cases.map(({ lives }) => (lives ? 1 : 0)),
    cases.map(() => 1),
    RIDGE,
  );
  return {
    base: to4(intercept),
    size: to4(weights[0]),
    lead: to4(weights[1]),
    material: {
      source,
      objects: new Set(cases.map(({ object }) => object)).size,
      cases: cases.length,
      longest_min: Math.floor(Math.max(...cases.map(({ minutes }) => minutes))),
    },
  };
}

/** Sizes of the objects in the ProbSevere files of a folder, day by day, in order of time. */
export function readSizes(folder: string): { readonly dates: string[]; readonly days: SizesAt[][] } {
  const files = readdirSync(folder)
    .filter((name) => name.endsWith('.json'))
    .map((name) => readProbSevere(readFileSync(join(folder, name)), name))
    .sort((a, b) => a.valid_time - b.valid_time);
  const byDate = Map.groupBy(files, ({ valid_time }) => utcDate(valid_time));
  const days = [...byDate.values()].map((day) =>
    day.map(({ valid_time, objects }) => ({
      time_ms: valid_time,
      sizes_mm: new Map(objects.map(({ probsevere_id, mesh_mm }) => [probsevere_id, mesh_mm ?? 0])),
    })),
  );
  return { dates: [...byDate.keys()], days };
}
