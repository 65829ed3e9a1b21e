import test from 'ava';
import fc from 'fast-check';
import { parseListing } from '../../../pipeline/sources/listing.ts';

const contents = (key: string, size: string) => `<Contents><Key>${key}</Key><Size>${size}</Size></Contents>`;
const page = (inner: string) => `<?xml version="1.0"?><ListBucketResult>${inner}</ListBucketResult>`;

test('reads keys, sizes, entity tags and the token of a page as S3 writes it', (t) => {
  const xml = `<?xml version="1.0" encoding="UTF-8"?>
<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>noaa-mrms-pds</Name><Prefix>CONUS/</Prefix><NextContinuationToken>1ueG&amp;==</NextContinuationToken><KeyCount>1</KeyCount><MaxKeys>1</MaxKeys><IsTruncated>true</IsTruncated><Contents><Key>CONUS/a.grib2.gz</Key><LastModified>2024-02-28T02:54:01.000Z</LastModified><ETag>&quot;0cc175b9c0f1b6a831c399e269772661&quot;</ETag><Size>362811</Size><StorageClass>INTELLIGENT_TIERING</StorageClass></Contents></ListBucketResult>`;
  t.deepEqual(parseListing(xml), {
    objects: [
      {
        key: 'CONUS/a.grib2.gz',
        bytes: 362811,
        etag: '"0cc175b9c0f1b6a831c399e269772661"',
        modified_ms: 1_709_088_841_000,
      },
    ],
    next_token: '1ueG&==',
  });
});

test('order, white space, attributes, name-space prefixes and unknown elements do not matter', (t) => {
  const xml = `<s3:ListBucketResult
    xmlns:s3="x"> <s3:Contents note="a"><s3:Owner><s3:ID>7</s3:ID></s3:Owner><s3:Size>5</s3:Size>
      <s3:Key >k</s3:Key ></s3:Contents> <s3:CommonPrefixes><s3:Prefix>p/</s3:Prefix></s3:CommonPrefixes>
    </s3:ListBucketResult >`;
  t.deepEqual(parseListing(xml), {
    objects: [{ key: 'k', bytes: 5, etag: null, modified_ms: null }],
    next_token: null,
  });
});

test('a listing of nothing has no objects', (t) => {
  t.deepEqual(parseListing(page('<IsTruncated>false</IsTruncated>')), { objects: [], next_token: null });
});

for (const [written, key] of [
  ['a&amp;b', 'a&b'],
  ['&lt;&gt;&quot;&apos;', '<>"\''],
  ['a&#43;b&#x2B;c&#X2b;d', 'a+b+c+d'],
  ['&amp;lt;', '&lt;'],
  ['&unknown; &#xFFFFFF;', '&unknown; &#xFFFFFF;'],
  ['gr&#252;n &#x1F327;', 'grün 🌧'],
] as const)
  test(`the key written ${written} is ${key}`, (t) =>
    t.is(parseListing(page(contents(written, '1')))?.objects[0]?.key, key));

for (const [title, xml] of [
  ['cut off', page(contents('k', '1')).slice(0, -3)],
  ['an error document', '<Error><Code>AccessDenied</Code></Error>'],
  ['a web page', '<html><body>Welcome to the airport</body></html>'],
  ['continued without a token', page('<IsTruncated>true</IsTruncated>')],
  ['an object without a key', page('<Contents><Size>1</Size></Contents>')],
  ['an object of size -1', page(contents('k', '-1'))],
  ['empty', ''],
] as const)
  test(`no listing: ${title}`, (t) => t.is(parseListing(xml), null));

test('any cut of a listing is refused, whatever its keys', (t) => {
  const whole = page(contents('a', '1') + contents('b', '2'));
  fc.assert(
    fc.property(fc.integer({ min: 0, max: whole.length - 1 }), (length) => {
      t.is(parseListing(whole.slice(0, length)), null);
    }),
  );
});
