import { parentPort } from 'node:worker_threads';
import { CONUS_CELLS } from '../../schemas/geo/geohash4.ts';
import { BadInput } from '../error.ts';
import { type CellHour, cellHour } from '../forecast/model-cells.ts';
import { type ModelClaim, type ModelFile, readModelHour } from '../read/model.ts';
import type { RejectedItem } from '../read/rejected-item.ts';

/** An hour of a model run to decode. */
export interface ModelQuestion {
  readonly files: readonly ModelFile[];
  readonly claim: ModelClaim;
}

export type ModelAnswer =
  | { readonly hour: CellHour; readonly set_aside: readonly RejectedItem[] }
  | { readonly bad: { readonly stage: string; readonly subject: string; readonly reason: string } }
  | { readonly failure: string };

/** The body of the thread that decodes model hours: a second of work for each, which nobody else should wait for. */
parentPort?.on('message', ({ files, claim }: ModelQuestion) => {
  parentPort?.postMessage(answer(files, claim));
});

function answer(files: readonly ModelFile[], claim: ModelClaim): ModelAnswer {
  try {
    const { hour, set_aside } = readModelHour(files, claim);
    return { hour: cellHour(hour, CONUS_CELLS), set_aside };
  } catch (error) {
    if (error instanceof BadInput) return { bad: { stage: error.stage, subject: error.subject, reason: error.reason } };
    return { failure: error instanceof Error ? (error.stack ?? error.message) : String(error) };
  }
}
