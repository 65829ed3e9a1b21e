import { z } from 'zod';
import { CAP_SEVERITIES, TORNADO_DETECTIONS, WARNING_EVENTS } from '../tables/feeds.ts';
import * as wire from './fields.ts';
import { PolygonGeometry } from './geometry.ts';
import { MesoscaleDiscussion, Watch } from './watch.ts';

/** A Severe Thunderstorm or Tornado Warning of the National Weather Service by its last message. */
export const Warning = wire.resource('Warning', {
  id: z.string().meta({ description: 'Identifier of its last message at the source.' }),
  event: z.enum(WARNING_EVENTS).meta({ description: 'What is warned of.' }),
  severity: z.enum(CAP_SEVERITIES).meta({ description: 'CAP word of the source.' }),
  issued_at: wire.time('When its last message was sent.'),
  expires_at: wire.time('End of the event, not of the message; of a cancelled warning its cancellation.'),
  tornado_detection: z
    .enum(TORNADO_DETECTIONS)
    .nullable()
    .meta({ description: 'Tornado tag of the warning; null without one.' }),
  headline: z.string().nullable().meta({ description: 'Headline of the source; null where it has none.' }),
  geometry: PolygonGeometry,
});
export type Warning = z.infer<typeof Warning>;

/** Answer of GET /v1/warnings. */
export const Warnings = wire.resource('Warnings', {
  location: wire.askedPoint(),
  active_only: z.boolean().meta({ description: 'True for what is in force now, false for the history.' }),
  warnings: z.array(Warning).meta({
    description: 'Newest issued first. Empty, too, while the feed was never collected: note says so then.',
  }),
  watches: z.array(z.union([Watch, MesoscaleDiscussion])).meta({
    description:
      'Watches and mesoscale discussions, newest issued first. Empty, too, while a feed was never collected: note says so then.',
  }),
  unplaced_warnings: wire
    .count(
      'Warnings of anywhere in the time asked for that no list can hold, because their polygon is broken or absent; null while no warnings were ever collected.',
    )
    .nullable(),
  data_as_of: wire
    .time(
      'Until when warnings and watches are known to be complete, the earlier of both; null while a feed of either was never collected.',
    )
    .nullable(),
  note: z.string().nullable().meta({
    description:
      'Names the feeds that were never collected, whose entries are therefore missing, or says that nobody warns of the place; null without either.',
  }),
});
export type Warnings = z.infer<typeof Warnings>;

export const WARNINGS_EXAMPLE: wire.Example<typeof Warnings> = {
  query: { lat: '35.22', lon: '-97.44' },
  reply: {
    location: { lat: 35.22, lon: -97.44 },
    active_only: true,
    warnings: [
      {
        id: 'urn:oid:2.49.0.1.840.0.4c1f6b5d.001.1',
        event: 'Severe Thunderstorm Warning',
        severity: 'Severe',
        issued_at: '2026-05-01T20:02:00Z',
        expires_at: '2026-05-01T20:45:00Z',
        tornado_detection: null,
        headline: 'Severe Thunderstorm Warning issued May 1 at 3:02PM CDT until May 1 at 3:45PM CDT by NWS Norman OK',
        geometry: {
          type: 'Polygon',
          coordinates: [
            [
              [-97.71, 35.05],
              [-97.2, 35.08],
              [-97.16, 35.41],
              [-97.66, 35.36],
              [-97.71, 35.05],
            ],
          ],
        },
      },
    ],
    watches: [
      {
        id: 'watch-2026-0159',
        type: 'tornado_watch',
        watch_number: 159,
        issued_at: '2026-05-01T18:55:00Z',
        expires_at: '2026-05-02T02:00:00Z',
        headline: 'Tornado Watch 159 KS OK',
        geometry: null,
        bbox: { min_lat: 33.61657, max_lat: 40.00316, min_lon: -103.00246, max_lon: -94.43073 },
      },
    ],
    unplaced_warnings: 0,
    data_as_of: '2026-05-01T20:12:38Z',
    note: null,
  },
};
