import test from 'ava';
import { Webhook } from 'standardwebhooks';
import { signatureFault, signatureHeaders } from '../../../api/push/sign.ts';

const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const OLD_SECRET = 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD';
const ID = 'evt_01JT5N0F6QH7Q2Y2W5W0Q3Z8KD';
const BODY = `{"id":"${ID}","schema_version":1,"event":"alert.created","data":{"location_name":"Zürich"}}`;
const AT_MS = 1_780_000_000_999;
const SIGNED = { id: ID, event: 'alert.created', body: BODY, secrets: [SECRET], at_ms: AT_MS };
/** Of body and secret, by OpenSSL: `openssl dgst -sha256 -hmac` and `-mac HMAC -macopt hexkey:`. */
const MAC = 'bfa7b6f5387c8b7b77c78108fe3d48f92ff18ad04d8e26be65395b0239f8cd1c';
const OLD_MAC = '09b1e12a58e161e265f2870e81cde176ebc2d7f4774c1899e79e655a0ede2fda';
const STANDARD_MAC = '2ryOKxSMuAtHfp++DsnrFIb6PKWYLsvVebW2h44EoFY=';
const OLD_STANDARD_MAC = 'CSjUiOzm++eG1vGhr+CbMqoiJI+g7LSGVvO+wS3ss6E=';

test('the headers of an attempt are those that OpenSSL makes of secret, time and body', (t) => {
  t.deepEqual(signatureHeaders(SIGNED), {
    'X-Service-Event': 'alert.created',
    'X-Service-Timestamp': '1780000000',
    'X-Service-Delivery-Id': ID,
    'X-Service-Signature': `t=1780000000,v1=${MAC}`,
    'webhook-id': ID,
    'webhook-timestamp': '1780000000',
    'webhook-signature': `v1,${STANDARD_MAC}`,
  });
});

test('while two secrets live, both sign in both families', (t) => {
  t.like(signatureHeaders({ ...SIGNED, secrets: [SECRET, OLD_SECRET] }), {
    'X-Service-Signature': `t=1780000000,v1=${MAC},v1=${OLD_MAC}`,
    'webhook-signature': `v1,${STANDARD_MAC} v1,${OLD_STANDARD_MAC}`,
  });
});

test('the package standardwebhooks takes our deliveries, with either of two secrets', (t) => {
  const headers = signatureHeaders({ ...SIGNED, secrets: [SECRET, OLD_SECRET], at_ms: Date.now() });
  for (const secret of [SECRET, OLD_SECRET])
    t.deepEqual(new Webhook(secret).verify(BODY, { ...headers }), JSON.parse(BODY));
  t.throws(() => new Webhook(SECRET).verify(BODY.replace('Zürich', 'Zurich'), { ...headers }));
  t.throws(() => new Webhook('whsec_aGFpbGhhaWxoYWlsaGFpbGhhaWxoYWls').verify(BODY, { ...headers }));
});

test('a receiver finds our signature good for five minutes, before and after', (t) => {
  const signature = signatureHeaders({ ...SIGNED, secrets: [OLD_SECRET, SECRET] })['X-Service-Signature'] ?? '';
  const signed_ms = Math.floor(AT_MS / 1000) * 1000;
  for (const off_ms of [-300_000, 0, 300_000]) t.is(signatureFault(signature, BODY, SECRET, signed_ms + off_ms), null);
  for (const off_ms of [-300_001, 300_001])
    t.is(
      signatureFault(signature, BODY, SECRET, signed_ms + off_ms),
      'signature is of 2026-05-28T20:26:40.000Z, expected one of the last 300 s',
    );
});

const SIGNATURE = `t=1780000000,v1=${MAC}`;
for (const [what, signature, body, secret, fault] of [
  ['another body', SIGNATURE, `${BODY} `, SECRET, 'does not match'],
  ['another secret', SIGNATURE, BODY, OLD_SECRET, 'does not match'],
  ['another time', SIGNATURE.replace('0000,', '0001,'), BODY, SECRET, 'does not match'],
  ['a changed digit', SIGNATURE.replace('bfa7', 'bfa8'), BODY, SECRET, 'does not match'],
  ['a signature cut short', SIGNATURE.slice(0, -2), BODY, SECRET, 'does not match'],
  ['another version', SIGNATURE.replace('v1', 'v0'), BODY, SECRET, 'does not match'],
  ['no signature', 't=1780000000', BODY, SECRET, 'does not match'],
  ['no time', `v1=${MAC}`, BODY, SECRET, 'begins with'],
  ['nothing at all', '', BODY, SECRET, 'begins with ""'],
] as const)
  test(`a receiver refuses ${what}`, (t) => {
    t.regex(signatureFault(signature, body, secret, AT_MS) ?? '', new RegExp(fault));
  });

test('a secret of another form signs nothing, and is not repeated', (t) => {
  const error = t.throws(() => signatureHeaders({ ...SIGNED, secrets: ['whsec_not base64!'] }), {
    instanceOf: TypeError,
  });
  t.false(error.message.includes('not base64'));
});
