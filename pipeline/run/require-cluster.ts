import type { StoreAddress } from '../../schemas/object-store/client.ts';
import type { Config } from '../config.ts';
import { UsageError } from '../error.ts';

/** Database and store that processes of several machines share; throws UsageError naming the setting that is missing. */
export function requireCluster({ database_url, store }: Config): {
  readonly database_url: string;
  readonly address: StoreAddress;
} {
  if (store === null) throw new UsageError('HAIL_STORE_URL is not set, expected the address of a store');
  if (database_url === null)
    throw new UsageError(
      'HAIL_STORE_URL is set, expected HAIL_DATABASE_URL with it: PostgreSQL says which process writes to the store',
    );
  return { database_url, address: store };
}
