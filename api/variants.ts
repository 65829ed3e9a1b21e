import type { OtherVariant } from './app.ts';
import { EARLIER_DESCRIPTION } from './legacy/description.ts';
import { EARLIER_FORMAT, EARLIER_WAITS_MS } from './legacy/event-format.ts';
import { startRiskWatch } from './legacy/risk-watch.ts';
import { EARLIER_ENDPOINTS } from './legacy/routes/index.ts';
import { EARLIER_VARIANT } from './legacy/variant.ts';
import type { DescribedVariant } from './openapi.ts';
import type { EventFormat } from './webhooks/formats.ts';

/** A variant with its OpenAPI description and the path of its reference. */
interface DocumentedVariant extends OtherVariant {
  readonly description: DescribedVariant;
  readonly docs_path: string;
}

/** Variants of the interface in addition to the current one. */
export const OTHER_VARIANTS: readonly DocumentedVariant[] = [
  {
    endpoints: EARLIER_ENDPOINTS,
    variant: EARLIER_VARIANT,
    description: EARLIER_DESCRIPTION,
    docs_path: '/docs/legacy',
  },
];

/** Event formats of receivers in addition to the current one. */
export const OTHER_FORMATS: readonly EventFormat[] = [EARLIER_FORMAT];

/** Workers in addition to those of the current variant. */
export const OTHER_WORKERS = [{ name: 'risk scores', start: startRiskWatch }];

export { EARLIER_DESCRIPTION, EARLIER_WAITS_MS };
