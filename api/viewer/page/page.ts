/** Content of a `meta` element of the page. Throws when the page has none of this name. */
export function meta(name: string): string {
  const found = document.querySelector<HTMLMetaElement>(`meta[name="${name}"]`);
  if (found === null) throw new Error(`the page has no meta '${name}'`);
  return found.content;
}

/** What this browser keeps for the page; null where it keeps nothing. */
export function storage(): Storage | null {
  try {
    return localStorage;
  } catch {
    return null;
  }
}

/** A JSON file of the page. */
export async function loadJson<Value>(name: string): Promise<Value> {
  const response = await fetch(`${meta('hail-assets')}/${name}`);
  if (!response.ok) throw new Error(`${name} answered ${response.status}, expected 200`);
  return response.json();
}

/** The promise that a map has under a name, or a new one; one that fails is forgotten. */
export function remembered<Value>(
  map: Map<string, Promise<Value>>,
  name: string,
  ask: (name: string) => Promise<Value>,
): Promise<Value> {
  const asked = map.get(name) ?? ask(name);
  map.set(name, asked);
  asked.catch(() => map.delete(name));
  return asked;
}

export const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
