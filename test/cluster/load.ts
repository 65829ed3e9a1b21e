import { setTimeout as sleep } from 'node:timers/promises';
import { BOX } from './weather.ts';

/** An answer that a client had. */
export interface Answer {
  readonly request_id: string;
  readonly credits: number;
  readonly at_ms: number;
}

/** A request that had no answer of success. */
export interface Failure {
  readonly at_ms: number;
  readonly what: string;
  readonly reason: string;
  /** Null: no answer came. */
  readonly status: number | null;
  /** False when an answer came: it says that nothing was charged. */
  readonly unanswered: boolean;
}

/** What the clients of a service were told. */
export interface Told {
  /** Requests that were sent, repetitions included. */
  requests: number;
  readonly answers: Answer[];
  readonly failures: Failure[];
  /** Exports that were accepted, by the key of the client that asked. */
  readonly exports: { readonly key: string; readonly job_id: string; readonly at_ms: number }[];
  /** Requests and exports that were answered, and are gone with a database that failed over without them. */
  readonly gone: Set<string>;
  /** Times of answers, milliseconds. */
  readonly took_ms: number[];
}

export interface Load {
  readonly told: Told;
  readonly end: () => Promise<Told>;
}

/** Pause of a client between two requests, milliseconds. */
const PAUSE_MS = 60;
const WAITS_MS = 10_000;
const EXPORT_EVERY = 60;

/** Clients, one for each key, that ask one question after the other through the proxy, and repeat a write until it is answered. */
export function startLoad(url: string, keys: readonly string[]): Load {
  const told: Told = { requests: 0, answers: [], failures: [], exports: [], gone: new Set(), took_ms: [] };
  const over = new AbortController();
  const clients = keys.map(async (key, client) => {
    for (let k = client * 7; !over.signal.aborted; k++) {
      if (k % EXPORT_EVERY === 0) await orderExport(told, url, key, `export-${client}-${k}`);
      else await ask(told, `GET ${questionOf(k)}`, () => fetch(`${url}${questionOf(k)}`, requestOf(key)));
      await sleep(PAUSE_MS);
    }
  });
  return {
    told,
    end: async () => {
      over.abort();
      await Promise.all(clients);
      return told;
    },
  };
}

function requestOf(key: string): RequestInit {
  return { headers: { Authorization: `Bearer ${key}` }, signal: AbortSignal.timeout(WAITS_MS) };
}

/** Another place each time, of a sequence that fills the box evenly. */
function questionOf(k: number): string {
  const lat = (BOX.south + (BOX.north - BOX.south) * ((k * 0.754877666) % 1)).toFixed(4);
  const lon = (BOX.west + (BOX.east - BOX.west) * ((k * 0.569840291) % 1)).toFixed(4);
  const at = `lat=${lat}&lon=${lon}`;
  const questions = [
    `/v1/hail/current?${at}&radius_km=80`,
    `/v1/storms?${at}&radius_km=80`,
    `/v1/hail/history?${at}&days=365`,
    '/v1/alerts?limit=10',
  ];
  return questions[k % questions.length] ?? '';
}

/** Sends a request and notes its outcome; the body of an answer of success, else null. */
async function ask(told: Told, what: string, send: () => Promise<Response>): Promise<unknown> {
  const started_ms = performance.now();
  told.requests += 1;
  try {
    const response = await send();
    const text = await response.text();
    if (!response.ok) {
      const reason = `${response.status} ${text.slice(0, 160)}`;
      const unanswered = !response.headers.has('x-request-id');
      told.failures.push({ at_ms: started_ms, what, reason, status: response.status, unanswered });
      return null;
    }
    told.took_ms.push(performance.now() - started_ms);
    const request_id = response.headers.get('x-request-id') ?? '';
    const credits = Number(response.headers.get('x-credits-charged'));
    told.answers.push({ request_id, credits, at_ms: performance.now() });
    return JSON.parse(text);
  } catch (error) {
    const reason = error instanceof Error ? `${error.message} ${String(error.cause ?? '')}` : String(error);
    told.failures.push({ at_ms: started_ms, what, reason, status: null, unanswered: true });
    return null;
  }
}

/** Orders an export under one Idempotency-Key until it is accepted. */
async function orderExport(told: Told, url: string, key: string, idempotency_key: string): Promise<void> {
  const today = new Date().toISOString().slice(0, 10);
  const body = JSON.stringify({ dataset: 'detections', date_start: today, date_end: today, format: 'csv' });
  const { headers } = requestOf(key);
  const send = () =>
    fetch(`${url}/v1/exports`, {
      method: 'POST',
      headers: { ...headers, 'Content-Type': 'application/json', 'Idempotency-Key': idempotency_key },
      body,
      signal: AbortSignal.timeout(WAITS_MS),
    });
  for (;;) {
    const answer = await ask(told, 'POST /v1/exports', send);
    if (answer !== null) {
      const { job_id } = answer as { job_id: string };
      told.exports.push({ key, job_id, at_ms: performance.now() });
      return;
    }
    await sleep(500);
  }
}
