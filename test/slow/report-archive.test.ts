import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import test from 'ava';
import { create } from 'fontkit';
import type { ReportMaterial } from '../../api/pdf/report-material.ts';
import { reportPdf } from '../../api/pdf/report-pdf.ts';
import { claimMaterial, longMaterial, reportMaterial } from '../support/data/report-material.ts';
import { scratch } from '../support/data/world.ts';

/** Rules of ISO 19005-2 level U, numbered as veraPDF's profile numbers them, as far as they can bear on what the library writes. */

const SCRIPTS = 'Łódź Αθήνα Москва 東京 서울 दिल्ली القاهرة תל 👍 \u202e\ud83e \ufffc ≤½№';

const DOCUMENTS: readonly (readonly [string, () => ReportMaterial])[] = [
  ['one page without hail', () => reportMaterial({ start: '2026-05-01', end: '2026-05-30' }, [])],
  [
    'a claim with texts in many scripts',
    () => claimMaterial({ labels: { prepared_for: SCRIPTS, reference: SCRIPTS, address: SCRIPTS } }),
  ],
  ['simulated data', () => claimMaterial({}, 'simulated')],
  ['ninety storm dates', () => longMaterial(90, 400, 3)],
];

type Value = string | number | boolean | null | readonly Value[] | Dict;
type Dict = { readonly [key: string]: Value };
interface Stream {
  readonly dict: Dict;
  readonly data: Buffer;
}

/** A document as qpdf reads it: objects by `12 0 R`, streams decoded. */
interface Read {
  readonly trailer: Dict;
  readonly dicts: readonly Dict[];
  readonly streams: ReadonlyMap<string, Stream>;
  readonly dictOf: (value: Value | undefined) => Dict;
  readonly streamOf: (value: Value | undefined) => Stream;
}

