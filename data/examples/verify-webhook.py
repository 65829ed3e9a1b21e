# verify-webhook.py: the same; body is bytes
import hashlib, hmac, re, time

def verify(body, signature, secret, now_s=None):
    first, *macs = signature.split(",")
    now_s = time.time() if now_s is None else now_s
    if not re.fullmatch(r"t=[0-9]+", first) or abs(now_s - int(first[2:])) > 300:
        return False
    ours = hmac.new(secret.encode(), first[2:].encode() + b"." + body, hashlib.sha256).hexdigest()
    return any(hmac.compare_digest(mac.encode(), b"v1=" + ours.encode()) for mac in macs)
