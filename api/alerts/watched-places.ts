import type { Kysely } from 'kysely';
import type { Database } from '../store/schema.ts';
import { indexPlaces, type PlaceIndex } from './places.ts';
import { type WatchedPlace, watchedPlaces, watchedVersions } from './watched.ts';

/** Subscriptions and areas that ask for hail, in memory: a few hundred bytes for each, outlines of areas not among them. */
export interface WatchedPlaces {
  /** The index of what asks now, whichever process changed it last. Only what changed is read, and without a change nothing is made. */
  readonly index: () => Promise<PlaceIndex>;
}

export function openWatchedPlaces(rows: Kysely<Database>): WatchedPlaces {
  let known: ReadonlyMap<string, WatchedPlace> = new Map();
  let index: PlaceIndex | null = null;
  return {
    index: async () => {
      const versions = await watchedVersions(rows);
      const changed = [...versions].flatMap(([id, version]) => (known.get(id)?.version === version ? [] : [id]));
      if (changed.length === 0 && versions.size === known.size && index !== null) return index;
      const read = await watchedPlaces(rows, changed);
      const next = new Map([...known].filter(([id]) => versions.has(id)));
      // Nothing is kept of a place that was changed and has gone since its version was read.
      for (const id of changed) next.delete(id);
      for (const place of read) next.set(place.id, place);
      const made = await indexPlaces([...next.values()]);
      known = next;
      index = made;
      return made;
    },
  };
}
