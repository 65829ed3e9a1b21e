import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import type { ExecutionContext, TestFn } from 'ava';
import type { StoreAddress } from '../../../schemas/object-store/client.ts';
import { deliver, filesOf, type RawScan, scratch } from '../data/world.ts';
import { freePort } from '../free-port.ts';
import { type Events, hearEvents } from '../kill/events.ts';
import { type CommandSettings, start } from '../kill/killed.ts';
import { noObjectStore, type ObjectStoreServer, runObjectStore, storeSettings } from '../object-store/server.ts';
import { type Cluster, postgresPrograms, runCluster } from './cluster.ts';

/** Why no PostgreSQL with an object store can be started here; null where both can. */
export const noSharedStore: string | null =
  noObjectStore ?? (postgresPrograms === null ? 'PostgreSQL of Debian is not installed' : null);

/** A process of the pipeline that runs until it is ended; the test kills it at the latest. */
export interface Running {
  readonly root: string;
  readonly child: ReturnType<typeof start>;
  readonly events: Events;
}

/** A bucket of one test's own, with a folder of raw files and the settings of processes that share it. */
export interface SharedStore {
  readonly address: StoreAddress;
  readonly environment: Readonly<Record<string, string>>;
  /** Folder of raw files. */
  readonly folder: string;
  /** Puts the raw files of scans into the folder. */
  readonly bring: (scans: readonly RawScan[]) => Promise<string>;
  readonly run: (root: string, args: readonly string[], settings?: CommandSettings) => Running;
}

/** A PostgreSQL and an object store for the tests of one file: they start before the first test and stop after the last one. */
export interface SharedServers {
  /** Address of the database; call it within a test. */
  readonly databaseUrl: () => string;
  readonly openStore: (t: ExecutionContext) => Promise<SharedStore>;
}

/** `name`: begins the names of the buckets. */
export function startServers(test: TestFn, name: string): SharedServers {
  let server: ObjectStoreServer;
  let cluster: Cluster;
  let buckets = 0;
  test.before(async () => {
    cluster = runCluster(await freePort());
    server = await runObjectStore();
  });
  test.after.always(async () => {
    cluster?.stop();
    await server?.stop();
  });
  return {
    databaseUrl: () => cluster.url,
    openStore: async (t) => {
      const address = await server.bucket(`${name}-${buckets++}`);
      const folder = await scratch(t, 'raw');
      mkdirSync(folder);
      const environment = {
        ...storeSettings(address),
        HAIL_DATABASE_URL: cluster.url,
        HAIL_REFLECTIVITY_KEEP_HOURS: '0',
      };
      return {
        address,
        environment,
        folder,
        bring: (scans) => deliver(folder, filesOf(scans)),
        run: (root, args, settings = {}) => {
          const child = start(root, args, { ...settings, environment: { ...environment, ...settings.environment } });
          t.teardown(async () => {
            if (child.exitCode !== null || child.signalCode !== null) return;
            child.kill('SIGKILL');
            await once(child, 'exit');
          });
          return { root, child, events: hearEvents(child.stderr) };
        },
      };
    },
  };
}
