import { CONUS_CELLS } from '../../schemas/geo/geohash4.ts';
import { BadInput } from '../error.ts';
import type { Log } from '../log.ts';
import { type ModelClaim, type ModelFile, readModelHour } from '../read/model-hour.ts';
import { answerRequests, startWorkers } from '../worker-pool.ts';
import type { ModelHourName } from './model-bucket.ts';
import { type CellHour, cellHour } from './model-cells.ts';

/** An hour takes a second or two; on a machine that is busy with scans many times that. */
const DECODE_ALLOWED_MS = 120_000;

export type ModelDecoder = ReturnType<typeof openModelDecoder>;

/**
 * Starts a thread that decodes model hours, one after the other. `run` throws BadInput for files that cannot be used, and an
 * error when the thread has died or has not answered within `allowed_ms`.
 */
export function openModelDecoder(allowed_ms = DECODE_ALLOWED_MS) {
  return startWorkers<Parameters<typeof decode>[0], ReturnType<typeof decode>>(import.meta.url, {
    name: 'thread that decodes model hours',
    limit: { ms: allowed_ms, reason: `no model hour decoded within ${allowed_ms} ms` },
  });
}

/** An hour of a run decoded from its files, or the reason why they cannot be used. */
export async function decodeHour(
  decoder: ModelDecoder,
  files: readonly ModelFile[],
  claim: ModelHourName,
  log: Log,
): Promise<CellHour | BadInput> {
  try {
    const { hour, set_aside } = await decoder.run({ files, claim });
    for (const { item, reason } of set_aside) log.warn('Model:Field:Rejected', { file: item, reason });
    return hour;
  } catch (error) {
    if (!(error instanceof BadInput)) throw error;
    log.warn('Model:Hour:Refused', { file: error.subject, reason: error.reason });
    return error;
  }
}

/** An hour of a model run by cell, and the fields that cannot be used. */
function decode({ files, claim }: { readonly files: readonly ModelFile[]; readonly claim: ModelClaim }) {
  const { hour, set_aside } = readModelHour(files, claim);
  return { hour: cellHour(hour, CONUS_CELLS), set_aside };
}

answerRequests(import.meta.url, decode);
