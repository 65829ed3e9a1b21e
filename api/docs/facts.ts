import { readFileSync } from 'node:fs';
import { ERROR_ADVICE, ERRORS, type ErrorCode } from '../../schemas/errors.ts';
import { EARLIER_DESCRIPTION } from '../legacy/variants.ts';
import { RETRIES_MAX, retryWait } from '../rules/webhook-retry.ts';
import { CURRENT_EVENTS, DELIVERY_HEADERS, type DescribedEvent } from '../server/openapi-webhooks.ts';

/** An operation of the OpenAPI document, as far as guides show it. */
export interface Call {
  readonly operationId: string;
  readonly summary: string;
  readonly description: string;
  readonly parameters?: readonly { readonly name: string; readonly schema: { default?: unknown; maximum?: number } }[];
  readonly security?: readonly unknown[];
  readonly 'x-credits': number;
  readonly 'x-credits-per': string;
  readonly 'x-prices'?: readonly { readonly credits: number }[];
}

export const VECTORS = readFileSync(new URL('../../data/reference/webhook-vectors.json', import.meta.url), 'utf8');
interface Vector {
  readonly secrets: readonly string[];
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** Facts that the service states of itself, as Markdown, by the name under which a guide includes them. */
export function factsOf(calls: ReadonlyMap<string, Call>): Readonly<Record<string, string>> {
  const keyed = [...calls].filter(([, { security }]) => security?.length !== 0);
  const link = (title: string) => `[\`${title}\`](../docs#${calls.get(title)?.operationId})`;
  return {
    errors: Object.entries(ERRORS)
      .toSorted(([, a], [, b]) => a.status - b.status)
      .map(
        ([code, { status, meaning }]) =>
          `### \`${code}\`\n\nStatus ${status}. ${sentence(meaning)} **What to do.** ${ERROR_ADVICE[code as ErrorCode]}`,
      )
      .join('\n\n'),
    prices: table(
      ['Call', 'Credits'],
      keyed.map(([title, call]) => [link(title), priceOf(call)]),
    ),
    'page-sizes': table(
      ['List', 'Parameters', 'Usual page', 'Largest page'],
      keyed.flatMap(([title, { parameters = [] }]) =>
        ['', 'operations_'].flatMap((prefix) => {
          const size = parameters.find(({ name }) => name === `${prefix}limit`)?.schema;
          if (size === undefined || !parameters.some(({ name }) => name === `${prefix}cursor`)) return [];
          const names = `\`${prefix}limit\`, \`${prefix}cursor\``;
          return [[link(title), names, `${size.default}`, `${size.maximum}`]];
        }),
      ),
    ),
    'delivery-headers': table(
      ['Header', 'Meaning'],
      Object.entries(DELIVERY_HEADERS).map(([name, meaning]) => [`\`${name}\``, meaning]),
    ),
    'retry-times': retryTimes(),
    'test-vector': testVector(),
    events: CURRENT_EVENTS.map(eventText).join('\n\n'),
    'earlier-events': EARLIER_DESCRIPTION.events.map(eventText).join('\n\n'),
  };
}

function priceOf({ 'x-credits': credits, 'x-credits-per': per, 'x-prices': prices = [] }: Call): string {
  const most = Math.max(credits, ...prices.map((price) => price.credits));
  if (per !== 'call') return `${credits} for each ${per}`;
  if (most === 0) return 'free';
  return most === credits ? `${credits}` : `${credits} to ${most}, by its parameters`;
}

function retryTimes(): string {
  let since_first_ms = 0;
  const rows = Array.from({ length: RETRIES_MAX }, (_, k) => {
    const wait_ms = retryWait({ attempt: k + 1, status_code: null, retry_after_ms: null, since_first_ms }) ?? 0;
    since_first_ms += wait_ms;
    const when = `${wait_ms / 1000} seconds after attempt ${k + 1} has ended`;
    return [`${k + 2}`, when, `${since_first_ms / 1000} seconds`];
  });
  return table(['Attempt', 'When', 'After the first, when attempts fail at once'], rows);
}

function testVector(): string {
  const [first]: readonly [Vector] = JSON.parse(VECTORS).vectors;
  const lines = Object.entries(first.headers).map(([name, value]) => `${name}: ${value}`);
  return `${code('secret', first.secrets.join('\n'))}\n\n${code('headers and body', [...lines, '', first.body].join('\n'))}`;
}

function eventText({ type, when, example }: DescribedEvent): string {
  return `### \`${type}\`\n\n${sentence(when)}\n\n${code('body', JSON.stringify(example, null, 2))}`;
}

const code = (label: string, text: string) => `\`\`\`${label}\n${text}\n\`\`\``;
const sentence = (text: string) => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}
