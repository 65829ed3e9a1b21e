import { readFileSync } from 'node:fs';
import type { z } from 'zod';
import type { EARLIER_EVENT_DATA, EVENT_DATA } from '../../schemas/webhook-events.ts';

type Samples<Data extends Readonly<Record<string, z.ZodType>>> = { readonly [Type in keyof Data]: z.input<Data[Type]> };

/** Sample `data` of each event type, by format: for test events and documents. */
export const SAMPLES: {
  readonly current: Samples<typeof EVENT_DATA>;
  readonly legacy: Samples<typeof EARLIER_EVENT_DATA>;
} = JSON.parse(readFileSync(new URL('./event-samples.json', import.meta.url), 'utf8'));
