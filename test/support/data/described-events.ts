import { z } from 'zod';
import { EARLIER_DESCRIPTION } from '../../../api/legacy/variants.ts';
import type { VariantName } from '../../../api/records/schema.ts';
import { CURRENT_EVENTS, describedWebhooks } from '../../../api/server/openapi-webhooks.ts';

type Json = null | boolean | number | string | Json[] | { [member: string]: Json };
const Described = z.record(
  z.string(),
  z.object({
    post: z.object({
      parameters: z.array(z.object({ name: z.string(), in: z.literal('header') })),
      requestBody: z.object({ content: z.object({ 'application/json': z.object({ schema: z.json() }) }) }),
    }),
  }),
);

/** In what the body of a delivery departs from the OpenAPI description of its event, one that is not described included; [] in nothing. */
export function departuresOfEvent(variant: VariantName, text: string): string[] {
  const body = z.looseObject({ event: z.string() }).parse(JSON.parse(text));
  const event = eventsOf(variant)[body.event]?.post;
  if (event === undefined) return [`${body.event} is not described`];
  const schema = closed(event.requestBody.content['application/json'].schema);
  const parsed = z.fromJSONSchema(schema as z.core.JSONSchema.JSONSchema).safeParse(body);
  return parsed.success ? [] : parsed.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`);
}

/** Names of the headers that the description of an event lists. */
export function describedHeaders(variant: VariantName, event: string): readonly string[] {
  return eventsOf(variant)[event]?.post.parameters.map(({ name }) => name) ?? [];
}

function eventsOf(variant: VariantName) {
  return Described.parse(
    JSON.parse(JSON.stringify(describedWebhooks(variant === 'current' ? CURRENT_EVENTS : EARLIER_DESCRIPTION.events))),
  );
}

/** The schema without room for members that it does not name, where it does not say otherwise. */
export function closed(schema: Json): Json {
  if (Array.isArray(schema)) return schema.map(closed);
  if (schema === null || typeof schema !== 'object') return schema;
  const members = Object.fromEntries(Object.entries(schema).map(([name, value]) => [name, closed(value)]));
  return 'properties' in schema ? { additionalProperties: false, ...members } : members;
}
