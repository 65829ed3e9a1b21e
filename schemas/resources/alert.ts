import { z } from 'zod';
import { ASSUMPTIONS } from '../assumptions.ts';
import { THREAT_LEVELS } from '../webhook-events.ts';
import * as wire from './fields.ts';

const ALERT_STATUSES = ['open', 'resolved', 'closed'] as const;

/** An episode of hail over a subscription. */
export const Alert = wire.resource('Alert', {
  alert_id: z.string().meta({ description: 'Identifier, `alt_` and a ULID: events of the alert carry it.' }),
  status: z.enum(ALERT_STATUSES).meta({
    description:
      '`resolved`: half an hour went by without hail. `closed`: the subscription was paused or changed meanwhile, and nobody was told.',
  }),
  threat_level: z.enum(THREAT_LEVELS).meta({ description: 'By the largest size; CLEAR once it is resolved.' }),
  triggered_at: wire.time('First detection.'),
  resolved_at: wire.time('Half an hour after the last detection; null unless it is resolved.').nullable(),
  estimated_size_mm: wire.mm('Size of the detection that raised the alert.'),
  max_size_mm: wire.mm('Largest size while it was open.'),
  confidence: wire.probability(`How sure that detection is. ${ASSUMPTIONS.confidence}`),
  location: z
    .object({ lat: wire.lat(), lon: wire.lon() })
    .meta({ description: 'Where the detection that raised the alert lies.' }),
  track_id: z.string().nullable().meta({
    description:
      'Storm cell that it belongs to, null outside any; GET /v1/storms/{track_id} answers from the second scan of that storm on.',
  }),
});
export type Alert = z.infer<typeof Alert>;
