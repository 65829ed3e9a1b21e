import type { MixedProvenance } from '../../schemas/provenance.ts';
import type { Services } from '../services.ts';

/** What a job makes: a file that its caller polls for. */
export type JobKind = 'report' | 'export';

/** What its maker is given. */
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
  /** The service is being stopped: give up, the job will be run again. */
  readonly signal: AbortSignal;
}

/** Names of files that fit into a header as they are, and whose ending fits into a path. */
export const FILE_NAME = /^[A-Za-z0-9_-](\.?[A-Za-z0-9_-]){0,99}\.[a-z]{1,10}$/;

/** What was made; the file lies at `path`, whole. */
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

/** Makes the file of a job. What it throws fails the job, except while the service stops. */
export type MakeFile<Params, Summary> = (job: JobToMake<Params>) => Promise<MadeFile<Summary>>;