function isDict(value: Value | undefined): value is Dict {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A dictionary and all that are written inside it. */
function withInner(value: Value): Dict[] {
  if (Array.isArray(value)) return value.flatMap(withInner);
  return isDict(value) ? [value, ...Object.values(value).flatMap(withInner)] : [];
}

function readWithQpdf(file: string): Read {
  const { status, stdout, stderr } = spawnSync(
    'qpdf',
    ['--json=2', '--json-stream-data=inline', '--decode-level=generalized', file],
    { encoding: 'utf8', maxBuffer: 1e9 },
  );
  if (status !== 0) throw new Error(`qpdf ended with ${status}: ${stderr}`);
  type Entry = { readonly value?: Value; readonly stream?: { readonly dict: Dict; readonly data: string } };
  const parsed: { readonly qpdf: readonly [unknown, { readonly [name: string]: Entry }] } = JSON.parse(stdout);
  const [, entries] = parsed.qpdf;
  const values = new Map<string, Value>();
  const streams = new Map<string, Stream>();
  for (const [name, { value, stream }] of Object.entries(entries)) {
    const id = name.replace('obj:', '');
    if (stream !== undefined) streams.set(id, { dict: stream.dict, data: Buffer.from(stream.data, 'base64') });
    else if (value !== undefined) values.set(id, value);
  }
  const dictOf = (value: Value | undefined): Dict => {
    const found = typeof value === 'string' ? (values.get(value) ?? streams.get(value)?.dict) : value;
    if (!isDict(found)) throw new Error(`${JSON.stringify(value)} is no dictionary`);
    return found;
  };
  return {
    trailer: dictOf('trailer'),
    dicts: [...values.values(), ...[...streams.values()].map(({ dict }) => dict)].flatMap(withInner),
    streams,
    dictOf,
    streamOf: (value) => {
      const found = streams.get(String(value));
      if (found === undefined) throw new Error(`${JSON.stringify(value)} is no stream`);
      return found;
    },
  };
}

/** 6.1: header, trailer, what follows it, filters, limits. */
function faultsOfFile(file: Buffer, { trailer, dicts, streams }: Read): string[] {
  const text = file.toString('latin1');
  const filters = [...text.matchAll(/\/Filter\s*\/(\w+)/g)].map(([, name]) => name);
  const strings = dicts.flatMap((dict) => Object.values(dict)).filter((value) => typeof value === 'string');
  const numbers = dicts.flatMap((dict) => Object.values(dict)).filter((value) => typeof value === 'number');
  return [
    ...(/^%PDF-1\.[0-7]\n%[\x80-\xff]{4}/.test(text) ? [] : ['6.1.2: header']),
    ...(Array.isArray(trailer['/ID']) && trailer['/ID'].length === 2 ? [] : ['6.1.3: no ID']),
    ...(trailer['/Encrypt'] === undefined ? [] : ['6.1.3: encrypted']),
    ...(/%%EOF\r?\n?$/.test(text) ? [] : ['6.1.3: data after the end']),
    ...filters.filter((name) => name !== 'FlateDecode').map((name) => `6.1.7: filter ${name}`),
    ...[...streams.values()].flatMap(({ dict }) => ['/F', '/FFilter', '/FDecodeParms'].filter((key) => key in dict)),
    ...strings.filter((value) => value.length > 32_767).map(() => '6.1.13: long string'),
    ...numbers.filter((value) => Math.abs(value) > 2_147_483_647).map((value) => `6.1.13: number ${value}`),
  ];
}

/** 6.2.3 to 6.2.10, 6.3 to 6.11: colours, transparency, and what must not be there at all. */
function faultsOfContent({ trailer, dicts, streams, dictOf, streamOf }: Read): string[] {
  const root = dictOf(trailer['/Root']);
  const [intent] = Array.isArray(root['/OutputIntents']) ? root['/OutputIntents'].map(dictOf) : [];
  const { dict, data } = streamOf(intent?.['/DestOutputProfile']);
  const pages = dicts.filter((one) => one['/Type'] === '/Page');
  const contents = pages.map((page) => streamOf(page['/Contents']).data.toString('latin1'));
  const actions = [
    '/JavaScript',
    '/Launch',
    '/URI',
    '/GoToR',
    '/GoToE',
    '/SubmitForm',
    '/ImportData',
    '/Named',
    '/Movie',
  ];
  const spaces = contents.flatMap((page) => [...page.matchAll(/\/(\S+) (?:cs|CS)\b/g)].map(([, name]) => name));
  let depth = 0;
  const deepest = contents
    .join('\n')
    .split('\n')
    .reduce((most, line) => {
      depth += line === 'q' ? 1 : line === 'Q' ? -1 : 0;
      return Math.max(most, depth);
    }, 0);
  return [
    ...(intent?.['/S'] === '/GTS_PDFA1' && dict['/N'] === 3 ? [] : ['6.2.3: output intent']),
    ...(data.toString('latin1', 12, 20) === 'mntrRGB ' && data.readUInt8(8) < 5 ? [] : ['6.2.3: ICC profile']),
    ...spaces.filter((name) => name !== 'DeviceRGB').map((name) => `6.2.4: colour space ${name}`),
    ...contents.filter((page) => /[\d.] [kK]\n/.test(page)).map(() => '6.2.4: CMYK'),
    ...(deepest <= 28 ? [] : [`6.1.13: graphics states nested ${deepest} deep`]),
    ...dicts
      .filter((one) => one['/Type'] === '/ExtGState')
      .flatMap((one) => Object.keys(one).filter((key) => !['/Type', '/ca', '/CA'].includes(key)))
      .map((key) => `6.2.5, 6.2.10: ${key} in a graphics state`),
    ...[...streams.values()].filter((one) => one.dict['/Type'] === '/XObject').map(() => '6.2.8: a picture or form'),
    ...[
      '/Annots',
      '/AA',
      '/OpenAction',
      '/AcroForm',
      '/EmbeddedFiles',
      '/OCProperties',
      '/Perms',
      '/Requirements',
      '/XFA',
    ]
      .filter((key) => dicts.some((one) => key in one))
      .map((key) => `6.3 to 6.10: ${key}`),
    ...dicts.filter((one) => actions.includes(String(one['/S']))).map((one) => `6.5: action ${one['/S']}`),
    ...(contents.length > 0 ? [] : ['no page']),
  ];
}

/** 6.6: the metadata are there, and say PDF/A-2u. */
function faultsOfMetadata({ trailer, dictOf, streamOf }: Read): string[] {
  const { dict, data } = streamOf(dictOf(trailer['/Root'])['/Metadata']);
  const xmp = data.toString('utf8');
  const properties = new Set([...xmp.matchAll(/<(\w+:\w+)[ >]/g)].map(([, name]) => name));
  const known = [
    'dc:title',
    'dc:creator',
    'dc:description',
    'xmp:CreateDate',
    'xmp:CreatorTool',
    'pdf:Producer',
    'pdf:Keywords',
  ];
  const frame = [
    'x:xmpmeta',
    'rdf:RDF',
    'rdf:Description',
    'rdf:Alt',
    'rdf:Seq',
    'rdf:li',
    'pdfaid:part',
    'pdfaid:conformance',
  ];
  return [
    ...(dict['/Type'] === '/Metadata' && dict['/Subtype'] === '/XML' ? [] : ['6.6.2.1: metadata']),
    ...(/^<\?xpacket begin="\ufeff" id="W5M0MpCehiHzreSzNTczkc9d"\?>/.test(xmp) ? [] : ['6.6.2.1: packet']),
    ...[...properties].filter((name) => ![...known, ...frame].includes(String(name))).map((name) => `6.6.2.3: ${name}`),
    ...(/<pdfaid:part>2<\/pdfaid:part>\s*<pdfaid:conformance>U<\/pdfaid:conformance>/.test(xmp)
      ? []
      : ['6.6.4: level']),
    ...(xmp.includes('xmlns:pdfaid="http://www.aiim.org/pdfa/ns/id/"') ? [] : ['6.6.4: namespace']),
  ];
}

/** Numbers of the glyphs that pages show, by the name of the font on the page. */
function glyphsShown({ dicts, dictOf, streamOf }: Read): Map<string, Set<number>> {
  const shown = new Map<string, Set<number>>();
  for (const page of dicts.filter((one) => one['/Type'] === '/Page')) {
    const fonts = dictOf(dictOf(page['/Resources'])['/Font']);
    const content = streamOf(page['/Contents']).data.toString('latin1');
    for (const [, name = '', parts = ''] of content.matchAll(/\/(F\d+) [\d.]+ Tf\n\[([^\]]*)\] TJ/g)) {
      const font = String(fonts[`/${name}`]);
      const glyphs = shown.get(font) ?? new Set();
      shown.set(font, glyphs);
      for (const [hex] of parts.replace(/>[^<]*</g, '').matchAll(/[0-9a-f]{4}/g)) glyphs.add(Number.parseInt(hex, 16));
    }
  }
  return shown;
}

