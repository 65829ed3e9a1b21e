import { setImmediate as letOthersRun } from 'node:timers/promises';

/** Does `work` on every item in order, letting other requests run after every `slice` items. */
export async function inSlices<Item>(
  items: Iterable<Item>,
  slice: number,
  work: (item: Item, index: number) => void,
): Promise<void> {
  let index = 0;
  for (const item of items) {
    if (index > 0 && index % slice === 0) await letOthersRun();
    work(item, index);
    index++;
  }
}
