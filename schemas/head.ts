import { createHash } from 'node:crypto';
import { z } from 'zod';
import { Manifest, PublishedFile } from './manifest.ts';

/**
 * The part of the newest manifest of a partition that most readers need; its size does not grow with the number of scans. The
 * manifest of the same number lists the scans and the scan tiles.
 */
export const Head = Manifest.omit({ scans: true, files: true }).extend({
  scans: z.object({
    count: z.int().nonnegative(),
    last: z.string().nullable().meta({ description: 'Newest scan of the date.' }),
    inputs: z.string().meta({ description: 'Hash of what the rows were made from, however their files are grouped.' }),
  }),
  files: z.array(PublishedFile).meta({ description: 'Files of tables.' }),
  reflectivity_archives: z
    .int()
    .positive()
    .optional()
    .meta({ description: 'Archives of reflectivity that the manifest lists; left out without any.' }),
});
export type Head = z.infer<typeof Head>;

/** Head of a manifest. */
export function headOf({ scans, files, ...rest }: Manifest): Head {
  const tables = files.filter(({ kind }) => kind === 'table');
  const reflectivity_archives = files.filter(({ kind }) => kind === 'reflectivity-tiles').length;
  const inputs = createHash('sha256');
  for (const scan of scans) inputs.update(`${scan.scan_id} ${scan.inputs}\n`);
  if (scans.length === 0) for (const { sha256 } of tables) inputs.update(`${sha256}\n`);
  return {
    ...rest,
    scans: { count: scans.length, last: scans.at(-1)?.scan_id ?? null, inputs: inputs.digest('hex').slice(0, 16) },
    files: tables,
    ...(reflectivity_archives === 0 ? {} : { reflectivity_archives }),
  };
}