/** 6.2.11: every font is embedded, every glyph that is shown is in it, is as wide as said, and has its character. */
function faultsOfFonts(read: Read): string[] {
  const { dicts, dictOf, streamOf } = read;
  const shown = glyphsShown(read);
  const outer = dicts.filter((one) => one['/Type'] === '/Font' && one['/DescendantFonts'] === undefined);
  const faults = outer
    .filter((one) => one['/Subtype'] !== '/CIDFontType2')
    .map((one) => `6.2.11: font ${one['/BaseFont']} of ${one['/Subtype']}`);
  for (const [font, glyphs] of shown) {
    const dict = dictOf(font);
    const name = String(dict['/BaseFont']);
    const descendants = dict['/DescendantFonts'];
    const descendant = dictOf(Array.isArray(descendants) ? descendants[0] : undefined);
    const descriptor = dictOf(descendant['/FontDescriptor']);
    if (dict['/Subtype'] !== '/Type0' || dict['/Encoding'] !== '/Identity-H') faults.push(`6.2.11.3: ${name}`);
    if (descendant['/CIDToGIDMap'] !== '/Identity') faults.push(`6.2.11.3.2: ${name}`);
    if (!/^\/[A-Z]{6}\+/.test(name)) faults.push(`6.2.11.4: ${name} is no subset`);
    const program = create(streamOf(descriptor['/FontFile2']).data);
    if (program.type !== 'TTF') throw new Error(`${name} is ${program.type}`);
    const widths = Array.isArray(descendant['/W']) ? descendant['/W'][1] : [];
    const cmap = streamOf(dict['/ToUnicode']).data.toString('latin1');
    const units = [...cmap.matchAll(/\[([^\]]*)\]/g)].flatMap(([, list = '']) => list.match(/<[^>]*>/g) ?? []);
    for (const glyph of glyphs) {
      if (glyph === 0) faults.push(`6.2.11.8: ${name} shows a character that it lacks`);
      if (glyph >= program.numGlyphs) faults.push(`6.2.11.4: ${name} has no glyph ${glyph}`);
      const said = Array.isArray(widths) ? Number(widths[glyph]) : Number.NaN;
      const is = (1000 * program.getGlyph(glyph).advanceWidth) / program.unitsPerEm;
      if (!(Math.abs(said - is) <= 1)) faults.push(`6.2.11.5: glyph ${glyph} of ${name} is ${is} wide, said ${said}`);
      if (!/^<(?!0000|feff|fffe)[0-9a-f ]{4,}>$/.test(units[glyph] ?? ''))
        faults.push(`6.2.11.7: glyph ${glyph} of ${name} is the character ${units[glyph]}`);
    }
  }
  return [...faults, ...(shown.size > 1 ? [] : ['fewer than two fonts'])];
}

const hasQpdf = spawnSync('qpdf', ['--version']).status === 0;
const hasVeraPdf = spawnSync('verapdf', ['--version']).status === 0;

for (const [what, material] of DOCUMENTS) {
  if (hasQpdf)
    test(`PDF/A-2u: ${what} breaks none of the rules that are checked here`, async (t) => {
      const file = await scratch(t, 'report.pdf');
      writeFileSync(file, await reportPdf(material()));
      const { status, stdout } = spawnSync('qpdf', ['--check', file], { encoding: 'utf8' });
      t.is(status, 0, stdout);
      const read = readWithQpdf(file);
      t.deepEqual(
        [
          ...faultsOfFile(readFileSync(file), read),
          ...faultsOfContent(read),
          ...faultsOfMetadata(read),
          ...faultsOfFonts(read),
        ],
        [],
      );
    });
  else test.todo(`PDF/A-2u: ${what} breaks none of the rules that are checked here (needs qpdf, which is absent)`);

  if (hasVeraPdf)
    test(`PDF/A-2u: veraPDF finds no fault in ${what}`, async (t) => {
      const file = await scratch(t, 'report.pdf');
      writeFileSync(file, await reportPdf(material()));
      const { stdout } = spawnSync('verapdf', ['--flavour', '2u', '--format', 'text', file], { encoding: 'utf8' });
      t.regex(stdout, /^PASS/);
    });
  else test.todo(`PDF/A-2u: veraPDF finds no fault in ${what} (needs verapdf, which is absent)`);
}
