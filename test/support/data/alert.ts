import { positionsOf } from './rings.ts';

/** A warning as api.weather.gov sends it, with what a test changes. */
export interface MadeAlert {
  readonly properties?: Readonly<Record<string, unknown>>;
  readonly parameters?: Readonly<Record<string, unknown>>;
  readonly geometry?: unknown;
}

const SQUARE = positionsOf('-98 35, -97 35, -97 36, -98 36, -98 35');

/** A severe thunderstorm warning of one square degree, sent at 20:00 UTC for 45 minutes. */
export function alertFeature({ properties, parameters, geometry }: MadeAlert = {}): Record<string, unknown> {
  return {
    id: 'https://api.weather.gov/alerts/urn:oid:1.001.1',
    type: 'Feature',
    geometry: geometry === undefined ? { type: 'Polygon', coordinates: [SQUARE] } : geometry,
    properties: {
      id: 'urn:oid:1.001.1',
      areaDesc: 'Oklahoma, OK',
      references: [],
      sent: '2025-05-01T15:00:00-05:00',
      effective: '2025-05-01T15:00:00-05:00',
      onset: '2025-05-01T15:00:00-05:00',
      expires: '2025-05-01T15:45:00-05:00',
      ends: '2025-05-01T15:45:00-05:00',
      status: 'Actual',
      messageType: 'Alert',
      severity: 'Severe',
      certainty: 'Observed',
      urgency: 'Immediate',
      event: 'Severe Thunderstorm Warning',
      sender: 'w-nws.webmaster@noaa.gov',
      senderName: 'NWS Norman OK',
      headline: 'Severe Thunderstorm Warning issued May 1 at 3:00PM CDT',
      parameters: {
        maxHailSize: ['1.50'],
        maxWindGust: ['60 MPH'],
        eventMotionDescription: ['2025-05-01T20:00:00-00:00...storm...292DEG...28KT...35.4,-97.5'],
        VTEC: ['/O.NEW.KOUN.SV.W.0101.250501T2000Z-250501T2045Z/'],
        ...parameters,
      },
      ...properties,
    },
  };
}

/** Bytes of a collection of features. */
export function alertFile(...features: unknown[]): Buffer {
  return Buffer.from(JSON.stringify({ type: 'FeatureCollection', features }));
}
