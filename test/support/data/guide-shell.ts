import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { EXAMPLE_URL } from '../../../api/docs/pages.ts';

/** A shell block of a guide with the sample answer printed below it. */
export interface GuideStep {
  readonly code: string;
  /** JSON of the block that follows; null where none follows. */
  readonly sample: string | null;
}

/** Key that the guides write in place of a real one. */
const EXAMPLE_KEY = 'hs_live_…';
/** How the guides ask for the time. */
const CLOCK = "jq -rn 'now";
const STEP = /^```sh\n([\s\S]*?)^```$(?:\n\n```json\n([\s\S]*?)^```$)?/gm;
const END_OF_STEP = '\u001e';

/** Shell blocks of a guide that call the service or define what such blocks use, in order. */
export function guideSteps(text: string): GuideStep[] {
  return [...text.matchAll(STEP)]
    .map(([, code = '', sample = null]) => ({ code, sample }))
    .filter(({ code }) => !/^# verify-|^(npx|make|curl -X) /m.test(code));
}

/** What one run of the steps is given. */
interface GuideRun {
  /** Ends in `/v1`. */
  readonly url: string;
  readonly key: string;
  /** Folder in which the commands write their files. */
  readonly folder: string;
  /** The data clock of the service, in place of that of the machine. */
  readonly now_ms: number;
  /** Texts of the guide that stand for something of the reader's, with what this reader has. */
  readonly own?: Readonly<Record<string, string>>;
}

/**
 * Runs the steps in one bash, as a reader would who pastes them in order, and returns what each printed. Throws with the
 * complaint of the first that fails.
 */
export async function runGuide(
  steps: readonly GuideStep[],
  { url, key, folder, now_ms, own = {} }: GuideRun,
): Promise<string[]> {
  const replaced = { [EXAMPLE_URL]: url, [EXAMPLE_KEY]: key, [CLOCK]: `jq -rn '${now_ms / 1000}`, ...own };
  const script = [
    'set -euo pipefail',
    ...steps.map(({ code }) => {
      const own_text = Object.entries(replaced).reduce((so_far, [from, to]) => so_far.replaceAll(from, to), code);
      return `${own_text}\nprintf '${END_OF_STEP}'`;
    }),
  ].join('\n');
  const child = spawn('bash', ['-c', script], { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] });
  const [stdout, stderr, [status]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  const printed = stdout.split(END_OF_STEP);
  if (status !== 0)
    throw new Error(`step ${printed.length} of the guide ended with ${status}: ${printed.at(-1)} ${stderr}`);
  return printed.slice(0, -1);
}
