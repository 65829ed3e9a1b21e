import test from 'ava';
import { EARLIER_DESCRIPTION, EARLIER_ENDPOINTS } from '../../api/legacy/variants.ts';
import { ENDPOINTS } from '../../api/routes/index.ts';
import { describeApi } from '../../api/server/openapi.ts';
import { columns, type Table } from '../../schemas/columns.ts';
import { TABLES } from '../../schemas/tables/index.ts';

type Json = Readonly<Record<string, unknown>>;

const BASE_URL = 'http://127.0.0.1:8080/v1';
const plain = (document: unknown) => JSON.parse(JSON.stringify(document)) as Json;
const CURRENT = plain(describeApi(ENDPOINTS, BASE_URL));
const EARLIER = plain(describeApi(EARLIER_ENDPOINTS, BASE_URL, EARLIER_DESCRIPTION));

/** Fields of answers and of tables that rest on judgement or on an assumed law. */
const ANSWERS = [
  ['/v1/hail/current', 'ml_predicted_size_mm'],
  ['/v1/hail/current', 'confidence'],
  ['/v1/hail/history', 'confidence'],
  ['/v1/verify', 'ml_confidence'],
  ['/v1/hail/forecast', 'hail_probability'],
  ['/v1/hail/outlook', 'hail_probability'],
  ['/v1/hail/outlook', 'score'],
  ['/v1/hail/risk', 'annual'],
  ['/v1/hail/risk', 'prior_share'],
] as const;
const COLUMNS = [
  ['detections', 'ml_predicted_size_mm'],
  ['detections', 'confidence'],
  ['cells', 'ml_predicted_size_mm'],
  ['cells', 'confidence'],
  ['tracks', 'confidence'],
  ['day-max', 'confidence'],
  ['forecast', 'hail_probability'],
  ['outlook', 'hail_probability_pct'],
  ['outlook', 'confidence_score'],
  ['climatology', 'prior_share'],
] as const;
/** Names that mean the same in every answer and event. */
const EVERYWHERE = ['ml_predicted_size_mm', 'ml_confidence', 'max_confidence', 'confidence'];

const SAYS_SO = /\b(judgement|assumed)\b/;

interface Property {
  readonly description?: string;
  /** Of a property that may be null: what it is otherwise, and null. */
  readonly anyOf?: readonly Property[];
}

function describedBy({ description, anyOf = [] }: Property): string {
  return [description, ...anyOf.map(describedBy)].filter(Boolean).join(' ');
}

/** Descriptions of the properties of a name in what a part of a document describes, references followed. */
function descriptionsOf(document: Json, part: unknown, name: string, seen = new Set<unknown>()): string[] {
  if (typeof part !== 'object' || part === null || seen.has(part)) return [];
  seen.add(part);
  const { $ref, properties } = part as { $ref?: unknown; properties?: Json };
  const target =
    typeof $ref === 'string'
      ? $ref
          .split('/')
          .slice(1)
          .reduce<unknown>((value, key) => (value as Json)[key], document)
      : null;
  return [
    ...(properties && name in properties ? [describedBy(properties[name] as Property)] : []),
    ...[target, ...Object.values(part)].flatMap((next) => descriptionsOf(document, next, name, seen)),
  ];
}

function answerOf(path: string): unknown {
  const operation = (CURRENT.paths as Json)[path] as Record<'get' | 'post', { responses: Json } | undefined>;
  return (operation.get ?? operation.post)?.responses['200'];
}

for (const [path, name] of ANSWERS)
  test(`${name} of ${path} says in its description that it is judgement or assumed`, (t) => {
    const found = descriptionsOf(CURRENT, answerOf(path), name);
    t.true(found.length > 0, 'the field is there');
    for (const description of found) t.regex(description, SAYS_SO);
  });

for (const [name, column] of COLUMNS)
  test(`${column} of the table ${name} says in its description that it is judgement or assumed`, (t) => {
    const table = TABLES.find((one) => one.name === name);
    t.regex((table && columns(table as Table).find((one) => one.name === column))?.description ?? '', SAYS_SO);
  });

test('the hourly forecast names what its steps are anchored to', (t) => {
  for (const description of descriptionsOf(CURRENT, answerOf('/v1/hail/forecast'), 'hail_probability'))
    t.true(description.includes('judgement, anchored to the climatology of reports'));
});

for (const [variant, document] of [
  ['current', CURRENT],
  ['earlier', EARLIER],
] as const)
  test(`no confidence and no predicted size of the ${variant} variant goes without it`, (t) => {
    const found = EVERYWHERE.flatMap((name) => descriptionsOf(document, document, name));
    t.true(found.length > 0);
    // The confidence of an outlook is an object: its score is described.
    for (const description of found.filter((one) => one !== '')) t.regex(description, SAYS_SO);
  });
