import { randomUUID } from 'node:crypto';

/** Names this process among all that share the records. */
export const OWNER = randomUUID();
