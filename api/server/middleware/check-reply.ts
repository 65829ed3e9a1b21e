import { isDeepStrictEqual } from 'node:util';
import type { Answer, Endpoint } from '../endpoint.ts';
import type { Telemetry } from './telemetry.ts';

/** One reply in this number is checked against its schema where not all are. */
const SAMPLE = 256;

/** Checks a reply against its schema. `all`: a mismatch throws; `sample`: one in 256 is checked, a mismatch is logged. */
export type CheckReply = (endpoint: Endpoint, answer: Answer<unknown>) => void;

export function checkReply(which: 'all' | 'sample', telemetry: Telemetry): CheckReply {
  let checks = 0;
  return (endpoint, answer) => {
    checks += 1;
    if (which === 'sample' && checks % SAMPLE !== 1) return;
    const faults = faultsOf(endpoint, answer);
    if (faults === null) return;
    if (which === 'all') throw new Error(`${endpoint.method} ${endpoint.path} answers ${faults}`);
    telemetry.schemaMismatch(`${endpoint.method} ${endpoint.path}`, faults);
  };
}

/** In what a reply differs from the schema of its type, or null. */
function faultsOf(endpoint: Endpoint, answer: Answer<unknown>): string | null {
  const schema = answer.type === undefined ? endpoint.reply : (endpoint.other_replies[answer.type] ?? endpoint.reply);
  const parsed = schema.safeParse(answer.body);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    return `${issue?.path.join('.')}: ${issue?.message}`;
  }
  const whole =
    JSON.stringify(parsed.data) === JSON.stringify(answer.body) || isDeepStrictEqual(parsed.data, answer.body);
  return whole ? null : 'with members that its schema does not have';
}
