/** Root of a node of a forest, where a root is its own parent; halves the path on the way. */
export function rootOf(parent: Int32Array | number[], node: number): number {
  let at = node;
  while (parent[at] !== at) {
    parent[at] = parent[parent[at]];
    at = parent[at];
  }
  return at;
}
