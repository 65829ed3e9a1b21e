import { z } from 'zod';
import { word } from './units.ts';

/** Provenance of a storm date: observed and simulated data never share one. */
export const PROVENANCES = ['observed', 'simulated'] as const;
export const Provenance = z.enum(PROVENANCES);
export type Provenance = z.infer<typeof Provenance>;

/** Column for the provenance of one row: observed and simulated rows may share a table. */
export const provenanceColumn = (what: string) => word(what, PROVENANCES);

/** Provenance of several dates. */
export const MixedProvenance = z.enum([...PROVENANCES, 'mixed']);
export type MixedProvenance = z.infer<typeof MixedProvenance>;

/** Attribution of pictures and tiles. */
export const ATTRIBUTIONS: Readonly<Record<MixedProvenance, string>> = {
  observed: 'NOAA MRMS',
  simulated: 'simulated',
  mixed: 'NOAA MRMS and simulated',
};

/** Provenance of several dates together: theirs where they agree, else `mixed`; null for none. */
export function combineProvenances(provenances: Iterable<MixedProvenance>): MixedProvenance | null {
  const [first = null, ...others] = new Set(provenances);
  return others.length === 0 ? first : 'mixed';
}
