import { byId, make } from './dom.ts';

/** The name under which the map keeps the key too. */
const KEY_NAME = 'hail.key';
/** Longer bodies of answers are cut, characters. */
const LONGEST_BODY = 100_000;
/** Headers of an answer that are always shown. */
const FIRST_HEADERS = ['x-credits-charged', 'x-request-id', 'etag', 'retry-after', 'x-ratelimit-remaining'];

/** The parts of an OpenAPI description that a form is made from. */
interface Description {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

interface Operation {
  readonly operationId: string;
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly example?: unknown }>> };
  readonly security?: readonly unknown[];
  readonly 'x-credits': number;
}

interface Parameter {
  readonly in: 'query' | 'path' | 'header';
  readonly name: string;
  readonly required?: boolean;
  readonly example?: unknown;
  readonly schema: { readonly type?: string; readonly enum?: readonly string[]; readonly default?: unknown };
}

interface Call {
  readonly method: string;
  readonly path: string;
  readonly operation: Operation;
}

type Field = HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement;

/** Lets every call of the page be tried with one's own key. Calls go to the service that the page comes from, and nowhere else. */
export function offerTries(service: URL): void {
  const buttons = document.querySelectorAll<HTMLButtonElement>('button.try');
  let described: Promise<Description> | null = null;
  for (const button of buttons) {
    button.hidden = false;
    button.addEventListener('click', () => {
      described ??= loadDescription(new URL(byId('description', HTMLAnchorElement).href));
      void described.then(
        (description) => openTry(button, findCall(description, button.dataset.operation ?? ''), service),
        () => {
          described = null;
          button.textContent = 'The description could not be loaded: try again';
        },
      );
    });
  }
}

async function loadDescription(from: URL): Promise<Description> {
  const response = await fetch(from);
  if (!response.ok) throw new Error(`the description answers ${response.status}`);
  return response.json();
}

function findCall({ paths }: Description, id: string): Call {
  for (const [path, methods] of Object.entries(paths))
    for (const [method, operation] of Object.entries(methods))
      if (operation.operationId === id) return { method: method.toUpperCase(), path, operation };
  throw new Error(`the description has no operation ${id}`);
}

/** Puts the form of a call in the place of its button. */
function openTry(button: HTMLButtonElement, call: Call, service: URL): void {
  const { method, operation } = call;
  const id = operation.operationId;
  const parameters = operation.parameters ?? [];
  const fields = new Map<Parameter, Field>(parameters.map((parameter) => [parameter, parameterField(parameter)]));
  const body = operation.requestBody?.content['application/json'];
  const bodyField = body === undefined ? null : bodyText(body.example);
  const key = operation.security?.length === 0 ? null : keyField();
  const send = make('button', { type: 'submit', className: 'primary', textContent: 'Send' });
  const close = make('button', { type: 'button', className: 'link', textContent: 'Close' });
  const answer = make('div', { className: 'outcome' });
  answer.setAttribute('aria-live', 'polite');
  const form = make(
    'form',
    { className: 'trial', noValidate: true },
    ...[...fields].map(([parameter, field]) => labelled(parameter.name, parameter.required === true, field, id)),
    ...(bodyField === null ? [] : [labelled('Body, JSON', true, bodyField, id)]),
    ...(key === null ? [] : [labelled('Your key', true, key, id), keyNote(key)]),
    make('p', { className: 'note', textContent: costNote(method, operation) }),
    make('div', { className: 'buttons' }, send, close),
    answer,
  );
  form.setAttribute('aria-label', `Try ${method} ${call.path}`);
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    send.disabled = true;
    void sendCall(call, fields, bodyField?.value ?? null, key?.value.trim() ?? null, service)
      .then((nodes) => answer.replaceChildren(...nodes))
      .finally(() => {
        send.disabled = false;
      });
  });
  close.addEventListener('click', () => {
    form.replaceWith(button);
    button.focus();
  });
  button.replaceWith(form);
  form.querySelector<HTMLElement>('input, select, textarea, button')?.focus();
}

function parameterField({ schema, example }: Parameter): Field {
  const words = schema.type === 'boolean' ? ['true', 'false'] : schema.enum;
  if (words === undefined) {
    const field = make('input', { type: 'text', value: String(example ?? ''), spellcheck: false, autocomplete: 'off' });
    if (schema.default !== undefined) field.placeholder = String(schema.default);
    return field;
  }
  const standard = schema.default === undefined ? 'not sent' : `${schema.default} (default)`;
  const options = ['', ...words].map((value) => make('option', { value, textContent: value || standard }));
  return make('select', { value: String(example ?? '') }, ...options);
}

function bodyText(example: unknown): HTMLTextAreaElement {
  const value = example === undefined ? '' : JSON.stringify(example, null, 2);
  return make('textarea', { value, spellcheck: false, rows: Math.min(14, value.split('\n').length + 1) });
}

