import type { Waits } from '../../../api/records/postgres.ts';

/** A machine that is busy with other tests is not to be taken for records that are locked or out of reach. */
export const PATIENCE: Waits = { lock_ms: 20_000, statement_ms: 20_000 };
