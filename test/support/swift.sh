#!/usr/bin/env bash
# Runs a real S3-compatible server on loopback from Debian's packages until it is stopped: OpenStack Swift with s3api, one replica.
#   swift.sh FOLDER PORT    takes PORT to PORT+4; bucket addresses are http://127.0.0.1:PORT/BUCKET, key test:tester, secret testing
# Root only. The folder must be on a file system with extended attributes. Conditional PUT is answered 501.
set -euo pipefail
folder=$(realpath "${1:?folder}")
port=${2:?port}
mkdir -p "$folder"/{node/d1,etc,log} /etc/swift
conf='[swift-hash]\nswift_hash_path_prefix = a\nswift_hash_path_suffix = b\n[storage-policy:0]\nname = one\ndefault = yes\n'
# The one file that Swift reads from a fixed place; the same for every server that this script runs.
[ -e /etc/swift/swift.conf ] || { printf "$conf" >"$folder/swift.conf" && mv "$folder/swift.conf" /etc/swift/swift.conf; }
pids=()
stop() {
  for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
  wait || true
}
trap stop EXIT
trap 'exit 0' TERM INT
memcached -u nobody -l 127.0.0.1 -p $((port + 1)) &
pids+=($!)
offset=2
for ring in object container account; do
  (
    cd "$folder/etc"
    [ -e $ring.ring.gz ] && exit
    swift-ring-builder $ring.builder create 4 1 0
    swift-ring-builder $ring.builder add "r1z1-127.0.0.1:$((port + offset))/d1" 1
    swift-ring-builder $ring.builder rebalance
  ) >/dev/null
  cat >"$folder/etc/$ring.conf" <<END
[DEFAULT]
devices = $folder/node
swift_dir = $folder/etc
mount_check = false
bind_ip = 127.0.0.1
bind_port = $((port + offset))
workers = 1
user = root
log_level = WARNING
[pipeline:main]
pipeline = $ring-server
[app:$ring-server]
use = egg:swift#$ring
END
  swift-$ring-server "$folder/etc/$ring.conf" >"$folder/log/$ring.log" 2>&1 &
  pids+=($!)
  offset=$((offset + 1))
done
cat >"$folder/etc/proxy.conf" <<END
[DEFAULT]
bind_ip = 127.0.0.1
bind_port = $port
swift_dir = $folder/etc
workers = 1
user = root
log_level = WARNING
[pipeline:main]
pipeline = catch_errors gatekeeper healthcheck cache s3api tempauth bulk slo dlo versioned_writes proxy-server
[app:proxy-server]
use = egg:swift#proxy
account_autocreate = true
# With one copy there is no other server to turn to: by default one that refused ten connections is left out for a minute.
error_suppression_interval = 1
error_suppression_limit = 1000
allow_account_management = true
[filter:tempauth]
use = egg:swift#tempauth
user_test_tester = testing .admin
[filter:s3api]
use = egg:swift#s3api
location = us-east-1
[filter:cache]
use = egg:swift#memcache
memcache_servers = 127.0.0.1:$((port + 1))
END
for filter in slo dlo bulk versioned_writes healthcheck catch_errors gatekeeper; do
  printf '[filter:%s]\nuse = egg:swift#%s\n' $filter $filter >>"$folder/etc/proxy.conf"
done
swift-proxy-server "$folder/etc/proxy.conf" >"$folder/log/proxy.log" 2>&1 &
pids+=($!)
for _ in $(seq 300); do
  [ "$(curl -s -m 1 "http://127.0.0.1:$port/healthcheck" || true)" = OK ] && { echo "ready: http://127.0.0.1:$port"; break; }
  sleep 0.2
done
wait
