import { spawn, spawnSync } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { transformSync } from 'amaro';
import test from 'ava';
import { describeApi } from '../../api/openapi.ts';
import { curlExample, type ExampleCall, pythonExample, typescriptExample } from '../../api/routes/docs-examples.ts';
import { docsPage } from '../../api/routes/docs-reference.ts';
import { ENDPOINTS } from '../../api/routes/index.ts';
import { startService } from '../support/service/service.ts';
import { startWholeService, type WholeService } from '../support/service/whole-service.ts';

const BASE_URL = 'http://127.0.0.1:8080';
const ENTITIES: Readonly<Record<string, string>> = { '&lt;': '<', '&gt;': '>', '&quot;': '"', '&amp;': '&' };
const ROWS = [
  ['getHailCurrent', 'cells'],
  ['getCoverage', 'covered'],
  ['postHailCurrentBatch', 'results'],
  ['postVerify', 'verification_hash'],
] as const;
/** What prints the answer of an example. */
const PRINTS: Readonly<Record<string, string>> = {
  curl: '',
  typescript: 'console.log(JSON.stringify(answer));',
  python: 'import json\nprint(json.dumps(answer))',
};
const hasRequests = spawnSync('python3', ['-c', 'import requests']).status === 0;
const COMMANDS: Readonly<Record<string, readonly [string, ...string[]]>> = {
  curl: ['sh', '-c'],
  typescript: [process.execPath, '--input-type=module', '-e'],
  ...(hasRequests ? { python: ['python3', '-c'] as const } : {}),
};

let whole: WholeService;
let page: string;

test.before(async () => {
  whole = await startWholeService();
  const document = describeApi({ endpoints: ENDPOINTS, base_url: `${BASE_URL}/v1`, version: '1.2.3' });
  const docs = await startService({ endpoints: [], public_routes: () => [docsPage(document)] });
  page = await (await docs.call('/docs', { key: null })).text();
  await docs.close();
});
test.after.always(() => whole.service.close());

/** Examples of the page in a language, by the id of their operation. */
function examplesIn(language: string): Map<string, string> {
  const articles = page.split('<article id="').slice(1);
  const pattern = new RegExp(`<pre tabindex="0" data-language="${language}"><code>([\\s\\S]*?)</code>`);
  return new Map(
    articles.flatMap((article) => {
      const [, example] = pattern.exec(article) ?? [];
      const id = article.slice(0, article.indexOf('"'));
      return example === undefined ? [] : [[id, example.replaceAll(/&\w+;/g, (name) => ENTITIES[name] ?? name)]];
    }),
  );
}

for (const [language, [command, ...words]] of Object.entries(COMMANDS))
  test(`the examples in ${language} run as they are shown, and get the answer`, async (t) => {
    const examples = examplesIn(language);
    for (const [id, field] of ROWS) {
      const example = (examples.get(id) ?? '').replaceAll(BASE_URL, whole.service.url);
      const child = spawn(command, [...words, `${example}\n${PRINTS[language]}`], {
        env: { PATH: process.env.PATH, HAIL_KEY: whole.service.live_key },
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      const [answer, trouble] = await Promise.all([text(child.stdout), text(child.stderr)]);
      t.true(answer.startsWith('{'), `${id} ${trouble}`);
      t.true(field in JSON.parse(answer), `${id} ${answer}`);
    }
  });

test('every endpoint has an example in each language, and all of them parse', (t) => {
  const [curl, typescript, python] = ['curl', 'typescript', 'python'].map(examplesIn);
  const ids = [...(curl ?? [])].map(([id]) => id);
  t.true(ids.length >= ENDPOINTS.length);
  t.deepEqual(
    [...(typescript ?? [])].map(([id]) => id),
    ids,
  );
  t.deepEqual(
    [...(python ?? [])].map(([id]) => id),
    ids,
  );
  for (const [id, example] of typescript ?? []) t.notThrows(() => transformSync(example, { mode: 'strip-only' }), id);
  if (!hasRequests) return;
  const check = 'import ast, json, sys\nfor text in json.load(sys.stdin): ast.parse(text)';
  const { stderr } = spawnSync('python3', ['-c', check], {
    input: JSON.stringify([...(python ?? [])].map(([, example]) => example)),
    encoding: 'utf8',
  });
  t.is(stderr, '');
});

test('a body with every kind of value is written in the words of each language', (t) => {
  const call: ExampleCall = {
    method: 'POST',
    url: 'https://hail.example/v1/x',
    query: [['bbox', '-98,35,-97,36']],
    body: { name: "it's", on: true, off: null, list: [1, { deep: false }] },
    needs_key: false,
    answer: 'json',
  };
  t.is(
    curlExample(call),
    `curl -X POST 'https://hail.example/v1/x?bbox=-98,35,-97,36' \\
  -H 'Content-Type: application/json' \\
  -d '{"name":"it'\\''s","on":true,"off":null,"list":[1,{"deep":false}]}'`,
  );
  t.true(typescriptExample(call).includes('"off": null'));
  t.is(
    pythonExample(call),
    `import requests

response = requests.post(
    "https://hail.example/v1/x",
    params={"bbox": "-98,35,-97,36"},
    json={
        "name": "it's",
        "on": True,
        "off": None,
        "list": [1, {"deep": False}],
    },
    timeout=30,
)
response.raise_for_status()
answer = response.json()`,
  );
});
