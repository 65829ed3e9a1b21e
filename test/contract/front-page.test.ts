import { frontPage } from '../../api/routes/pages.ts';
import { startService } from '../support/service/service.ts';
import { closeWithoutFailures, testWith } from '../support/service/test-with.ts';

const test = testWith(() => startService({ endpoints: [], public_routes: () => [frontPage] }), closeWithoutFailures);

for (const method of ['GET', 'HEAD'] as const)
  test(`${method} of the front page leads to the documentation with nothing in its body, so of no type`, async (t) => {
    const reply = await t.context.call('/', { method, key: null, redirect: 'manual' });
    t.is(reply.status, 302);
    t.is(reply.headers.get('Location'), 'docs');
    t.is(reply.headers.get('Cache-Control'), 'no-store');
    t.is(reply.headers.get('Content-Length'), '0');
    t.is(reply.headers.get('Content-Type'), null);
    t.is(await reply.text(), '');
  });
