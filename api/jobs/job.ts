import type { MixedProvenance } from '../../schemas/provenance.ts';
import type { Services } from '../services.ts';

/** A job makes a file that its caller polls for. */
export type JobKind = 'report' | 'export';

/** Input of a job handler. */
export interface JobToMake<Params> {
  readonly id: string;
  readonly business_id: string;
  /** The validated request. */
  readonly params: Params;
  /** Where the file goes: an absolute path that does not exist yet, in a folder of its own that is removed afterwards. */
  readonly path: string;
  /** Data clock when the job was accepted, epoch milliseconds. */
  readonly created_ms: number;
  readonly services: Services;
  /** Aborted when the service stops: the job will run again. */
  readonly signal: AbortSignal;
}

/** Names of files that fit into a header as they are, and whose ending fits into a path. */
export const FILE_NAME = /^[A-Za-z0-9_-](\.?[A-Za-z0-9_-]){0,99}\.[a-z]{1,10}$/;

/** Result of a job handler; the complete file is at `path`. */
export interface MadeFile<Summary> {
  readonly media_type: string;
  /** Name that a browser saves it under, as FILE_NAME has them. */
  readonly file_name: string;
  /** What the poll says of it beside the address. */
  readonly summary: Summary;
  /** Epoch milliseconds. */
  readonly data_as_of_ms: number | null;
  readonly data_source: MixedProvenance | null;
}

/** A job handler makes the file of a job. An error fails the job, except while the service stops. */
export type MakeFile<Params, Summary> = (job: JobToMake<Params>) => Promise<MadeFile<Summary>>;
