import type { Scenario } from '../../../pipeline/simulate/weather.ts';
import type { Position } from '../../../schemas/geo/position.ts';

/** Some radars of the southern Plains: enough to cover the window below but for its western edge. */
export const SITES: readonly Position[] = [
  { lat: 35.33, lon: -97.28 },
  { lat: 37.65, lon: -97.44 },
  { lat: 33.65, lon: -101.81 },
  { lat: 32.57, lon: -97.3 },
];

/** Three by four degrees in Oklahoma: small, and never without storms. */
export const SMALL: Scenario = {
  seed: 11,
  window: { row0: 1850, col0: 3000, rows: 300, cols: 400 },
  day_type: 'outbreak',
  steady: true,
  sites: SITES,
};

export const EVENING_MS = Date.parse('2026-05-01T22:00:00Z');
