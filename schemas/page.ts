import { z } from 'zod';

/** Cursor of the page after this one: an id or an operation name. */
export const nextCursor = z.string().nullable().meta({ description: 'Cursor of the next page; null on the last one.' });

/** Items on this page. */
export const pageCount = z.int().nonnegative().meta({ description: 'Items on this page.' });
