import sites from '../../data/reference/wsr88d.json' with { type: 'json' };

/** One WSR-88D weather radar: position on WGS84, heights above mean sea level. */
export interface RadarSite {
  readonly id: string;
  readonly name: string;
  readonly lat: number;
  readonly lon: number;
  readonly antenna_m: number;
  readonly ground_m: number;
}

/** Every WSR-88D site, sorted by id: 160, of them 144 between 24-50 N and 125.5-66 W. Sources: data/reference/README.md. */
export const WSR88D: readonly RadarSite[] = sites;
