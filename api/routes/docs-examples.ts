import { html } from './docs-html.ts';

/** A call that an example makes. */
export interface ExampleCall {
  readonly method: string;
  /** Address without the query. */
  readonly url: string;
  /** Query parameters as text, in the order of the description. */
  readonly query: readonly (readonly [name: string, value: string])[];
  /** Body as JSON; undefined without one. */
  readonly body: unknown;
  readonly needs_key: boolean;
  /** What the answer is read as. */
  readonly answer: 'json' | 'text' | 'bytes';
}

const LANGUAGES = [
  ['curl', 'curl', curlExample],
  ['typescript', 'TypeScript', typescriptExample],
  ['python', 'Python', pythonExample],
] as const;

/** The example of a call in each language. Radio buttons and the style sheet show one at a time, without a script. */
export function exampleTabs(id: string, call: ExampleCall): string {
  const choices = LANGUAGES.map(
    ([language, name], k) =>
      `<label><input type="radio" name="language-${id}" value="${language}"${k === 0 ? ' checked' : ''}>${name}</label>`,
  );
  const texts = LANGUAGES.map(
    ([language, , write]) => `<pre tabindex="0" data-language="${language}"><code>${html(write(call))}</code></pre>`,
  );
  return `<div class="example"><fieldset><legend class="unseen">Language of the example</legend>${choices.join('')}</fieldset>
${texts.join('\n')}</div>`;
}

function address({ url, query }: ExampleCall): string {
  const pairs = query.map(([name, value]) => `${name}=${encodeURIComponent(value).replaceAll('%2C', ',')}`);
  return pairs.length === 0 ? url : `${url}?${pairs.join('&')}`;
}

export function curlExample(call: ExampleCall): string {
  const { method, body, needs_key, answer } = call;
  return [
    `curl ${method === 'GET' ? '' : `-X ${method} `}'${address(call)}'`,
    ...(needs_key ? [`  -H "Authorization: Bearer $HAIL_KEY"`] : []),
    ...(body === undefined
      ? []
      : [`  -H 'Content-Type: application/json'`, `  -d '${JSON.stringify(body).replaceAll("'", "'\\''")}'`]),
    ...(answer === 'bytes' ? ['  -O'] : []),
  ].join(' \\\n');
}

export function typescriptExample(call: ExampleCall): string {
  const { method, body, needs_key, answer } = call;
  const headers = [
    ...(needs_key ? [`Authorization: \`Bearer \${env.HAIL_KEY}\``] : []),
    ...(body === undefined ? [] : [`'Content-Type': 'application/json'`]),
  ];
  const options = [
    ...(method === 'GET' ? [] : [`  method: '${method}',`]),
    ...(headers.length === 0 ? [] : [`  headers: { ${headers.join(', ')} },`]),
    ...(body === undefined ? [] : [`  body: JSON.stringify(${indented(JSON.stringify(body, null, 2))}),`]),
  ];
  const init = options.length === 0 ? '' : `, {\n${options.join('\n')}\n}`;
  const read = { json: 'json', text: 'text', bytes: 'bytes' }[answer];
  return [
    ...(needs_key ? [`import { env } from 'node:process';\n`] : []),
    `const response = await fetch('${address(call)}'${init});`,
    `if (!response.ok) throw new Error(\`\${response.status} \${await response.text()}\`);`,
    `const answer = await response.${read}();`,
  ].join('\n');
}

export function pythonExample({ method, url, query, body, needs_key, answer }: ExampleCall): string {
  const lines = [
    `    ${pythonText(url)},`,
    ...(query.length === 0
      ? []
      : [`    params={${query.map(([name, value]) => `${pythonText(name)}: ${pythonText(value)}`).join(', ')}},`]),
    ...(needs_key ? [`    headers={"Authorization": "Bearer " + os.environ["HAIL_KEY"]},`] : []),
    ...(body === undefined ? [] : [`    json=${indented(pythonValue(body), 4)},`]),
    '    timeout=30,',
  ];
  const read = { json: 'json()', text: 'text', bytes: 'content' }[answer];
  return [
    `import ${needs_key ? 'os\nimport ' : ''}requests`,
    '',
    `response = requests.${method.toLowerCase()}(`,
    ...lines,
    ')',
    'response.raise_for_status()',
    `answer = response.${read}`,
  ].join('\n');
}

/** A JSON value as Python, indented by four spaces. */
function pythonValue(value: unknown, indent = 0): string {
  if (value === null || value === undefined) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (typeof value === 'string') return pythonText(value);
  if (typeof value !== 'object') return String(value);
  const members = Array.isArray(value)
    ? value.map((member) => pythonValue(member, indent + 4))
    : Object.entries(value).map(([name, member]) => `${pythonText(name)}: ${pythonValue(member, indent + 4)}`);
  const [open, close] = Array.isArray(value) ? ['[', ']'] : ['{', '}'];
  const flat = `${open}${members.join(', ')}${close}`;
  if (flat.length <= 60 && !flat.includes('\n')) return flat;
  const space = ' '.repeat(indent + 4);
  return `${open}\n${members.map((member) => `${space}${member},`).join('\n')}\n${' '.repeat(indent)}${close}`;
}

/** A text as Python: the escapes of JSON are among those of Python. */
function pythonText(text: string): string {
  return JSON.stringify(text);
}

/** A text whose lines after the first are indented further. */
function indented(text: string, spaces = 2): string {
  return text.replaceAll('\n', `\n${' '.repeat(spaces)}`);
}
