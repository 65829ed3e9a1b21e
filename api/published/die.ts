import { writeSync } from 'node:fs';

const STANDARD_ERROR = 2;

/**
 * Kills the process and writes the reason to standard error. For work that hangs in the system, as on a mount whose server is
 * gone: it blocks a thread, and any other exit waits for the threads.
 */
export function die(reason: string): void {
  try {
    writeSync(STANDARD_ERROR, `hail-api: ${reason}: the process ends itself\n`);
  } finally {
    // Also if standard error is closed.
    process.kill(process.pid, 'SIGKILL');
  }
}
