import { DETAILS, type Detail } from '../../schemas/resources/fields.ts';
import type { Price } from '../endpoint.ts';

/** Price of an operation that costs the same for every call. */
export function flatPrice(operation: string, credits: number): () => Price {
  return () => ({ operation, credits, count: 1 });
}

/** Questions that show both prices of an operation with a detail. */
export const PRICED_BY_DETAIL = DETAILS.map((detail) => `detail=${detail}`);

/** Price of an operation by its detail; the advanced one is an operation of its own. */
export function detailPrice(
  operation: string,
  credits: Readonly<Record<Detail, number>>,
): (asked: { readonly query: { readonly detail: Detail } }) => Price {
  return ({ query: { detail } }) => ({
    operation: detail === 'advanced' ? `${operation}.advanced` : operation,
    credits: credits[detail],
    count: 1,
  });
}
