/** One object of a bucket as a listing describes it. */
export interface ListedObject {
  readonly key: string;
  readonly bytes: number;
  /** Entity tag with its quotes; null when the listing has none. */
  readonly etag: string | null;
  /** Epoch milliseconds; null when the listing has none. */
  readonly modified_ms: number | null;
}

export interface ListingPage {
  readonly objects: readonly ListedObject[];
  /** Continues the listing; null on the last page. */
  readonly next_token: string | null;
}

const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

/**
 * One page of an S3 ListObjectsV2 answer. Tolerant of order, white space, attributes, name-space prefixes and
 * unknown elements. Null when the document is cut off or is no such listing.
 */
export function parseListing(xml: string): ListingPage | null {
  const root = element(xml, 'ListBucketResult');
  if (root === null) return null;
  const objects = elements(root, 'Contents').map(parseObject);
  if (objects.includes(null)) return null;
  const truncated = text(root, 'IsTruncated') === 'true';
  const next_token = truncated ? text(root, 'NextContinuationToken') : null;
  if (truncated && next_token === null) return null;
  return { objects: objects.filter((object) => object !== null), next_token };
}

function parseObject(xml: string): ListedObject | null {
  const key = text(xml, 'Key');
  const size = text(xml, 'Size');
  if (key === null || size === null || !/^\d+$/.test(size)) return null;
  const modified_ms = Date.parse(text(xml, 'LastModified') ?? '');
  return {
    key,
    bytes: Number(size),
    etag: text(xml, 'ETag'),
    modified_ms: Number.isNaN(modified_ms) ? null : modified_ms,
  };
}

function text(xml: string, tag: string): string | null {
  const inner = element(xml, tag);
  return inner === null ? null : decode(inner);
}

function element(xml: string, tag: string): string | null {
  return elements(xml, tag)[0] ?? null;
}

/** Inner text of every element of this name; one without an end is left out. */
function elements(xml: string, tag: string): string[] {
  const pattern = new RegExp(`<(?:[\\w.-]+:)?${tag}(?:\\s[^>]*)?>([^]*?)</(?:[\\w.-]+:)?${tag}\\s*>`, 'g');
  return Array.from(xml.matchAll(pattern), (match) => match[1] as string);
}

function decode(escaped: string): string {
  return escaped.replaceAll(/&(?:#x([\da-f]{1,6})|#(\d{1,7})|(\w+));/gi, (whole, hex, decimal, name) => {
    if (name !== undefined) return ENTITIES[name] ?? whole;
    const code = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16);
    return code <= 0x10ffff ? String.fromCodePoint(code) : whole;
  });
}
