import type { MixedProvenance } from '../../schemas/provenance.ts';

/** Marks of data that are not all observed: on a band of every page, on every map, in every summary. */
export interface NotRealMark {
  readonly band: string;
  readonly map: string;
  readonly lead: string;
  /** In the title of the file. */
  readonly title: string;
  /** After the name of every source. */
  readonly aside: string;
}

const NOT_REAL: Readonly<Record<MixedProvenance, NotRealMark | null>> = {
  observed: null,
  simulated: {
    band: 'SIMULATED DATA - NOT REAL WEATHER',
    map: 'SIMULATED',
    lead: 'Simulated data:',
    title: 'simulated data, not real weather',
    aside: ' (simulated)',
  },
  mixed: {
    band: 'PARTLY SIMULATED DATA - NOT ALL OF THIS IS REAL WEATHER',
    map: 'PARTLY SIMULATED',
    lead: 'Partly simulated data:',
    title: 'partly simulated data, not all of this is real weather',
    aside: ' (may be simulated)',
  },
};

/** The mark of every page; null for observed data and without data. */
export function notRealMark(data_source: MixedProvenance | null): NotRealMark | null {
  return data_source === null ? null : NOT_REAL[data_source];
}

/** Source of the radar data, in a line. */
export const SOURCE_WORDS: Readonly<Record<MixedProvenance, string>> = {
  observed: 'NOAA MRMS radar (MESH), observed',
  simulated: 'Simulated, not real weather',
  mixed: 'NOAA MRMS radar (MESH) and simulated data: not all of this is real weather',
};
