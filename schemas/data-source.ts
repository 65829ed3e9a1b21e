import { z } from 'zod';

/** Where the data of a storm date come from; the two kinds never share a date. */
export const DATA_SOURCES = ['observed', 'simulated'] as const;
export const DataSource = z.enum(DATA_SOURCES);
export type DataSource = z.infer<typeof DataSource>;

/** Where the data of several dates come from. */
export const MixedSource = z.enum([...DATA_SOURCES, 'mixed']);
export type MixedSource = z.infer<typeof MixedSource>;

/** How pictures and archives name where their data come from. */
export const ATTRIBUTIONS: Readonly<Record<MixedSource, string>> = {
  observed: 'NOAA MRMS',
  simulated: 'simulated',
  mixed: 'NOAA MRMS and simulated',
};

/** One word for the data of several dates: theirs where they agree, else `mixed`; null for none. */
export function mixedSource(sources: Iterable<MixedSource>): MixedSource | null {
  const [first = null, ...others] = new Set(sources);
  return others.length === 0 ? first : 'mixed';
}
