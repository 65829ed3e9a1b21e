import { writeSync } from 'node:fs';

const STANDARD_ERROR = 2;

/**
 * Ends the process at once, as a kill does, and says why on standard error. For work that hangs in the system, as on a mount whose
 * server is gone: it keeps a thread, and a process waits for its threads however else it ends.
 */
export function die(reason: string): void {
  try {
    writeSync(STANDARD_ERROR, `hail-api: ${reason}: the process ends itself\n`);
  } finally {
    // Also where nobody reads what is said.
    process.kill(process.pid, 'SIGKILL');
  }
}
