import type { Reply } from './reply.ts';

/** Answers by path and query. What an answer is kept with is the caller's; how long it holds too. */
export interface ReplyCache<Cached extends { readonly reply: Reply }> {
  readonly find: (target: string) => Cached | null;
  readonly keep: (target: string, cached: Cached) => void;
  readonly drop: (target: string) => void;
}

const REPLIES_MAX = 5000;
/** Of all that are kept. */
const TOTAL_BYTES_MAX = 48_000_000;
/** Of one; a larger answer is made again each time. */
const REPLY_BYTES_MAX = 8_000_000;

/** Answers that are kept, the oldest going first when there are too many. */
export function replyCache<Cached extends { readonly reply: Reply }>(): ReplyCache<Cached> {
  const kept = new Map<string, Cached>();
  let bytes = 0;
  const drop = (target: string) => {
    bytes -= kept.get(target)?.reply.bytes.length ?? 0;
    kept.delete(target);
  };
  return {
    find: (target) => kept.get(target) ?? null,
    keep: (target, cached) => {
      if (cached.reply.bytes.length > REPLY_BYTES_MAX) return;
      drop(target);
      kept.set(target, cached);
      bytes += cached.reply.bytes.length;
      while (kept.size > REPLIES_MAX || bytes > TOTAL_BYTES_MAX) drop(kept.keys().next().value as string);
    },
    drop,
  };
}
