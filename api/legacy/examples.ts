import type { z } from 'zod';
import type { EarlierExample } from './endpoint.ts';
import type {
  EarlierForecast,
  EarlierHistory,
  EarlierRadar,
  EarlierRisk,
  EarlierStorms,
  EarlierSubscription,
  EarlierSubscriptionCancelled,
  EarlierSubscriptionCreated,
  EarlierWebhookCreated,
} from './resources.ts';

export const EARLIER_SUBSCRIBE_EXAMPLE: EarlierExample<z.infer<typeof EarlierSubscriptionCreated>> = {
  body: { location: { lat: 35.4676, lng: -97.5164 }, threshold_mm: 25, webhook_url: 'https://hooks.example.com/hail' },
  data: {
    id: 'sub_01KAJ3W9QZ6R8V2T4X5Y7A9B0C',
    status: 'active',
    location: { lat: 35.4676, lng: -97.5164 },
    threshold_mm: 25,
    webhook_url: 'https://hooks.example.com/hail',
    webhook_secret: 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oDuSKQkQ5mb3Y=',
    created_at: '2026-05-01T17:20:11.030Z',
  },
};

export const EARLIER_ALERT_EXAMPLE: EarlierExample<z.infer<typeof EarlierSubscription>> = {
  data: {
    id: 'sub_01KAJ3W9QZ6R8V2T4X5Y7A9B0C',
    status: 'active',
    threshold_mm: 25,
    recent_alerts: [
      {
        alert_id: 'alt_01KAJ4D2M8N6P4R2T0V8X6Z4B2',
        triggered_at: '2026-05-01T20:12:00Z',
        mesh_size_mm: 31.4,
        storm_id: '20260501-2h9x0c1k4m7pq',
      },
    ],
  },
};

export const EARLIER_CANCEL_EXAMPLE: EarlierExample<z.infer<typeof EarlierSubscriptionCancelled>> = {
  data: { id: 'sub_01KAJ3W9QZ6R8V2T4X5Y7A9B0C', status: 'cancelled', cancelled_at: '2026-05-01T21:03:44Z' },
};

export const EARLIER_STORMS_EXAMPLE: EarlierExample<z.infer<typeof EarlierStorms>> = {
  query: { lat: '35.22', lng: '-97.44' },
  data: [
    {
      storm_id: '20260501-2h9x0c1k4m7pq',
      coordinates: { lat: 35.24813, lng: -97.57205 },
      mesh_size_mm: 41.5,
      probability: 0.862,
      detected_at: '2026-05-01T20:12:38Z',
      direction_deg: 71,
      speed_kph: 52.3,
    },
  ],
};

export const EARLIER_FORECAST_EXAMPLE: EarlierExample<z.infer<typeof EarlierForecast>> = {
  query: { lat: '35.22', lng: '-97.44', hours: '2' },
  data: [
    { time: '2026-05-01T21:00:00Z', probability: 0.116, max_size_mm: 28.9, confidence: 0.9 },
    { time: '2026-05-01T22:00:00Z', probability: 0.183, max_size_mm: 31.4, confidence: 0.889 },
  ],
};

export const EARLIER_HISTORY_EXAMPLE: EarlierExample<z.infer<typeof EarlierHistory>> = {
  query: { lat: '35.22', lng: '-97.44', start_date: '2026-05-01', end_date: '2026-05-02' },
  data: [
    {
      date: '2026-05-01',
      max_size_mm: 41.5,
      duration_minutes: 14.4,
      damage_estimate: 'significant',
      storm_id: '20260501-2h9x0c1k4m7pq',
    },
  ],
};

export const EARLIER_RISK_EXAMPLE: EarlierExample<z.infer<typeof EarlierRisk>> = {
  data: {
    location_id: 'loc_01KAJ3W9QZ6R8V2T4X5Y7A9B0C',
    risk_score: 91,
    annual_hail_days: 3.04,
    trend: 'stable',
    last_event: { date: '2026-05-01', max_size_mm: 41.5 },
  },
};

export const EARLIER_RADAR_EXAMPLE: EarlierExample<z.infer<typeof EarlierRadar>> = {
  query: { lat: '35.22', lng: '-97.44', products: 'mesh,velocity' },
  data: {
    station: 'KTLX',
    products: [
      {
        type: 'mesh',
        timestamp: '2026-05-01T20:12:00Z',
        tile_url: 'https://hail.example/tiles/scan/2026-05-01/20260501T201200Z-77b0e1aa.pmtiles',
        note: null,
      },
      {
        type: 'velocity',
        timestamp: null,
        tile_url: null,
        note: 'The source of the scans, NOAA MRMS, publishes no velocity.',
      },
    ],
  },
};

export const EARLIER_CREATE_WEBHOOK_EXAMPLE: EarlierExample<z.infer<typeof EarlierWebhookCreated>> = {
  body: { url: 'https://hooks.example.com/hail', events: ['hail.detected', 'hail.cleared'] },
  data: {
    webhook_id: 'wh_01KAJ3W9QZ6R8V2T4X5Y7A9B0C',
    secret: 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oDuSKQkQ5mb3Y=',
    url: 'https://hooks.example.com/hail',
    events: ['hail.detected', 'hail.cleared'],
    status: 'active',
  },
};
