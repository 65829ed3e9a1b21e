import type { z } from 'zod';
import type { EARLIER_EVENT_DATA, EarlierEventType } from '../../schemas/webhook-events.ts';

const HAIL = {
  subscription_id: 'sub_01KAJ3W9QZ6R8V2T4X5Y7A9B0C',
  storm_id: null,
  mesh_size_mm: 32.5,
  probability: 0.82,
  coordinates: { lat: 35.465, lng: -97.515 },
} as const;

/** An example of `data` for each event type, for tests of receivers. */
export const EARLIER_SAMPLES: { readonly [Type in EarlierEventType]: z.input<(typeof EARLIER_EVENT_DATA)[Type]> } = {
  'hail.detected': HAIL,
  'hail.cleared': { ...HAIL, mesh_size_mm: 44 },
  'alert.created': HAIL,
  'alert.resolved': { ...HAIL, mesh_size_mm: 44 },
  'risk.changed': {
    location_id: 'loc_01KAJ3W9QZ6R8V2T4X5Y7A9B0C',
    previous_score: 41,
    risk_score: 55,
    coordinates: { lat: 35.465, lng: -97.515 },
  },
};
