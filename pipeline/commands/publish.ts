import { Command } from 'commander';
import { counted, readableBytes } from '../../schemas/command-line.ts';
import { openObjectStore } from '../../schemas/object-store/client.ts';
import type { Config } from '../config.ts';
import { UsageError } from '../error.ts';
import { openLog } from '../log.ts';
import { type PublishReport, publishRoot } from '../run/publish-root.ts';

interface Options {
  readonly to?: string;
  readonly from?: string;
  readonly raw?: boolean;
  readonly json?: true;
}

/** `hail-pipeline publish`: moves a data root to a store or from one. Exit code 4 when they do not belong together. */
export function publishCommand(config: () => Config): Command {
  return new Command('publish')
    .description('move the data root to an S3-compatible store, or from one; may be repeated until it is done')
    .option('--to <url>', 'bring the store to the state of the data root')
    .option('--from <url>', 'bring the data root to the state of the store')
    .option('--raw', 'move the raw files, too')
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      `
The store's keys come from HAIL_STORE_ACCESS_KEY_ID, HAIL_STORE_SECRET_ACCESS_KEY and HAIL_STORE_REGION.

Examples:
  hail-pipeline publish --to https://s3.us-east-1.amazonaws.com/hail
  hail-pipeline publish --from https://s3.us-east-1.amazonaws.com/hail --json`,
    )
    .action(async ({ to, from, raw = false, json }: Options) => {
      const url = to ?? from;
      if (url === undefined || (to !== undefined && from !== undefined))
        throw new UsageError('publish has neither or both of --to and --from, expected one of them');
      const settings = config();
      const store = openObjectStore(settings.storeAt(url));
      const log = openLog(settings.log_level, false);
      const direction = to === undefined ? 'from' : 'to';
      const report = await publishRoot(settings, { direction, store, raw, log });
      process.stdout.write(json ? `${JSON.stringify(report)}\n` : publishText(report));
    });
}

function publishText({ direction, store, data_root, files, bytes }: PublishReport): string {
  const [subject, model] = direction === 'to' ? [store, data_root] : [data_root, store];
  if (files === 0) return `${subject} holds all that ${model} publishes; nothing was moved.\n`;
  return `${counted(files, 'file')}, ${readableBytes(bytes)} moved: ${subject} holds all that ${model} publishes.\n`;
}
