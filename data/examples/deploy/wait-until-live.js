// node wait-until-live.js URL: ends with 0 as soon as the address answers 200, and with 1 when it has not for a minute, or when
// the process that systemd names in MAINPID is gone.
import { setTimeout as sleep } from 'node:timers/promises';

const url = process.argv[2] ?? '';
const LONGEST_MS = 60_000;
const EVERY_MS = 100;

async function isLive() {
  try {
    return (await fetch(url, { signal: AbortSignal.timeout(2_000) })).ok;
  } catch {
    return false; // nobody listens yet
  }
}

/** False once the service that is waited for has ended: its own message says why. */
function isStarting() {
  const pid = Number(process.env.MAINPID);
  if (!(pid > 0)) return true;
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

const until_ms = performance.now() + LONGEST_MS;
while (!(await isLive())) {
  if (!isStarting()) {
    process.stderr.write(`the service ended before ${url} answered, expected one that runs\n`);
    process.exit(1);
  }
  if (performance.now() >= until_ms) {
    process.stderr.write(`${url} has not answered 200 for ${LONGEST_MS / 1000} seconds, expected a service that answers\n`);
    process.exit(1);
  }
  await sleep(EVERY_MS);
}
