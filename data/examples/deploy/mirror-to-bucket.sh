#!/bin/sh
# mirror-to-bucket.sh ROOT REMOTE STATE: copies the published files of a data root to a bucket that readers read, for example
# mirror-to-bucket.sh /srv/hail s3:hail /var/lib/hail-mirror. REMOTE is a remote of rclone. Run it again and again, one at a time.
# Files come before the lists that name them: immutable files, then heads, then current.json. A file that the data root no longer
# has is deleted once it has been missing for two hours.
set -eu
root=$1 remote=$2 state=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$state"

cat >"$work/immutable" <<'LIST'
- *.part
- /manifests/pending.json
- /manifests/*/head.json
+ /root.json
+ /live/**
+ /manifests/**
+ /state/**
+ /tables/**
+ /tiles/**
- *
LIST
# The name of an immutable file never gets other content.
copy_files() { rclone copy --ignore-existing --filter-from "$work/immutable" "$root" "$remote"; }
list_files() { rclone lsf --recursive --files-only --filter-from "$work/immutable" "$1" | LC_ALL=C sort; }

# The first copy may last for hours; the second one brings what was published meanwhile.
copy_files
begun=$(date +%s)
mkdir "$work/lists"
cp "$root/current.json" "$work/current.json"
(cd "$root" && find manifests -name head.json) | while IFS= read -r head; do
  mkdir -p "$work/lists/$(dirname "$head")"
  cp "$root/$head" "$work/lists/$head"
done
copy_files
# The data root keeps a file for two hours after the last list that names it.
if [ $(($(date +%s) - begun)) -gt 6600 ]; then
  echo "mirror-to-bucket: the second copy took over 110 minutes, expected less; the lists of the bucket stay" >&2
  exit 1
fi
rclone copy --checksum "$work/lists" "$remote"
rclone copyto --checksum "$work/current.json" "$remote/current.json"

list_files "$root" >"$work/published"
list_files "$remote" | LC_ALL=C comm -13 "$work/published" - >"$work/missing"
if [ -f "$state/missing" ]; then
  [ -n "$(find "$state/missing" -mmin +120)" ] || exit 0
  LC_ALL=C comm -12 "$state/missing" "$work/missing" >"$work/delete"
  if [ -s "$work/delete" ]; then rclone delete --files-from-raw "$work/delete" "$remote"; fi
fi
cp "$work/missing" "$state/missing"
