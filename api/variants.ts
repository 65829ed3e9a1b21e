import type { OtherVariant } from './app.ts';
import { EARLIER_FORMAT } from './legacy/event-format.ts';
import { EARLIER_ENDPOINTS } from './legacy/routes/index.ts';
import { openEarlierVariant } from './legacy/variant.ts';
import type { EventFormat } from './webhooks/formats.ts';

/** Variants of the interface in addition to the current one. */
export const OTHER_VARIANTS: readonly OtherVariant[] = [{ endpoints: EARLIER_ENDPOINTS, open: openEarlierVariant }];

/** Event formats of receivers in addition to the current one. */
export const OTHER_FORMATS: readonly EventFormat[] = [EARLIER_FORMAT];
