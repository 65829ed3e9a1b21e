import type { z } from 'zod';
import type { EARLIER_EVENT_DATA, EVENT_DATA } from '../../schemas/webhook-events.ts';
import samples from './event-samples.json' with { type: 'json' };

type Samples<Data extends Readonly<Record<string, z.ZodType>>> = { readonly [Type in keyof Data]: z.input<Data[Type]> };

/** Sample `data` of each event type, by format: for test events and documents. */
export const SAMPLES = samples as Readonly<{
  current: Samples<typeof EVENT_DATA>;
  legacy: Samples<typeof EARLIER_EVENT_DATA>;
}>;
