import { z } from 'zod';
import type { oas31, ZodOpenApiObject, ZodOpenApiPathItemObject } from 'zod-openapi';
import { EVENT_DATA, EVENT_TYPES, EVENTS, EventBody } from '../schemas/webhook-events.ts';
import { publishSchema } from './openapi-components.ts';
import { SAMPLES } from './webhooks/event-samples.ts';

type Webhooks = NonNullable<ZodOpenApiObject['webhooks']>;

/** Headers of a delivery except Content-Type and User-Agent, by name. */
export const DELIVERY_HEADERS = {
  'X-Service-Event': 'Type of the event.',
  'X-Service-Timestamp': 'Unix seconds of this attempt.',
  'X-Service-Delivery-Id': 'Id of the event for this receiver: the same with every attempt. Drop what was seen before.',
  'X-Service-Signature':
    '`t=` and the unix seconds, then for each secret in force `,v1=` and the HMAC-SHA256, hex, of `t`, a full stop and the body. The key is the whole secret.',
  'webhook-id': 'The same id, for libraries of Standard Webhooks.',
  'webhook-timestamp': 'The same seconds.',
  'webhook-signature':
    'For each secret in force `v1,` and the HMAC-SHA256, base64, of id, `t` and body, joined by full stops; several are set apart by spaces. The key is what the secret encodes after `whsec_`.',
} as const;

/** Description of an event: when it is sent, the schema of its body, and an example. */
export interface DescribedEvent {
  readonly type: string;
  readonly when: string;
  readonly body: z.ZodObject;
  readonly example: object;
}

export const EXAMPLE_AT = '2026-05-01T20:13:20Z';

const Mark = z.object({
  test: z
    .literal(true)
    .optional()
    .meta({ description: 'In what `POST /v1/webhooks/{id}/test` sends, and nowhere else.' }),
});

/** Describes an event; `body` is the schema of its format, into which type and `data` are put. */
export function describeEvent(
  type: string,
  when: string,
  body: z.ZodObject,
  data: Parameters<typeof marked>[0],
  example: object,
): DescribedEvent {
  return { type, when, body: body.extend({ event: eventName(type), data: marked(data) }), example };
}

/** The events of the current variant. */
export const CURRENT_EVENTS: readonly DescribedEvent[] = EVENT_TYPES.map((type) =>
  describeEvent(type, EVENTS[type], EventBody, EVENT_DATA[type], {
    id: 'evt_01KAJ4D2M8N6P4R2T0V8X6Z4B2',
    schema_version: 1,
    event: type,
    created_at: EXAMPLE_AT,
    data: SAMPLES[type],
  }),
);

function eventName(type: string) {
  return z.literal(type).meta({ description: 'Type of the event.' });
}

/** What an event carries, with the mark of a test. */
function marked(data: z.ZodObject | z.ZodUnion<readonly z.ZodObject[]>): z.ZodType {
  return data instanceof z.ZodUnion
    ? z.union(data.options.map((option) => option.extend(Mark.shape)))
    : data.extend(Mark.shape);
}

/** JSON schema of a delivery. New fields and values may be added without a new version. */
export function deliverySchema({ body }: DescribedEvent): oas31.SchemaObject {
  const { $schema: _, ...schema } = z.toJSONSchema(body, {
    io: 'input',
    override: ({ jsonSchema }) => publishSchema(jsonSchema, 'output'),
  });
  return schema as oas31.SchemaObject;
}

/** Events as OpenAPI 3.1 describes webhooks. */
export function describedWebhooks(events: readonly DescribedEvent[]): Webhooks {
  return Object.fromEntries(
    events.map((event): [string, ZodOpenApiPathItemObject] => [
      event.type,
      {
        post: {
          operationId: `receive${event.type
            .split(/[._]/)
            .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
            .join('')}`,
          summary: event.when.charAt(0).toUpperCase() + event.when.slice(1),
          description: 'What receivers are sent. `/docs/webhooks` describes signatures, retries and when they end.',
          security: [],
          parameters: Object.entries(DELIVERY_HEADERS).map(([name, description]) => ({
            name,
            in: 'header' as const,
            required: true,
            description,
            schema: { type: 'string' as const },
          })),
          requestBody: {
            required: true,
            content: { 'application/json': { schema: deliverySchema(event), example: event.example } },
          },
          responses: {
            '2XX': { description: 'The event was taken; the body of the answer does not matter.' },
            default: { description: 'Anything else, a redirect too, is a failure: the event is sent again.' },
          },
        },
      },
    ]),
  );
}
