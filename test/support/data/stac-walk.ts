import { readFileSync } from 'node:fs';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { z } from 'zod';

/** What following a STAC catalogue takes, and what the tests ask of its files. */
const Link = z.looseObject({ rel: z.string(), href: z.string() });
const StacAsset = z.looseObject({
  href: z.string(),
  type: z.string(),
  'file:size': z.int(),
  'file:checksum': z.string(),
  'table:row_count': z.int().optional(),
});
const StacObject = z.looseObject({
  type: z.enum(['Catalog', 'Collection', 'Feature']),
  id: z.string(),
  collection: z.string().optional(),
  bbox: z.array(z.number()).optional(),
  properties: z.record(z.string(), z.unknown()).optional(),
  extent: z
    .object({
      spatial: z.object({ bbox: z.array(z.array(z.number())) }),
      temporal: z.object({ interval: z.array(z.array(z.string())) }),
    })
    .optional(),
  links: z.array(Link),
  assets: z.record(z.string(), StacAsset).optional(),
});
type StacObject = z.infer<typeof StacObject>;

/** One file of a catalogue. */
export interface StacFile extends StacObject {
  readonly path: string;
  /** The file as it is, for a validator. */
  readonly raw: object;
}

const text = z.string().min(1);
const instant = z.string().regex(/^\d{4}-\d\d-\d\dT.*(\+00:00|Z)$/);
const box = z.array(z.number()).length(4);
const links = z.array(z.looseObject({ rel: text, href: text }));
const common = { stac_version: z.literal('1.1.0'), stac_extensions: z.array(z.url()).optional(), id: text, links };
const hasLink = (file: { readonly links: z.infer<typeof links> }, ...rels: string[]) =>
  rels.every((rel) => file.links.some((link) => link.rel === rel));
const labels = { title: text.optional(), description: text.optional(), roles: z.array(text).min(1).optional() };
const fileFields = { 'file:size': z.int().nonnegative(), 'file:checksum': z.string().regex(/^1220[a-f0-9]{64}$/) };
const column = z.looseObject({ name: text });

/** What the STAC specification 1.1.0 and its extensions table 1.3.0 and file 2.1.0 ask for, as far as the catalogue uses them. */
const ValidStac = z.discriminatedUnion('type', [
  z.looseObject({ ...common, type: z.literal('Catalog'), description: text }),
  z
    .looseObject({
      ...{ ...common, type: z.literal('Collection'), description: text, license: z.string().regex(/^[\w.+-]+$/) },
      providers: z.array(z.looseObject({ name: text, url: z.url().optional() })).optional(),
      extent: z.object({
        spatial: z.object({ bbox: z.array(box).min(1) }),
        temporal: z.object({ interval: z.array(z.tuple([instant.nullable(), instant.nullable()])).min(1) }),
      }),
      item_assets: z.record(z.string(), z.looseObject({ ...labels, href: z.undefined().optional() })).optional(),
      'table:columns': z.array(column).min(1).optional(),
    })
    .refine((file) => file.license !== 'other' || hasLink(file, 'license'), 'no link to the licence'),
  z
    .looseObject({
      ...{ ...common, type: z.literal('Feature'), collection: text, bbox: box },
      geometry: z.object({
        type: z.literal('Polygon'),
        coordinates: z.array(z.array(z.tuple([z.number(), z.number()])).min(4)).min(1),
      }),
      properties: z.union([
        z.looseObject({ datetime: instant }),
        z.looseObject({ datetime: z.null(), start_datetime: instant, end_datetime: instant }),
      ]),
      assets: z.record(z.string(), z.looseObject({ href: text, type: text, ...labels, ...fileFields })),
    })
    .refine((file) => hasLink(file, 'collection', 'root', 'parent'), 'no link to collection, root and parent'),
]);

const EXTENSIONS = {
  table: [
    'https://stac-extensions.github.io/table/v1.3.0/schema.json',
    'columns row_count primary_geometry primary_datetime',
  ],
  file: ['https://stac-extensions.github.io/file/v2.1.0/schema.json', 'size checksum'],
} as const;

/** What is wrong with a file of the catalogue by the specification: its shape, and fields of extensions that it does not declare or that there are not. */
export function stacFaults(raw: object): string[] {
  const parsed = ValidStac.safeParse(raw);
  const faults = parsed.error?.issues.map(({ path, message }) => `${path.join('.')}: ${message}`) ?? [];
  const declared = parsed.data?.stac_extensions ?? [];
  const used = new Set(JSON.stringify(raw).match(/"(?:table|file):\w+"(?=:)/g));
  for (const field of used) {
    const [prefix, name = ''] = field.slice(1, -1).split(':');
    const [address, names] = EXTENSIONS[prefix as keyof typeof EXTENSIONS];
    if (!declared.includes(address) || !names.split(' ').includes(name)) faults.push(`${field} is not declared`);
  }
  return faults;
}

/** Every file of the catalogue of a data root, found by its links alone, parents first. Throws where a link leads nowhere. */
export function walkStac(root: string): StacFile[] {
  const found: StacFile[] = [];
  const visit = (address: URL) => {
    const path = fileURLToPath(address);
    const raw: object = JSON.parse(readFileSync(path, 'utf8'));
    const file = { ...StacObject.parse(raw), path, raw };
    found.push(file);
    for (const { rel, href } of file.links) {
      const target = new URL(href, address);
      if (rel === 'child' || rel === 'item') visit(target);
      else if (target.protocol === 'file:') readFileSync(target);
    }
  };
  visit(pathToFileURL(`${root}/stac/catalog.json`));
  return found;
}

/** Items of a walk, of one collection when it is named. */
export function itemsOf(files: readonly StacFile[], collection?: string): StacFile[] {
  return files.filter((file) => file.type === 'Feature' && (collection ?? file.collection) === file.collection);
}

/** Assets of an item, with the paths that their addresses lead to. */
export function assetsOf({ path, assets = {} }: StacFile) {
  return Object.entries(assets).map(([key, asset]) => ({
    ...asset,
    key,
    path: fileURLToPath(new URL(asset.href, pathToFileURL(path))),
  }));
}
