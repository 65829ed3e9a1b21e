import type { OtherVariant } from '../server/app.ts';
import type { DescribedVariant } from '../server/openapi.ts';
import type { EventFormat } from '../webhooks/formats.ts';
import { EARLIER_DESCRIPTION } from './description.ts';
import { EARLIER_FORMAT, EARLIER_WAITS_MS } from './event-format.ts';
import { startRiskWatch } from './risk-watch.ts';
import { EARLIER_ENDPOINTS } from './routes/index.ts';
import { EARLIER_VARIANT } from './variant.ts';

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
