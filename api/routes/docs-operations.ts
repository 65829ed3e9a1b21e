import { slug } from './docs-html.ts';
import { fieldNames, type JsonSchema } from './docs-schema-tables.ts';

/** The parts of an OpenAPI operation that the page shows. */
export interface Operation {
  readonly operationId?: string;
  readonly tags?: readonly string[];
  readonly summary?: string;
  readonly description?: string;
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: Content;
  readonly responses?: Readonly<Record<string, Content & { readonly description?: string }>>;
  readonly 'x-scope'?: string | null;
  readonly 'x-feature'?: string | null;
  readonly 'x-test-key'?: boolean;
  readonly 'x-credits'?: number;
  readonly 'x-credits-per'?: string;
  readonly 'x-prices'?: readonly { readonly when: string; readonly credits: number }[];
  readonly security?: readonly unknown[];
}

export interface Parameter {
  readonly in: string;
  readonly name: string;
  readonly required?: boolean;
  readonly description?: string;
  readonly example?: unknown;
  readonly schema: JsonSchema;
}

export interface Content {
  readonly content?: Readonly<Record<string, { readonly schema?: JsonSchema; readonly example?: unknown }>>;
}

/** The parts of an OpenAPI document that the page shows. */
export interface DocsSource {
  readonly info: { readonly title: string; readonly version: string };
  readonly servers?: readonly { readonly url: string }[] | undefined;
  readonly paths?: object | undefined;
  readonly components?: object | undefined;
}

export interface Entry {
  readonly method: string;
  readonly path: string;
  readonly operation: Operation;
  readonly id: string;
}

/** All operations but HEAD, which the page describes once for all. */
export function operations({ paths }: Pick<DocsSource, 'paths'>): readonly Entry[] {
  return Object.entries((paths ?? {}) as Readonly<Record<string, Readonly<Record<string, Operation>>>>).flatMap(
    ([path, { head: _, ...methods }]) =>
      Object.entries(methods).map(([method, operation]) => ({
        method: method.toUpperCase(),
        path,
        operation,
        id: operation.operationId ?? slug(`${method}${path}`),
      })),
  );
}

/** Schemas of a description by their names. */
export function schemasOf({ components }: Pick<DocsSource, 'components'>): Readonly<Record<string, JsonSchema>> {
  return (components as { readonly schemas?: Readonly<Record<string, JsonSchema>> } | undefined)?.schemas ?? {};
}

/** Status of a success, its media type, and its schema and example. */
export function successOf({ responses = {} }: Operation) {
  const [status = '', success] = Object.entries(responses).find(([code]) => code.startsWith('2')) ?? [];
  const [type = '', reply] = Object.entries(success?.content ?? {})[0] ?? [];
  return { status, type, reply };
}

/** What the search finds of an operation. */
export interface OperationSection {
  readonly id: string;
  /** Method and path. */
  readonly guide: string;
  readonly heading: string;
  readonly text: string;
}

/** Operations with their description, parameters and fields, for the search; addresses are relative to `/docs/`. */
export function operationSections(source: Pick<DocsSource, 'paths' | 'components'>): readonly OperationSection[] {
  const schemas = schemasOf(source);
  return operations(source).map(({ method, path, operation, id }) => {
    const body = operation.requestBody?.content?.['application/json'];
    const shapes = [body?.schema, successOf(operation).reply?.schema];
    const fields = shapes.flatMap((schema) => (schema ? fieldNames(schema, schemas) : []));
    const parameters = (operation.parameters ?? []).map(({ name }) => name);
    return {
      id: `../docs#${id}`,
      guide: `${method} ${path}`,
      heading: operation.summary ?? id,
      text: [operation.description ?? '', ...new Set([...parameters, ...fields])].join(' '),
    };
  });
}
