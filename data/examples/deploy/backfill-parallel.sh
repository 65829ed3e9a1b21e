#!/bin/sh
# backfill-parallel.sh FROM TO LOG [OPTIONS OF PARALLEL]: publishes storm dates by GNU parallel, a date in each process, for example
# backfill-parallel.sh 2024-01-01 2024-12-31 dates.log --jobs 4 --sshlogin node1,node2. Every host mounts the data root.
# The same command again makes the dates that LOG does not name as done.
set -eu
from=$1 to=$2 log=$3
shift 3
days=$((($(date -u -d "$to" +%s) - $(date -u -d "$from" +%s)) / 86400))
for day in $(seq 0 "$days"); do date -u -d "$from +$day days" +%F; done |
  parallel --joblog "$log" --resume-failed "$@" \
    hail-pipeline backfill --from {} --to {} --source noaa
