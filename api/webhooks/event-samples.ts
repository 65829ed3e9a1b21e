import type { z } from 'zod';
import type { EARLIER_EVENT_DATA, EarlierEventType, EVENT_DATA, EventType } from '../../schemas/webhook-events.ts';

const ALERT = {
  alert_id: 'alt_01KAJ3W9QZ6R8V2T4X5Y7A9B0C',
  subscription_id: 'sub_01KAJ3W9QZ6R8V2T4X5Y7A9B0C',
  location_id: 'sub_01KAJ3W9QZ6R8V2T4X5Y7A9B0C',
  location_name: 'Solar park north',
} as const;

const CREATED = {
  ...ALERT,
  area_id: null,
  threat_level: 'MODERATE',
  estimated_size_mm: 32.5,
  size_category: 'quarter',
  confidence: 0.82,
  location: { lat: 35.465, lon: -97.515 },
  distance_km: 4.21,
  detected_at: '2026-05-01T20:12:00Z',
  track_id: null,
} as const;

/** Sample data of each event type, for test events and documents. */
export const SAMPLES: { readonly [Type in EventType]: z.input<(typeof EVENT_DATA)[Type]> } = {
  'alert.created': CREATED,
  'alert.updated': {
    ...CREATED,
    threat_level: 'HIGH',
    estimated_size_mm: 44,
    size_category: 'golf_ball',
    previous_size_mm: 32.5,
  },
  'alert.resolved': {
    ...ALERT,
    threat_level: 'CLEAR',
    threat_cleared_at: '2026-05-01T21:04:00Z',
    max_size_during_event: 44,
    duration_seconds: 3120,
  },
  'portfolio.impact_summary': {
    date: '2026-05-01',
    radius_mi: 1,
    assets_checked: 120,
    impacted_count: 1,
    top_impacts: [{ asset_id: 'loc_01KAJ3W9QZ6R8V2T4X5Y7A9B0C', name: 'Depot', max_size_mm: 38.1 }],
  },
  'webhook.disabled': {
    webhook_id: 'wh_01KAJ3W9QZ6R8V2T4X5Y7A9B0C',
    url: 'https://hooks.example.com/hail',
    reason: 'consecutive_failures',
    consecutive_failures: 10,
    disabled_at: '2026-05-01T20:12:00Z',
    last_status_code: 503,
    last_error: 'http_status',
  },
};

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
    subscription_id: null,
    location_id: 'loc_01KAJ3W9QZ6R8V2T4X5Y7A9B0C',
    previous_score: 41,
    risk_score: 55,
    storm_id: null,
    mesh_size_mm: null,
    probability: null,
    coordinates: HAIL.coordinates,
  },
};
