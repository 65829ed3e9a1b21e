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

/** An asset with the path that its address leads to. */
interface FoundAsset extends z.infer<typeof StacAsset> {
  readonly path: string;
  readonly key: string;
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
export function assetsOf({ path, assets = {} }: StacFile): FoundAsset[] {
  return Object.entries(assets).map(([key, asset]) => ({
    ...asset,
    key,
    path: fileURLToPath(new URL(asset.href, pathToFileURL(path))),
  }));
}
