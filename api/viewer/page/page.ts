/** Content of a `meta` element of the page. Throws when the page has none of this name. */
export function meta(name: string): string {
  const found = document.querySelector<HTMLMetaElement>(`meta[name="${name}"]`);
  if (found === null) throw new Error(`the page has no meta '${name}'`);
  return found.content;
}

/** What this browser keeps under a name; null where there is nothing, or where it keeps nothing for this page. */
export function stored(name: string): string | null {
  try {
    return localStorage.getItem(name);
  } catch {
    return null;
  }
}

/** Keeps a value in this browser, where it keeps any for this page; null forgets it. */
export function store(name: string, value: string | null): void {
  try {
    if (value === null) localStorage.removeItem(name);
    else localStorage.setItem(name, value);
  } catch {
    // The value holds as long as the page is open.
  }
}

/** A JSON file of the page. */
export async function loadJson<Value>(name: string): Promise<Value> {
  const response = await fetch(`${meta('hail-assets')}/${name}`);
  if (!response.ok) throw new Error(`${name} answered ${response.status}, expected 200`);
  return response.json();
}
