import { openStoreRoot } from '../../../api/cache/store-root.ts';
import { openObjectStore } from '../../../schemas/object-store/client.ts';

/** Copies one file of a store into a cache and ends, with the code of the fault on standard output: arguments as JSON. */
const { address, folder, file } = JSON.parse(process.argv[2] ?? '');
const root = await openStoreRoot({ store: openObjectStore(address), folder, bytes_max: 1e9 });
try {
  await root.hold?.([root.fileOf(file)], 'in turn');
  process.stdout.write('held');
} catch (error) {
  process.stdout.write(String(((error as Error).cause as NodeJS.ErrnoException).code ?? error));
}
