import { Command } from 'commander';
import { counted, EXIT } from '../../schemas/command-line.ts';
import { recordAct } from '../store/audit.ts';
import { forgetRoot, rememberedRoot } from '../store/remembered-root.ts';
import { CommandError, type Json, print, type RecordsConfig, withRecords } from './cli.ts';

/** `hail-api data`: the data root as the records remember it. The service refuses one that lost data since. */
export function dataCommand(config: () => RecordsConfig): Command {
  const command = new Command('data').description('what the records remember of the data root');

  command
    .command('show')
    .description('name of the data root that was served last, and how much it held')
    .option('--json', 'print one JSON object')
    .action(async ({ json }: Json) => {
      const root = await withRecords(config(), ({ reader }) => rememberedRoot(reader));
      if (root === null) throw new CommandError(EXIT.not_found, 'data root: none is remembered');
      const held = counted(Object.keys(root.commits).length, 'partition');
      print(json, root, [`${root.root_id ?? 'a root without a name'} held ${held} on ${root.noted_at}.`]);
    });

  command
    .command('forget')
    .description('serve another data root, one that was emptied, or one put back from an older copy')
    .option('--json', 'print one JSON object')
    .action(async ({ json }: Json) => {
      const settings = config();
      const forgotten = await withRecords(settings, (records) =>
        records.transaction(async (rows) => {
          const root = await rememberedRoot(rows);
          if (!(await forgetRoot(rows))) return null;
          const subject = root?.root_id ?? 'unnamed';
          await recordAct(rows, settings.now(), { act: 'data.forget', business_id: null, subject });
          return subject;
        }),
      );
      if (forgotten === null) throw new CommandError(EXIT.not_found, 'data root: none is remembered');
      print(json, { forgotten }, ['Forgotten. The service takes the data root as it is now.']);
    });

  return command;
}
