#!/bin/sh
# Installed as /usr/local/bin/hail-api and /usr/local/bin/hail-pipeline: runs the command of that name as user hail, with the
# settings of the services. Files that it reads or writes must be open to that user. SETTINGS_FILE names another file of settings.
set -eu
set -a
. "${SETTINGS_FILE:-/etc/hail/hail.env}"
set +a
case $(basename "$0") in
  hail-api) side=api ;;
  hail-pipeline) side=pipeline ;;
  *) echo "$0: its name ends in neither of hail-pipeline, hail-api" >&2; exit 2 ;;
esac
project=/opt/hail/current
set -- "$project/node_modules/.bin/node" --disable-sigusr1 "$project/$side/start.js" "$@"
if [ "$(id -un)" = hail ]; then exec "$@"; fi
exec runuser -u hail -- "$@"
