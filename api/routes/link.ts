import { z } from 'zod';
import { findBusiness } from '../accounts/businesses.ts';
import { redeemLink } from '../accounts/keys.ts';
import { ApiError } from '../http/errors.ts';
import { writeEndpoint } from '../server/endpoint.ts';

/** POST /v1/link, for the page /link alone: exchanges the key of a link (`hail-api key link`) for the key that it stands for. */
export const exchangeLink = writeEndpoint({
  route: 'POST /v1/link',
  group: 'Account',
  summary: 'Put a key into a browser',
  description: 'Exchanges the key of a link, once, for the key that it stands for.',
  scope: 'link',
  answers_secret: true,
  reply: z.object({ key: z.string(), business_name: z.string() }),
  price: () => null,
  write: async ({ caller }, { rows, now_ms }) => {
    const key = await redeemLink(rows, caller.key_id, now_ms);
    if (key === null) throw new ApiError('forbidden', 'the key is not that of a link, or the link was used or ended');
    const business = await findBusiness(rows, caller.business_id);
    return { body: { key, business_name: business?.name ?? '' } };
  },
});
