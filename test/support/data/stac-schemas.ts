/*
 * What the STAC specification 1.1.0 and its extensions table 1.3.0 and file 2.1.0 ask for, as far as the
 * catalogue uses them, under the addresses by which a validator asks for their schemas: it needs no network then.
 */

const text = { type: 'string', minLength: 1 };
const instant = { type: 'string', format: 'date-time', pattern: '(\\+00:00|Z)$' };
const words = { type: 'array', items: text, minItems: 1 };
const box = { type: 'array', items: { type: 'number' }, minItems: 4, maxItems: 4 };
const linkOf = {
  type: 'object',
  required: ['rel', 'href'],
  properties: { rel: text, href: { type: 'string', format: 'iri-reference', minLength: 1 }, type: text, title: text },
};
const links = { type: 'array', items: linkOf };
const asset = { type: 'object', properties: { title: text, description: text, type: text, roles: words } };
const common = {
  stac_version: { const: '1.1.0' },
  stac_extensions: { type: 'array', uniqueItems: true, items: { type: 'string', format: 'iri' } },
  id: text,
  title: text,
  description: text,
  links,
};
const hasLink = (rel: string) => ({
  properties: { links: { contains: { type: 'object', required: ['rel'], properties: { rel: { const: rel } } } } },
});

const catalog = {
  type: 'object',
  required: ['type', 'stac_version', 'id', 'description', 'links'],
  properties: { ...common, type: { const: 'Catalog' } },
};

const collection = {
  type: 'object',
  required: ['type', 'stac_version', 'id', 'description', 'license', 'extent', 'links'],
  properties: {
    ...common,
    type: { const: 'Collection' },
    license: { type: 'string', pattern: '^[\\w.+-]+$' },
    providers: {
      type: 'array',
      items: {
        type: 'object',
        required: ['name'],
        properties: {
          name: text,
          url: { type: 'string', format: 'iri' },
          roles: { type: 'array', items: { enum: ['producer', 'licensor', 'processor', 'host'] } },
        },
      },
    },
    extent: {
      type: 'object',
      required: ['spatial', 'temporal'],
      properties: {
        spatial: {
          type: 'object',
          required: ['bbox'],
          properties: { bbox: { type: 'array', minItems: 1, items: box } },
        },
        temporal: {
          type: 'object',
          required: ['interval'],
          properties: {
            interval: {
              type: 'array',
              minItems: 1,
              items: { type: 'array', minItems: 2, maxItems: 2, items: { anyOf: [instant, { type: 'null' }] } },
            },
          },
        },
      },
    },
    summaries: { type: 'object', additionalProperties: { type: ['array', 'object'], minItems: 1 } },
    item_assets: { type: 'object', additionalProperties: { ...asset, minProperties: 1, not: { required: ['href'] } } },
  },
  // A licence without a name of its own is told by a link.
  if: { properties: { license: { const: 'other' } } },
  // biome-ignore lint/suspicious/noThenProperty: a word of JSON Schema
  then: hasLink('license'),
};

const item = {
  type: 'object',
  required: ['type', 'stac_version', 'id', 'geometry', 'bbox', 'properties', 'links', 'assets', 'collection'],
  properties: {
    ...common,
    type: { const: 'Feature' },
    collection: text,
    bbox: box,
    geometry: {
      type: 'object',
      required: ['type', 'coordinates'],
      properties: {
        type: { const: 'Polygon' },
        coordinates: {
          type: 'array',
          minItems: 1,
          items: {
            type: 'array',
            minItems: 4,
            items: { type: 'array', items: { type: 'number' }, minItems: 2, maxItems: 2 },
          },
        },
      },
    },
    properties: {
      type: 'object',
      required: ['datetime'],
      properties: { title: text, created: instant, updated: instant },
      anyOf: [
        { properties: { datetime: instant } },
        {
          required: ['start_datetime', 'end_datetime'],
          properties: { datetime: { type: 'null' }, start_datetime: instant, end_datetime: instant },
        },
      ],
    },
    assets: { type: 'object', additionalProperties: { ...asset, required: ['href'] } },
  },
  allOf: [hasLink('collection'), hasLink('root'), hasLink('parent')],
};

/** Fields of an extension wherever it allows them; no other field may begin with its prefix. */
function extension(prefix: string, address: string, fields: Readonly<Record<string, object>>): object {
  const known = {
    type: 'object',
    properties: Object.fromEntries(Object.entries(fields).map(([name, shape]) => [`${prefix}:${name}`, shape])),
    patternProperties: { [`^(?!${prefix}:)`]: true },
    additionalProperties: false,
  };
  return {
    allOf: [known],
    type: 'object',
    required: ['stac_extensions'],
    properties: {
      stac_extensions: { contains: { const: address } },
      properties: known,
      assets: { additionalProperties: known },
      item_assets: { additionalProperties: known },
    },
  };
}

const column = { type: 'object', required: ['name'], properties: { name: text, description: text, type: text } };
const EXTENSIONS = {
  'https://stac-extensions.github.io/table/v1.3.0/schema.json': [
    'table',
    {
      columns: { type: 'array', minItems: 1, items: column },
      row_count: { type: 'integer', minimum: 0 },
      primary_geometry: text,
      primary_datetime: text,
    },
  ],
  'https://stac-extensions.github.io/file/v2.1.0/schema.json': [
    'file',
    { size: { type: 'integer', minimum: 0 }, checksum: { type: 'string', pattern: '^1220[a-f0-9]{64}$' } },
  ],
} as const satisfies Record<string, readonly [string, Readonly<Record<string, object>>]>;

const core = (type: string) => `https://schemas.stacspec.org/v1.1.0/${type}-spec/json-schema/${type}.json`;
const SCHEMAS: ReadonlyMap<string, object> = new Map([
  [core('catalog'), catalog],
  [core('collection'), collection],
  [core('item'), item],
  ...Object.entries(EXTENSIONS).map(([address, [prefix, fields]]): [string, object] => [
    address,
    extension(prefix, address, fields),
  ]),
]);

/** The schema of an address, for a validator; throws for any other. */
export async function stacSchema(address: string): Promise<object> {
  const schema = SCHEMAS.get(address);
  if (schema === undefined) throw new Error(`no schema is at hand for ${address}`);
  return { $schema: 'http://json-schema.org/draft-07/schema#', $id: address, ...schema };
}
