/** The elements of lists, one after the other; each list is made when its first element is asked for. */
export function* flattened<Element>(lists: Iterable<readonly Element[]>): Generator<Element> {
  for (const list of lists) yield* list;
}
