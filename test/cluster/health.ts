import type { Cluster } from './cluster.ts';

/** What operators saw of a fault: `/readyz` of each service, and warnings in the logs of the nodes. */
export interface Seen {
  /** Names of what was seen, the most frequent first. */
  readonly end: () => Promise<readonly string[]>;
}

const EVERY_MS = 300;
const WAITS_MS = 2_000;
/** Levels of a log from a warning on. */
const WARNING = 40;

/** Looks until it is ended. */
export function watchHealth({ services, serviceUrl, streams, workers }: Cluster): Seen {
  const counts = new Map<string, number>();
  const count = (name: string) => void counts.set(name, (counts.get(name) ?? 0) + 1);
  const nodes = [...services, ...streams, ...workers].map((node) => ({ node, from: node.log().length }));
  const over = new AbortController();
  const look = async (number: number) => {
    while (!over.signal.aborted) {
      const state = await readiness(`${serviceUrl(number)}/readyz`);
      if (state !== null) count(state);
      await new Promise((resolve) => setTimeout(resolve, EVERY_MS));
    }
  };
  const looks = services.map((_, number) => look(number));
  return {
    end: async () => {
      over.abort();
      await Promise.all(looks);
      for (const { node, from } of nodes) for (const name of warningsIn(node.log().slice(from))) count(name);
      return [...counts].sort(([, a], [, b]) => b - a).map(([name]) => name);
    },
  };
}

/** Why a service is not ready; null when it is. */
async function readiness(url: string): Promise<string | null> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(WAITS_MS) });
    if (response.ok) return null;
    const { records } = (await response.json()) as { readonly records?: boolean };
    return `/readyz ${response.status} ${records === false ? '(records)' : '(data)'}`;
  } catch {
    return '/readyz silent'; // killed, suspended, or being started
  }
}

/** Names of the warnings and errors among lines of a log. */
function warningsIn(text: string): string[] {
  return text.split('\n').flatMap((line) => {
    if (!line.startsWith('{') || !line.endsWith('}')) return [];
    const { level, msg } = JSON.parse(line) as { readonly level?: number; readonly msg?: string };
    return typeof level === 'number' && level >= WARNING && msg !== undefined ? [msg] : [];
  });
}
