#!/bin/sh
# backup.sh FOLDER: makes a backup of the records, the master key, reports and exports, as a folder in FOLDER whose name is the
# time, and deletes the oldest ones. Run by hail-backup.service, in the folder of the project and with the settings of the services.
set -eu
umask 077
folder=$1
# Backups that are kept: two weeks of nightly ones.
keep=14

# Names of backups, oldest first.
backups() { find "$folder" -maxdepth 1 -type d -name '2*T*Z' | sort; }

# What a killed run left behind.
rm -rf "$folder"/2*Z.partial
previous=$(backups | tail -n 1)
new="$folder/$(date -u +%Y%m%dT%H%M%SZ)"
if [ -z "${HAIL_DATABASE_URL:-}" ]; then
  ./node_modules/.bin/node --disable-sigusr1 api/start.js backup "$new"
else
  mkdir -p "$new.partial/records"
  pg_dump --format=custom --file="$new.partial/records/hail.dump" "$HAIL_DATABASE_URL"
  for name in records/master.key reports exports; do
    if [ -e "$HAIL_DATA/$name" ]; then cp -a "$HAIL_DATA/$name" "$new.partial/$name"; fi
  done
  mv "$new.partial" "$new"
fi

# A file that the backup before holds, too, stands on the disk once: both names lead to it.
if [ -n "$previous" ]; then
  (cd "$new" && find reports exports -type f 2>/dev/null || true) | while IFS= read -r name; do
    if cmp -s "$previous/$name" "$new/$name" && ln "$previous/$name" "$new/$name.link"; then
      mv "$new/$name.link" "$new/$name"
    fi
  done
fi

backups | head -n "-$keep" | while IFS= read -r old; do rm -rf "$old"; done
