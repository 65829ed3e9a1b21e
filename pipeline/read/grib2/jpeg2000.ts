import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { type Section, sectionError, unsigned } from './section.ts';

/** The part of the OpenJPEG codec that we use; its arrays are views of its own memory. */
interface Decoder {
  getEncodedBuffer(length: number): Uint8Array;
  decode(): void;
  getDecodedBuffer(): Uint8ClampedArray;
}

/** Options of the codec's factory, which becomes the codec itself. */
interface Codec {
  readonly print: (line: string) => void;
  readonly printErr: (line: string) => void;
  readonly instantiateWasm: (imports: WebAssembly.Imports, receive: (made: WebAssembly.Instance) => void) => object;
  J2KDecoder?: new () => Decoder;
}

/**
 * Samples of a JPEG 2000 codestream of one unsigned component of 1 to 16 bits (template 5.40), row after row.
 *
 * Size and depth are read from the codestream and checked before the codec sees it. Every call starts a fresh codec,
 * so that neither its memory nor the effects of a damaged stream outlive the call. Throws BadInput when the stream is
 * something else or cannot be decoded.
 */
export function decodeJpeg2000(data: Section, count: number): Uint8Array | Uint16Array {
  const bits = checkHeader(data, count);
  const bytes = runCodec(data);
  const needed = bits > 8 ? 2 * count : count;
  if (bytes.length !== needed)
    throw sectionError(data, `jpeg 2000 stream gives ${bytes.length} bytes, expected ${needed}`);
  return bits > 8 ? new Uint16Array(bytes.buffer, 0, count) : bytes;
}

/** Bits per sample of the codestream in section 7. Throws BadInput for streams of another size or kind than promised. */
function checkHeader(data: Section, count: number): number {
  const [start, size] = [unsigned(data, 6, 2), unsigned(data, 8, 2)];
  if (start !== 0xff4f || size !== 0xff51) throw sectionError(data, 'no jpeg 2000 codestream, expected ff4f ff51');
  const [right, bottom, left, top] = [14, 18, 22, 26].map((octet) => unsigned(data, octet, 4));
  const [width, height] = [right - left, bottom - top];
  if (width <= 0 || height <= 0 || width * height !== count)
    throw sectionError(data, `jpeg 2000 image of ${width} x ${height} samples, expected ${count} in all`);
  const components = unsigned(data, 46, 2);
  const depth = unsigned(data, 48, 1);
  if (components !== 1 || depth > 15)
    throw sectionError(
      data,
      `jpeg 2000 image of ${components} components, depth ${depth}, expected one unsigned of 1 to 16 bits`,
    );
  return depth + 1;
}

function runCodec(data: Section): Uint8Array {
  const stream = data.bytes.subarray(5);
  const messages: string[] = [];
  try {
    const decoder = startDecoder((line) => messages.push(line));
    decoder.getEncodedBuffer(stream.length).set(stream);
    decoder.decode();
    return new Uint8Array(decoder.getDecodedBuffer());
  } catch (cause) {
    const message = messages.length > 0 ? ` (${messages[0]})` : '';
    throw sectionError(data, `jpeg 2000 stream cannot be decoded${message}`, cause);
  }
}

let files: ReturnType<typeof loadCodec> | undefined;

/** A decoder with memory of its own. The codec would print to the terminal without `print` and `printErr`. */
function startDecoder(printErr: (line: string) => void): Decoder {
  files ??= loadCodec();
  const { factory, program } = files;
  const codec: Codec = {
    print: () => {},
    printErr,
    instantiateWasm: (imports, receive) => {
      // Instantiated synchronously, so that the codec is complete when the factory returns.
      receive(new WebAssembly.Instance(program, imports));
      return {};
    },
  };
  factory(codec);
  if (!codec.J2KDecoder) throw new TypeError('codec-openjpeg did not start at once');
  return new codec.J2KDecoder();
}

/** Loaded when the first product needs it, which is never on the MRMS path. */
function loadCodec() {
  const require = createRequire(import.meta.url);
  return {
    factory: require('@cornerstonejs/codec-openjpeg/decodewasmjs') as (codec: Codec) => unknown,
    program: new WebAssembly.Module(readFileSync(require.resolve('@cornerstonejs/codec-openjpeg/decodewasm'))),
  };
}
