import sites from '../../data/reference/wsr88d.json' with { type: 'json' };
import type { Antenna } from '../geo/beam.ts';

/** Every WSR-88D site, sorted by id: 160, of them 144 between 24-50 N and 125.5-66 W. Sources: data/reference/README.md. */
export const WSR88D: readonly (Antenna & { readonly name: string })[] = sites;