function keyField(): HTMLInputElement {
  const field = make('input', { type: 'password', autocomplete: 'off', spellcheck: false, placeholder: 'hs_live_…' });
  field.value = localStorage.getItem(KEY_NAME) ?? '';
  return field;
}

function keyNote(field: HTMLInputElement): HTMLElement {
  const forget = make('button', { type: 'button', className: 'link', textContent: 'Forget key' });
  forget.addEventListener('click', () => {
    localStorage.removeItem(KEY_NAME);
    field.value = '';
    field.focus();
  });
  return make('p', { className: 'note' }, 'Stays in this browser, where the map finds it too. ', forget);
}

function costNote(method: string, operation: Operation): string {
  const price = operation['x-credits'] === 0 ? 'The call is free.' : 'The call is charged as any other.';
  return method === 'GET' ? price : `${price} What it changes in your account is real.`;
}

function labelled(text: string, isRequired: boolean, field: Field, id: string): HTMLElement {
  field.id = `try-${id}-${text.replaceAll(/\W+/g, '-')}`;
  const mark = isRequired ? make('span', { className: 'required', textContent: 'required' }) : '';
  return make('div', { className: 'field' }, make('label', { htmlFor: field.id }, text, mark), field);
}

/** Sends a call and shows its answer, or why there is none. */
async function sendCall(
  { method, path, operation }: Call,
  fields: ReadonlyMap<Parameter, Field>,
  body: string | null,
  key: string | null,
  service: URL,
): Promise<readonly Node[]> {
  const values = [...fields].map(([parameter, field]) => [parameter, field.value.trim()] as const);
  const missing = values.find(([parameter, value]) => parameter.in === 'path' && value === '');
  if (missing !== undefined) return [problem(`${missing[0].name} is part of the address: it cannot be empty.`)];
  if (key === '') return [problem('A key is needed: the service prints one at its first start.')];
  if (key !== null) localStorage.setItem(KEY_NAME, key);
  const url = addressOf(path, values, service);
  const headers = new Headers(
    values
      .filter(([{ in: place }, value]) => place === 'header' && value !== '')
      .map(([{ name }, value]) => [name, value]),
  );
  if (key !== null && operation.security?.length !== 0) headers.set('Authorization', `Bearer ${key}`);
  if (body !== null) headers.set('Content-Type', 'application/json');
  const begun = performance.now();
  try {
    const response = await fetch(url, { method, headers, body, cache: 'no-store', credentials: 'omit' });
    const text = await bodyOf(response);
    return answerNodes(response, text, performance.now() - begun);
  } catch (error) {
    return [problem(`No answer: ${error instanceof Error ? error.message : String(error)}`)];
  }
}

function addressOf(path: string, values: readonly (readonly [Parameter, string])[], service: URL): URL {
  const places = new Map(
    values.filter(([{ in: place }]) => place === 'path').map(([{ name }, value]) => [name, value]),
  );
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(places.get(name) ?? ''));
  const url = new URL(filled.slice(1), service);
  for (const [{ in: place, name }, value] of values)
    if (place === 'query' && value !== '') url.searchParams.append(name, value);
  return url;
}

/** Body of an answer as text; of a file its size. */
async function bodyOf(response: Response): Promise<string> {
  const type = response.headers.get('Content-Type') ?? '';
  if (!/json|text/.test(type)) {
    const { byteLength } = await response.arrayBuffer();
    return byteLength === 0 ? '' : `${byteLength} bytes of ${type}`;
  }
  const text = await response.text();
  const shown = type.includes('json') && text !== '' ? JSON.stringify(JSON.parse(text), null, 2) : text;
  return shown.length > LONGEST_BODY ? `${shown.slice(0, LONGEST_BODY)}\n… ${shown.length} characters in all` : shown;
}

function answerNodes({ status, statusText, headers }: Response, body: string, ms: number): readonly Node[] {
  const charged = headers.get('X-Credits-Charged');
  const price = charged === null ? '' : ` · ${charged} ${charged === '1' ? 'credit' : 'credits'}`;
  const title = make('p', { className: status < 400 ? 'status' : 'status failed' });
  title.append(make('strong', { textContent: `${status} ${statusText}`.trim() }), ` · ${Math.round(ms)} ms${price}`);
  const lines = [...headers].map(([name, value]) => `${name}: ${value}`);
  const first = FIRST_HEADERS.flatMap((name) => lines.filter((line) => line.startsWith(`${name}:`)));
  const all = make('details', {}, make('summary', { textContent: 'All headers' }), scrollable(lines.join('\n')));
  return [title, scrollable(first.join('\n')), ...(body === '' ? [] : [scrollable(body)]), all];
}

function scrollable(text: string): HTMLPreElement {
  return make('pre', { tabIndex: 0 }, make('code', { textContent: text }));
}

function problem(text: string): HTMLElement {
  return make('p', { className: 'status failed', textContent: text });
}
