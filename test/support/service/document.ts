import { z } from 'zod';
import { closed } from '../data/described-events.ts';

const Schema = z.record(z.string(), z.unknown());
const Content = z.record(z.string(), z.object({ schema: Schema, example: z.unknown().optional() }));
const Parameter = z.object({
  name: z.string(),
  in: z.enum(['query', 'path', 'header']),
  required: z.boolean().optional(),
  schema: Schema,
  example: z.unknown().optional(),
});
const Operation = z.object({
  operationId: z.string(),
  tags: z.array(z.string()).default([]),
  'x-scope': z.string().nullable(),
  'x-feature': z.string().nullable(),
  'x-test-key': z.boolean(),
  'x-credits': z.number(),
  'x-credits-per': z.string(),
  'x-operation': z.string().nullable(),
  'x-prices': z
    .array(z.object({ when: z.string(), operation: z.string().nullable(), credits: z.number() }))
    .default([]),
  security: z.array(z.unknown()).optional(),
  parameters: z.array(Parameter).default([]),
  requestBody: z.object({ required: z.boolean().optional(), content: Content }).optional(),
  responses: z.record(
    z.string(),
    z.object({ headers: z.record(z.string(), z.unknown()).default({}), content: Content.default({}) }),
  ),
});
const Document = z.object({
  paths: z.record(z.string(), z.record(z.string(), Operation)),
  components: z.object({ schemas: z.record(z.string(), Schema) }),
});

export type JsonSchema = z.infer<typeof Schema>;
export type ApiDescription = z.infer<typeof Document>;

/** An operation of the description, with where it lives. */
export interface DescribedOperation extends z.infer<typeof Operation> {
  /** Upper case. */
  readonly method: string;
  readonly path: string;
  /** `GET /v1/storms/{track_id}`. */
  readonly title: string;
  /** It needs a key. */
  readonly keyed: boolean;
}

/** The description of the interface as a client reads it, with the responses that operations have in common in every place. */
export function parseDescription(document: unknown): ApiDescription {
  return Document.parse(withResponses(document));
}

const RESPONSE = /^#\/components\/responses\/([\w-]+)$/;
const Shared = z.looseObject({ components: z.looseObject({ responses: z.record(z.string(), z.unknown()) }) });

/** A copy of a description with its shared responses in the place of the references to them. */
export function withResponses(document: unknown): z.infer<typeof Shared> {
  const copy = Shared.parse(JSON.parse(JSON.stringify(document)));
  const { responses } = copy.components;
  return Shared.parse(
    JSON.parse(JSON.stringify(copy), (_, value) => {
      const name = RESPONSE.exec(value?.$ref ?? '')?.[1];
      return name === undefined ? value : responses[name];
    }),
  );
}

/** Every operation of a description but those on files, which have tests of their own. */
export function operationsOf({ paths }: ApiDescription): DescribedOperation[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([, { tags }]) => !tags.includes('Files'))
      .map(([name, operation]) => {
        const method = name.toUpperCase();
        const keyed = operation.security === undefined || operation.security.length > 0;
        return { ...operation, method, path, title: `${method} ${path}`, keyed };
      }),
  );
}

/** A JSON schema of the description as something that checks, its references resolved. */
function checkerOf({ components }: ApiDescription, schema: JsonSchema): z.ZodType {
  const whole = JSON.stringify({ ...schema, $defs: components.schemas });
  const open = JSON.parse(whole.replaceAll('#/components/schemas/', '#/$defs/'));
  return z.fromJSONSchema(closed(open) as z.core.JSONSchema.JSONSchema);
}

/** A request as it goes out. */
export type DescribedRequest = ReturnType<typeof exampleRequest>;

/** The request of an operation's example; `known` are values that no example can know, or instead of the example's. */
export function exampleRequest(operation: DescribedOperation, known: Readonly<Record<string, string>> = {}) {
  const query = operation.parameters
    .filter((parameter) => parameter.in === 'query' && parameter.example !== undefined)
    .map(({ name, example }) => `${name}=${encodeURIComponent(known[name] ?? String(example))}`);
  const path = operation.path.replace(/\{(\w+)\}/g, (_, name: string) => known[name] ?? 'unknown');
  return {
    method: operation.method,
    target: query.length === 0 ? path : `${path}?${query.join('&')}`,
    body: operation.requestBody?.content['application/json']?.example,
  };
}

/** A request as `fetch` takes it. */
export function initOf({ method, body }: DescribedRequest, headers: Readonly<Record<string, string>> = {}) {
  if (body === undefined) return { method, headers };
  return { method, headers: { 'Content-Type': 'application/json', ...headers }, body: JSON.stringify(body) };
}

/**
 * In what an answer departs from the description: status, media type, body. Empty: in nothing.
 */
export function departuresOf(
  description: ApiDescription,
  operation: DescribedOperation,
  answer: { readonly status: number; readonly headers: Headers },
  text: string,
): string[] {
  const described = operation.responses[String(answer.status)];
  if (described === undefined) return [`status ${answer.status}, expected ${Object.keys(operation.responses)}`];
  const type = answer.headers.get('Content-Type')?.split(';')[0] ?? null;
  const types = Object.keys(described.content);
  if (type === null) return types.length === 0 ? [] : [`no content type, expected ${types}`];
  const content = described.content[type];
  if (content === undefined) return [`content type ${type}, expected ${types}`];
  if (!type.endsWith('json')) return [];
  const parsed = checkerOf(description, content.schema).safeParse(JSON.parse(text));
  return parsed.success ? [] : parsed.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`);
}
