import { setTimeout as sleep } from 'node:timers/promises';
import { COMPANION_PRODUCTS } from '../grid.ts';
import type { Arrival } from './inbox.ts';
import { SCAN_PRODUCT, type SourceFile } from './names.ts';
import { lookBack } from './plan.ts';

/** A MESH file waits this long for the companions that usually come with it; later ones make the scan again. */
const COMPANION_GRACE_MS = 1500;

/** Arrivals, held back for a moment while a scan's usual companions are still on their way. */
export async function* gathered(arrivals: AsyncIterable<Arrival>): AsyncGenerator<Arrival, void, undefined> {
  const usual = new Set<string>();
  const iterator = arrivals[Symbol.asyncIterator]();
  let next = iterator.next();
  try {
    while (true) {
      const first = await next;
      if (first.done) return;
      const files = [...first.value.files];
      const unknown = [...first.value.unknown];
      const unreadable = [...first.value.unreadable];
      next = iterator.next();
      const deadline_ms = performance.now() + COMPANION_GRACE_MS;
      while (lacksCompanions(files, usual) && performance.now() < deadline_ms) {
        const more = await Promise.race([next, sleep(deadline_ms - performance.now(), null)]);
        if (more === null || more.done) break;
        files.push(...more.value.files);
        unknown.push(...more.value.unknown);
        unreadable.push(...more.value.unreadable);
        next = iterator.next();
      }
      // Its failure is met when its turn comes; until then it must not count as unhandled.
      next.catch(() => {});
      for (const file of files) if (file.product !== SCAN_PRODUCT) usual.add(file.product);
      yield { files, unknown, unreadable };
    }
  } finally {
    await iterator.return?.();
  }
}

/** True when a scan came without a product that has been coming with scans. */
function lacksCompanions(files: readonly SourceFile[], usual: ReadonlySet<string>): boolean {
  const newest = Math.max(...files.filter((file) => file.product === SCAN_PRODUCT).map((file) => file.time_ms));
  if (newest === Number.NEGATIVE_INFINITY) return false;
  const belongs = (file: SourceFile) => file.time_ms <= newest && newest - file.time_ms <= lookBack(file.product);
  return Object.values(COMPANION_PRODUCTS).some(
    (product) => usual.has(product) && !files.some((file) => file.product === product && belongs(file)),
  );
}
