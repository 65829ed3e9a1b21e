import { advanceTracks } from '../../pipeline/track/advance.ts';
import { type LiveTracks, noLiveTracks } from '../../pipeline/track/live-tracks.ts';
import type { ObjectScan } from '../support/data/storm-objects.ts';

/** How our tracks of NOAA's storm objects agree with NOAA's own numbers, from one file to the next. */
export interface StormLinks {
  /** Objects with the same number in two files in a row. */
  readonly links: number;
  /** Of these, those that our tracks do not join. */
  readonly cut: number;
  /** Objects that one of our tracks joins with another one of the file before, and those of them whose numbers differ. */
  readonly joined: number;
  readonly joined_otherwise: number;
}

/** Tracks the objects of an evening and compares every link with NOAA's. */
export function stormLinks(scans: readonly ObjectScan[]): StormLinks {
  const sum = { links: 0, cut: 0, joined: 0, joined_otherwise: 0 };
  let live: LiveTracks = noLiveTracks;
  let trackOf = new Map<string, string>();
  for (const { scan_time, cells } of scans) {
    const step = advanceTracks(live, { scan_time, cells, pattern_motion: null });
    const now = new Map(cells.map(({ probsevere_id }, k) => [probsevere_id, step.trackOfCell[k] as string]));
    const numberOf = new Map([...trackOf].map(([number, track]) => [track, number]));
    for (const [number, track] of now) {
      const before = trackOf.get(number);
      if (before !== undefined) sum.links++;
      if (before !== undefined && before !== track) sum.cut++;
      const joined = numberOf.get(track);
      if (joined !== undefined) sum.joined++;
      if (joined !== undefined && joined !== number) sum.joined_otherwise++;
    }
    live = step.live;
    trackOf = now;
  }
  return sum;
}

/** One line about an evening. */
export function linksLine(day: string, { links, cut, joined, joined_otherwise }: StormLinks): string {
  const share = (part: number, of: number) => `${((100 * part) / of).toFixed(1)} %`;
  return (
    `NOAA's objects of ${day}: ${cut} of ${links} links cut (${share(cut, links)}), ` +
    `${joined_otherwise} of ${joined} joined with another object (${share(joined_otherwise, joined)})`
  );
}
