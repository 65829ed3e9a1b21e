import { z } from 'zod';
import { Provenance } from '../provenance.ts';
import * as wire from './fields.ts';

const state = z.enum(['ok', 'degraded']);
const seconds = (description: string) => z.number().nonnegative().nullable().meta({ description, unit: 's' });
const time = (description: string) => z.string().nullable().meta({ description, format: 'date-time' });

/** State of the service; nothing about any business. */
export const Health = wire.resource('Health', {
  status: state.meta({ description: 'degraded when a component is.' }),
  version: z.string().meta({ description: 'Release that answers.' }),
  api_variant: z.literal('current').meta({ description: 'Variant of the interface that answers.' }),
  time: z.string().meta({ description: 'The data clock.', format: 'date-time' }),
  components: z.object({
    database: z.object({ status: state }).meta({ description: 'The businesses’ records.' }),
    metering: z.object({ status: state }).meta({ description: 'Whether calls can be charged.' }),
    data: z
      .object({
        status: state,
        reason: z.string().nullable().meta({
          description: 'Why this release refuses the published data, where their format is another; else null.',
        }),
      })
      .meta({ description: 'Whether the published data can be read.' }),
    ingest: z
      .object({
        status: state.meta({ description: 'degraded when a feed is late; the scans go on without a companion.' }),
        source: Provenance.nullable().meta({ description: 'Kind of the newest data.' }),
        last_scan_at: time('Observation time of the newest scan.'),
        lag_seconds: seconds('Age of the newest scan.'),
        stale: z.boolean().meta({
          description: 'No scan for ten minutes, none at all, or the newest lies ten minutes ahead of the clock.',
        }),
        sources: z
          .array(
            z.object({
              name: z.string().meta({
                description:
                  'Product by the name NOAA gives it, or feed of reports, warnings, watches, outlooks or forecasts.',
              }),
              status: state,
              last_success_at: time('Observation time of the newest data; of a feed, when it was last read.'),
              lag_seconds: seconds('Time since then.'),
              stale: z.boolean().meta({ description: 'Older than the feed should be.' }),
            }),
          )
          .meta({
            description:
              'Each by itself: every product that went into the published data, MESH first, then every feed beside the scans.',
          }),
      })
      .meta({ description: 'What the pipeline has published.' }),
    webhooks: z
      .object({
        status: state,
        queue_depth: z.int().nonnegative().meta({ description: 'Deliveries that wait.' }),
        oldest_due_seconds: seconds('For how long the oldest of them has been due.'),
      })
      .nullable()
      .meta({ description: 'Deliveries; null while the component is not running.' }),
    jobs: z
      .object({
        queued: z.int().nonnegative().meta({ description: 'Jobs that wait.' }),
        running: z.int().nonnegative().meta({ description: 'Jobs at work.' }),
      })
      .nullable()
      .meta({ description: 'Exports and reports; null while the component is not running.' }),
  }),
});
export type Health = z.infer<typeof Health>;

export const HEALTH_EXAMPLE: wire.Example<typeof Health> = {
  reply: {
    status: 'ok',
    version: '0.2.0',
    api_variant: 'current',
    time: '2026-05-01T20:14:07Z',
    components: {
      database: { status: 'ok' },
      metering: { status: 'ok' },
      data: { status: 'ok', reason: null },
      ingest: {
        status: 'ok',
        source: 'observed',
        last_scan_at: '2026-05-01T20:12:00Z',
        lag_seconds: 127,
        stale: false,
        sources: [
          { name: 'MESH', status: 'ok', last_success_at: '2026-05-01T20:12:00Z', lag_seconds: 127, stale: false },
          { name: 'POSH', status: 'ok', last_success_at: '2026-05-01T20:11:58Z', lag_seconds: 129, stale: false },
        ],
      },
      webhooks: { status: 'ok', queue_depth: 0, oldest_due_seconds: null },
      jobs: { queued: 0, running: 0 },
    },
  },
};
