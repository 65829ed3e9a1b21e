import { resolve } from 'node:path';
import { Command } from 'commander';
import { writeCatalogue } from '../catalogues/catalogue.ts';
import type { Config } from '../config.ts';
import { UsageError } from '../error.ts';

/** `hail-pipeline catalogue`: lists what is published for DuckDB, STAC readers and Iceberg engines. Takes no lock. */
export function catalogueCommand(readConfig: () => Config): Command {
  return new Command('catalogue')
    .description('write views.sql, STAC and Iceberg metadata of what is published now')
    .option('--location <url>', 'address of a copy of the data root, such as s3://bucket/hail; needs --out')
    .option('--out <dir>', 'folder to write into (default: the data root); copy it over the copy of the data root')
    .addHelpText('after', '\nExample:\n  hail-pipeline catalogue --location s3://bucket/hail --out /tmp/catalogue')
    .action(async ({ location, out }: Readonly<Partial<Record<'location' | 'out', string>>>) => {
      const root = readConfig().data_root;
      if ((location === undefined) !== (out === undefined))
        throw new UsageError('--location and --out are needed together: the data root keeps its own addresses');
      if (location !== undefined && !/^[a-z][a-z0-9+.-]*:\/\/\S*[^/\s]$/.test(location))
        throw new UsageError(
          `--location is '${location}', expected an address such as s3://bucket/hail, with no slash at its end`,
        );
      const target = { out: out === undefined ? root : resolve(out), location: location ?? root };
      const { number, edition } = await writeCatalogue(root, target);
      process.stdout.write(`catalogue ${number} of edition ${edition} in ${target.out}\n`);
    });
}
