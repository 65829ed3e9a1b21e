/** Where the earlier variant is served to every key. */
export const EARLIER_MOUNT = '/legacy/v1';
/** Where it is served to the keys that are made for it, and the current one to all others. */
export const CURRENT_MOUNT = '/v1';

/** True for a path of the earlier variant, whoever asks. */
export function isEarlierPath(path: string): boolean {
  return path === EARLIER_MOUNT || path.startsWith(`${EARLIER_MOUNT}/`);
}

/** Where an endpoint of the earlier variant is found: under its own mount, and in the place of the current one. */
export function pathsOfEarlier({ path }: { readonly path: string }): readonly string[] {
  return [path, `${CURRENT_MOUNT}${path.slice(EARLIER_MOUNT.length)}`];
}
