#!/bin/sh
# backup.sh FOLDER: writes the records to FOLDER and copies the files of reports and exports there. Run by
# hail-backup.service, in the folder of the project and with the settings of the services.
# The file with the master key is not copied: keep it elsewhere.
set -eu
umask 077
folder=$1
data=${HAIL_DATA:-data}
# Backups of the records that are kept: two weeks of nightly ones.
keep=14

file="$folder/records-$(date -u +%Y%m%dT%H%M%SZ).ndjson.gz"
./node_modules/.bin/node --disable-sigusr1 api/start.js backup create "$file"

# After the records, so that no report is in them without its file here. These files never change, so that each is copied once;
# a copy is deleted when the service has deleted its file.
for kind in reports exports; do
  [ -d "$data/$kind" ] || continue
  mkdir -p "$folder/$kind"
  cp -a --no-clobber "$data/$kind/." "$folder/$kind/"
  (cd "$folder/$kind" && find . -type f) | while IFS= read -r name; do
    [ -e "$data/$kind/$name" ] || rm -f "$folder/$kind/$name"
  done
done

# Names hold the time: the newest come last.
find "$folder" -maxdepth 1 -name 'records-*.ndjson.gz' | sort | head -n "-$keep" | while IFS= read -r old; do rm -f "$old"; done
