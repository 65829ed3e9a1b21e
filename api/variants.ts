import { EARLIER_FORMAT } from './legacy/event-format.ts';

import type { EventFormat } from './webhooks/formats.ts';

/** Event formats in addition to the current one. */
export const OTHER_FORMATS: readonly EventFormat[] = [EARLIER_FORMAT];
