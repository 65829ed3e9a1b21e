import type { Readable } from 'node:stream';
import {
  type ObjectHead,
  type ObjectStore,
  openObjectStore,
  type RequestOutcome,
  type StoreAddress,
} from '../../schemas/object-store/client.ts';
import { putFile } from '../../schemas/object-store/files.ts';
import { type DataRoot, type FileRange, openPart } from '../data-root.ts';
import { FOLDERS, fileFault, jobFilePath, listFiles, placeFile, removeFile, removeNamed, sizeFault } from './files.ts';
import type { Job } from './rows.ts';

type NamedJob = Pick<Job, 'id' | 'kind' | 'file_name' | 'sha256'>;
type FiledJob = NamedJob & Pick<Job, 'bytes'>;

/** The files of the jobs that are done: in a folder, or in a store, from which every process serves them. */
export interface JobFiles {
  /** True where files of other records may lie beside: those of another service that reads the same published data, or of a copy. */
  readonly is_shared: boolean;
  /** Puts a sealed file where other processes find it, before its row says that it is there; ends when the signal aborts. */
  readonly upload: (staged: string, job: NamedJob, signal: AbortSignal) => Promise<void>;
  /** Puts a sealed file in its place on this machine, in the transaction that ends its row. */
  readonly place: (staged: string, job: NamedJob) => Promise<void>;
  /** Why the file of a job cannot be served, in words; null: it can. */
  readonly fault: (job: FiledJob) => Promise<string | null>;
  /** The same by its size alone, which is quick. */
  readonly sizeFault: (job: FiledJob) => Promise<string | null>;
  readonly remove: (job: NamedJob) => Promise<void>;
  /** Names of the files of a kind. */
  readonly names: (kind: Job['kind']) => Promise<readonly string[]>;
  readonly removeNamed: (kind: Job['kind'], name: string) => Promise<void>;
}

/** Opens a range of the file of a job. Throws when it is missing or another. */
export type OpenJobFile = (job: FiledJob & { readonly bytes: number }, range: FileRange) => Promise<Readable>;

/** Polls and downloads wait for it: far below the time after which a request is given up. */
const ASKED = { patience_ms: 5_000 };

/** The files of the jobs of a service, whose own folder is `root`. `onRequest` is told of every request to the store. */
export function openJobFiles(
  root: string,
  address: StoreAddress | null = null,
  onRequest?: (outcome: RequestOutcome) => void,
): JobFiles {
  return address === null ? filesInFolder(root) : filesInStore(openObjectStore(address, onRequest), root);
}

/** Opens files of jobs in the store of the published data, or in a folder. */
export function jobFileOpener(root: string, published: Pick<DataRoot, 'hold' | 'open'>): OpenJobFile {
  if (published.hold !== null)
    return (job, range) =>
      published.open({ path: jobFilePath('', job), bytes: job.bytes, sha256: job.sha256 ?? '' }, range);
  return (job, range) =>
    openPart(
      jobFilePath(root, job),
      job.bytes,
      range,
      (size) => new Error(`file of job ${job.id} has ${size} bytes, expected ${job.bytes}`),
    );
}

function filesInFolder(root: string): JobFiles {
  return {
    is_shared: false,
    upload: async () => {},
    place: (staged, job) => placeFile(root, staged, job),
    fault: (job) => fileFault(root, job),
    sizeFault: (job) => sizeFault(root, job),
    remove: (job) => removeFile(root, job),
    names: async (kind) => (await listFiles(root, kind)).map(({ name }) => name),
    removeNamed: (kind, name) => removeNamed(root, kind, name),
  };
}

/** Files from before the service had a store, and of a backup that was restored, lie in the folder: they are put into the store when they are asked for. */
function filesInStore(store: ObjectStore, root: string): JobFiles {
  const keyOf = (job: NamedJob) => jobFilePath('', job);
  const fault = async (job: FiledJob) => {
    let found = await store.head(keyOf(job), ASKED);
    if (found === null && (await fileFault(root, job)) === null) {
      await putFile(store, keyOf(job), jobFilePath(root, job));
      found = await store.head(keyOf(job), ASKED);
    }
    // The answer to a HEAD has no body, so that a missing bucket looks like a missing file: a listing shows which of them it is.
    if (found?.bytes !== job.bytes) found = await listed(store, keyOf(job));
    if (found === null) return 'is gone';
    return found.bytes === job.bytes ? null : `has ${found.bytes} bytes, its row says ${job.bytes ?? 'none'}`;
  };
  return {
    is_shared: true,
    upload: (staged, job, signal) => putFile(store, keyOf(job), staged, undefined, { signal }),
    place: async () => {},
    fault,
    sizeFault: fault,
    remove: async (job) => {
      await removeFile(root, job);
      await store.remove(keyOf(job));
    },
    names: async (kind) => {
      const folder = `${FOLDERS[kind]}/`;
      const names: string[] = [];
      for await (const { key } of store.list(folder)) names.push(key.slice(folder.length));
      return names;
    },
    removeNamed: (kind, name) => store.remove(`${FOLDERS[kind]}/${name}`),
  };
}

async function listed(store: ObjectStore, wanted: string): Promise<ObjectHead | null> {
  for await (const found of store.list(wanted, ASKED)) if (found.key === wanted) return found;
  return null;
}
