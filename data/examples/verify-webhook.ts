// verify-webhook.ts: true for a delivery of ours that is not older than five minutes
import { createHmac, timingSafeEqual } from 'node:crypto';

export function verify(body: string, signature: string, secret: string, now_s = Date.now() / 1000): boolean {
  const [time = '', ...macs] = signature.split(',');
  if (!/^t=\d+$/.test(time) || Math.abs(now_s - Number(time.slice(2))) > 300) return false;
  const ours = createHmac('sha256', secret).update(`${time.slice(2)}.${body}`).digest('hex');
  return macs.some((mac) => mac.length === 67 && timingSafeEqual(Buffer.from(mac), Buffer.from(`v1=${ours}`)));
}
