import { ERROR_ADVICE, ERRORS, type ErrorCode } from '../../schemas/errors.ts';
import { factTable, html, inlineCode } from './docs-html.ts';
import { webhookFragments } from './docs-webhooks.ts';

/** Facts that the service states of itself, as HTML, by the name under which a guide includes them. */
export type Fragments = Readonly<Record<string, () => string>>;

/** The parts of an OpenAPI document that hold prices and sizes of pages. */
export interface Priced {
  readonly paths?: object | undefined;
}
interface PricedOperation {
  readonly operationId?: string;
  readonly summary?: string;
  readonly parameters?: readonly {
    readonly name: string;
    readonly schema?: { readonly default?: unknown; readonly maximum?: number };
  }[];
  readonly 'x-credits'?: number;
  readonly 'x-credits-per'?: string;
  readonly 'x-prices'?: readonly { readonly credits: number }[];
  readonly security?: readonly unknown[];
}
interface PricedCall {
  readonly title: string;
  readonly operation: PricedOperation;
}

/** Names of parameters that limit a page, with those that continue it. */
const PAGE_PARAMETERS = [
  ['limit', 'cursor'],
  ['operations_limit', 'operations_cursor'],
] as const;

/** The facts of every guide. */
export function guideFragments(source: Priced): Fragments {
  const calls = callsOf(source);
  return {
    errors: errorCatalogue,
    prices: () => priceTable(calls),
    'page-sizes': () => pageSizes(calls),
    ...webhookFragments,
  };
}

/** Each error code as a section of its own, so that a link or a search finds it. */
function errorCatalogue(): string {
  return (Object.keys(ERRORS) as ErrorCode[])
    .toSorted((a, b) => ERRORS[a].status - ERRORS[b].status)
    .map(
      (code) => `<article id="${code}">
<h3><code>${code}</code> <span class="status">${ERRORS[code].status}</span></h3>
<p>${sentence(ERRORS[code].meaning)}</p>
<p><strong>What to do.</strong> ${inlineCode(ERROR_ADVICE[code])}</p>
</article>`,
    )
    .join('\n');
}

/** Operations of the document with a key, HEAD left out. */
function callsOf({ paths }: Priced): readonly PricedCall[] {
  return Object.entries((paths ?? {}) as Readonly<Record<string, Readonly<Record<string, PricedOperation>>>>).flatMap(
    ([path, { head: _, ...methods }]) =>
      Object.entries(methods)
        .filter(([, { security }]) => security?.length !== 0)
        .map(([method, operation]) => ({ title: `${method.toUpperCase()} ${path}`, operation })),
  );
}

function priceTable(calls: readonly PricedCall[]): string {
  const rows = calls.map(({ title, operation }) => [callLink(title, operation), priceOf(operation)]);
  return factTable(['Call', 'Credits'], rows);
}

function priceOf({
  'x-credits': credits = 0,
  'x-credits-per': per = 'call',
  'x-prices': prices = [],
}: PricedOperation): string {
  const most = Math.max(credits, ...prices.map((price) => price.credits));
  if (per !== 'call') return `${credits} for each ${html(per)}`;
  if (most === 0) return 'free';
  return most === credits ? `${credits}` : `${credits} to ${most}, by its parameters`;
}

function pageSizes(calls: readonly PricedCall[]): string {
  const rows = calls.flatMap(({ title, operation }) =>
    PAGE_PARAMETERS.flatMap(([limit, cursor]) => {
      const { parameters = [] } = operation;
      const size = parameters.find(({ name }) => name === limit)?.schema;
      const isPaged = parameters.some(({ name }) => name === cursor);
      if (size === undefined || !isPaged) return [];
      return [
        [
          callLink(title, operation),
          `<code>${limit}</code>, <code>${cursor}</code>`,
          `${size.default}`,
          `${size.maximum}`,
        ],
      ];
    }),
  );
  return factTable(['List', 'Parameters', 'Usual page', 'Largest page'], rows);
}

function callLink(title: string, { operationId }: PricedOperation): string {
  const text = `<code>${html(title)}</code>`;
  return operationId === undefined ? text : `<a href="../docs#${operationId}">${text}</a>`;
}

function sentence(text: string): string {
  return `${inlineCode(text.charAt(0).toUpperCase() + text.slice(1))}.`;
}
