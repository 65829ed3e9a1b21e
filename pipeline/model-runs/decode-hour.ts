import { MS_PER_HOUR } from '../../schemas/time.ts';
import { BadInput } from '../error.ts';
import type { CellHour } from '../forecast/model-cells.ts';
import type { Log } from '../log.ts';
import type { ModelFile } from '../read/model.ts';
import type { ModelDecoder } from './model-decoder.ts';
import type { ModelHourName } from './model-names.ts';

/** An hour of a run from its files; as a value, why they cannot be used, because that costs the hour only. */
export async function decodeHour(
  decoder: ModelDecoder,
  files: readonly ModelFile[],
  { model, run_time, lead_h }: ModelHourName,
  log: Log,
): Promise<CellHour | BadInput> {
  try {
    const claim = { model, run_time, valid_time: run_time + lead_h * MS_PER_HOUR };
    const { hour, set_aside } = await decoder.decode({ files, claim });
    for (const { item, reason } of set_aside) log.warn('Model:Field:RejectedItem', { file: item, reason });
    return hour;
  } catch (error) {
    if (!(error instanceof BadInput)) throw error;
    log.warn('Model:Hour:Refused', { file: error.subject, reason: error.reason });
    return error;
  }
}
