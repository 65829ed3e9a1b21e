import { z } from 'zod';
import type { ZodOpenApiObject, ZodOpenApiPathItemObject } from 'zod-openapi';
import { EVENT_DATA, EVENT_TYPES, EVENTS, EventBody } from '../../schemas/webhook-events.ts';
import { SAMPLES } from '../webhooks/event-samples.ts';
import texts from './openapi-texts.json' with { type: 'json' };

/**
 * Texts of the description by what they are of: headers of every answer and of some, groups of endpoints (`tags`), and headers of a
 * delivery except Content-Type and User-Agent.
 */
export const TEXTS: Readonly<Record<keyof typeof texts, Readonly<Record<string, string>>>> = texts;

/** Description of an event: when it is sent, the schema of its body, and an example. */
export type DescribedEvent = Readonly<{ type: string; when: string; body: z.ZodObject; example: object }>;

export const EXAMPLE_AT = '2026-05-01T20:13:20Z';

const MARK = {
  test: z
    .literal(true)
    .optional()
    .meta({ description: 'In what `POST /v1/webhooks/{id}/test` sends, and nowhere else.' }),
};

/** Describes an event; `body` is the schema of its format, into which its type and its `data`, with the mark of a test, are put. */
export function describeEvent(
  type: string,
  when: string,
  body: z.ZodObject,
  data: z.ZodObject,
  example: object,
): DescribedEvent {
  const event = z.literal(type).meta({ description: 'Type of the event.' });
  return { type, when, body: body.extend({ event, data: data.extend(MARK) }), example };
}

export const CURRENT_EVENTS: readonly DescribedEvent[] = EVENT_TYPES.map((type) =>
  describeEvent(type, EVENTS[type], EventBody, EVENT_DATA[type], {
    id: 'evt_01KAJ4D2M8N6P4R2T0V8X6Z4B2',
    schema_version: 1,
    event: type,
    created_at: EXAMPLE_AT,
    data: SAMPLES.current[type],
  }),
);

const PARAMETERS = Object.entries(TEXTS.delivery_headers).map(([name, description]) => ({
  name,
  in: 'header' as const,
  required: true,
  description,
  schema: { type: 'string' as const },
}));

/** Events as OpenAPI describes webhooks. New fields and values may be added without a new version. */
export function describedWebhooks(events: readonly DescribedEvent[]): NonNullable<ZodOpenApiObject['webhooks']> {
  return Object.fromEntries(
    events.map(({ type, when, body, example }): [string, ZodOpenApiPathItemObject] => {
      const override = ({ jsonSchema }: { readonly jsonSchema: object }) => publishSchema(jsonSchema, 'output');
      const { $schema: _, ...schema } = z.toJSONSchema(body, { io: 'input', override });
      const post = {
        operationId: `receive${type.replaceAll(/(?:^|[._])(\w)/g, (_, letter: string) => letter.toUpperCase())}`,
        summary: when.charAt(0).toUpperCase() + when.slice(1),
        description: 'What receivers are sent. `/docs/webhooks` describes signatures, retries and when they end.',
        security: [],
        parameters: PARAMETERS,
        requestBody: { required: true, content: { 'application/json': { schema, example } } },
        responses: {
          '2XX': { description: 'The event was taken; the body of the answer does not matter.' },
          default: { description: 'Anything else, a redirect too, is a failure: the event is sent again.' },
        },
      };
      return [type, { post } as ZodOpenApiPathItemObject];
    }),
  );
}

/**
 * Changes a JSON schema for publication: a unit becomes `x-unit`, an enum of an answer becomes `x-extensible-enum`, and a tuple of
 * equal members becomes a list of fixed length.
 */
export function publishSchema(jsonSchema: object, io: 'input' | 'output'): void {
  rename(jsonSchema, 'unit', 'x-unit');
  if (io === 'output') rename(jsonSchema, 'enum', 'x-extensible-enum');
  const { prefixItems = [] } = jsonSchema as { readonly prefixItems?: readonly object[] };
  if (new Set(prefixItems.map((item) => JSON.stringify(item))).size !== 1) return;
  Object.assign(jsonSchema, { items: prefixItems[0], minItems: prefixItems.length, maxItems: prefixItems.length });
  Reflect.deleteProperty(jsonSchema, 'prefixItems');
}

/** Calls the defaults of properties `x-default`, because generators of clients make a property with a `default` required. */
export function renameDefaults(properties: object = {}): void {
  for (const property of Object.values(properties)) rename(property, 'default', 'x-default');
}

function rename(value: object, from: string, to: string): void {
  if (!(from in value)) return;
  Object.assign(value, { [to]: Reflect.get(value, from) });
  Reflect.deleteProperty(value, from);
}
