import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readProbSevere } from '../../pipeline/read/probsevere.ts';
import { fitLogistic } from '../../pipeline/train/logistic.ts';
import { STRIKE_MM } from '../../schemas/nowcast/probability.ts';
import type { NOWCAST_MODEL } from '../../schemas/reference/nowcast-model.ts';
import { MS_PER_MIN, utcDate } from '../../schemas/time.ts';
import { to4 } from './nowcast-fit.ts';

/**
 * Without it the size coefficient has no end: of the few objects here none that began with 25 mm or more fell below 19 mm in
 * a quarter of an hour.
 */
const RIDGE = 1;

/** A storm object with hail >= 19 mm at a time, and whether it still had so much some minutes later. */
export interface SurvivalCase {
  readonly object: string;
  readonly size_mm: number;
  readonly minutes: number;
  readonly lives: boolean;
}

/** Sizes of objects at a time, by their name. */
export interface SizesAt {
  readonly time_ms: number;
  readonly sizes_mm: ReadonlyMap<string, number>;
}

/** Every pair of an object's hail >= 19 mm and a later file of the same day; an object that is gone has none. */
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

/** The law of survival on some cases, and what they are. */
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
