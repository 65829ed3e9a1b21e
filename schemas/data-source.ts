import { z } from 'zod';

/** Provenance of a storm date: observed and simulated data never share one. */
export const DATA_SOURCES = ['observed', 'simulated'] as const;
export const DataSource = z.enum(DATA_SOURCES);
export type DataSource = z.infer<typeof DataSource>;

/** Provenance of several dates. */
export const MixedSource = z.enum([...DATA_SOURCES, 'mixed']);
export type MixedSource = z.infer<typeof MixedSource>;

/** Attribution of pictures and tiles. */
export const ATTRIBUTIONS: Readonly<Record<MixedSource, string>> = {
  observed: 'NOAA MRMS',
  simulated: 'simulated',
  mixed: 'NOAA MRMS and simulated',
};

/** Provenance of several dates together: theirs where they agree, else `mixed`; null for none. */
export function mixedSource(sources: Iterable<MixedSource>): MixedSource | null {
  const [first = null, ...others] = new Set(sources);
  return others.length === 0 ? first : 'mixed';
}
