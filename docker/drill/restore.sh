#!/usr/bin/env bash
# The restore drill, complete on this machine: a PostgreSQL with archived WAL and a gateway under load; a base backup and a
# logical dump while it runs; a point in time restored from the archive; then verify.sh on both copies.
#
# Needs the server programs of PostgreSQL 15 or later, redis-server, curl, jq, Node 24 and `npm run build`.
# LOAD_SECONDS (12) is how long the load lasts, CALLERS (8) how many clients it has.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
# `npm ci` brings the right Node on Linux x64.
PATH="$root/node_modules/.bin:$PATH"
bin=${POSTGRES_BIN:-$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -n 1)}
load_seconds=${LOAD_SECONDS:-12}
callers=${CALLERS:-8}
[ -x "$bin/postgres" ] || { echo 'PostgreSQL is not installed: set POSTGRES_BIN'; exit 2; }
for program in redis-server curl jq psql; do
  command -v $program >/dev/null || { echo "$program is not installed"; exit 2; }
done
[ -f "$root/dist/src/main.js" ] || { echo 'dist/src/main.js is missing: run `npm run build` first'; exit 2; }

work=$(mktemp -d)
chmod 711 "$work"
read -r source_port copy_port source_redis copy_redis < <(node -e "
  const servers = [1, 2, 3, 4].map(() => require('node:net').createServer().listen(0, '127.0.0.1'));
  setImmediate(() => {
    console.log(servers.map((server) => server.address().port).join(' '));
    servers.forEach((server) => server.close());
  });
")
pids=()
as_postgres() { if [ "$(id -u)" = 0 ]; then (cd / && su postgres -c "$1"); else bash -c "$1"; fi; }
finish() {
  local status=$?
  for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
  for data in source copy; do
    as_postgres "$bin/pg_ctl -D $work/$data -m immediate stop" >/dev/null 2>&1 || true
  done
  if [ $status = 0 ]; then rm -rf "$work"; else echo "files are kept in $work"; fi
}
trap finish EXIT
since() { awk "BEGIN { printf \"%.1f s\", $(date +%s.%N) - $1 }"; }
start_postgres() { # data, port, further settings
  as_postgres "$bin/pg_ctl -D $work/$1 -w -t 300 -l $work/base/$1.log -o '-p $2 -c listen_addresses=127.0.0.1 \
    -c unix_socket_directories= -c max_connections=200 $3' start" >/dev/null
}

mkdir "$work/source" "$work/copy" "$work/wal" "$work/base"
[ "$(id -u)" = 0 ] && chown postgres "$work"/{source,copy,wal,base}
chmod 700 "$work"/{source,copy}
as_postgres "$bin/initdb -D $work/source -A trust -U postgres" >/dev/null
start_postgres source $source_port "-c archive_mode=on -c archive_timeout=1s -c archive_command=\"cp %p $work/wal/%f\""
for port in $source_redis $copy_redis; do
  redis-server --port $port --bind 127.0.0.1 --save '' --appendonly no --dir "$work" >/dev/null &
  pids+=($!)
done

export API_KEY_PEPPER SECRETS_KEY NODE_ENV=test MOCK_PROVIDER=true MOCK_MEDIA_PROVIDER=true LOG_LEVEL=warn DATA_DIR="$work/data"
API_KEY_PEPPER=$(od -An -tx1 -N32 /dev/urandom | tr -d ' \n')
SECRETS_KEY=$(od -An -tx1 -N32 /dev/urandom | tr -d ' \n')
export DATABASE_URL="postgres://postgres@127.0.0.1:$source_port/postgres" REDIS_URL="redis://127.0.0.1:$source_redis"
gateway() { node "$root/dist/src/cli/main.js" "$@"; }
gateway migrate >/dev/null
organization=$(gateway org create --name drill --json | jq -r .id)
gateway org credit --org "$organization" --amount-micro 1000000000000 --ref drill >/dev/null
OLD_KEY=$(gateway key create --org "$organization" --json | jq -r .key)
export OLD_KEY
printf 'sk-a-stored-credential' | gateway credential set --name MISTRAL_API_KEY >/dev/null

PORT=0 HOST=127.0.0.1 MANAGEMENT_PORT=0 node "$root/dist/src/main.js" >"$work/gateway.log" 2>&1 &
pids+=($!)
gateway_pid=$!
url=
for _ in $(seq 600); do
  url=$(sed -n 's/^The gateway listens on \(http:[^ ]*\).*/\1/p' "$work/gateway.log")
  [ -n "$url" ] && break
  kill -0 $gateway_pid 2>/dev/null || { cat "$work/gateway.log"; exit 1; }
  sleep 0.1
done

echo "load: $callers clients for $load_seconds s"
end=$((SECONDS + load_seconds))
for caller in $(seq "$callers"); do
  # Half of the clients wait two seconds for an answer, so that every instant has holds.
  prompt=drill
  [ $((caller % 2)) = 0 ] && prompt='drill [[mock: first_token=2s]]'
  while [ $SECONDS -lt $end ]; do
    curl --silent --output /dev/null --write-out '%{http_code}\n' --header "Authorization: Bearer $OLD_KEY" \
      --header 'Content-Type: application/json' --data '{"model":"mock/chat-1","messages":[{"role":"user","content":"'"$prompt"'"}]}' \
      "$url/v1/chat/completions" || true
  done >"$work/answers.$caller" &
  pids+=($!)
  clients+=($!)
done

# Jobs that end before the backup, between it and the target, and after the restore.
for seconds in 1 $((load_seconds / 3)) $((4 * load_seconds)) $((4 * load_seconds + 2)); do
  curl --silent --fail --output /dev/null --header "Authorization: Bearer $OLD_KEY" --header "Idempotency-Key: job-$seconds" \
    --header 'Content-Type: application/json' --data '{"model":"mock/music-1","duration_seconds":1,"format":"wav",
    "prompt":"drill [[mock: queued=100 run='"$seconds"'s]]"}' "$url/v1/music/generations"
done

sleep $((load_seconds / 4))
at=$(date +%s.%N)
as_postgres "$bin/pg_basebackup -h 127.0.0.1 -p $source_port -U postgres -D $work/copy -X none --checkpoint=fast" 2>/dev/null
echo "base backup under load: $(since "$at"), $(du -sm "$work/copy" | cut -f1) MiB"
at=$(date +%s.%N)
as_postgres "$bin/pg_dump -h 127.0.0.1 -p $source_port -U postgres -Fc -f $work/base/dump postgres"
echo "logical dump under load: $(since "$at"), $(du -sk "$work/base/dump" | cut -f1) KiB"
sleep $((load_seconds / 4))
target=$(psql "$DATABASE_URL" -Atc 'SELECT clock_timestamp()')
charges=$(psql "$DATABASE_URL" -Atc "SELECT count(*) FROM usage_record WHERE created_at < '$target'")
wait "${clients[@]}"
answered=$(cat "$work"/answers.* | grep -c '^200$' || true)
psql "$DATABASE_URL" -qAtc 'SELECT pg_switch_wal()' >/dev/null
echo "answered: $answered requests, about $charges of them before the target $target"
kill -TERM $gateway_pid && wait $gateway_pid
last=$(psql "$DATABASE_URL" -Atc 'SELECT pg_walfile_name(pg_current_wal_lsn())')
psql "$DATABASE_URL" -qAtc 'CHECKPOINT' -c 'SELECT pg_switch_wal()' >/dev/null
for _ in $(seq 300); do [ -f "$work/wal/$last" ] && break; sleep 0.1; done
as_postgres "$bin/pg_ctl -D $work/source -m fast stop" >/dev/null

at=$(date +%s.%N)
as_postgres "touch $work/copy/recovery.signal"
start_postgres copy $copy_port "-c archive_mode=off -c restore_command=\"cp $work/wal/%f %p\" \
  -c recovery_target_time=\"$target\" -c recovery_target_action=promote"
export REDIS_URL="redis://127.0.0.1:$copy_redis" DATABASE_URL="postgres://postgres@127.0.0.1:$copy_port/postgres"
for _ in $(seq 600); do [ "$(psql "$DATABASE_URL" -Atc 'SELECT pg_is_in_recovery()')" = f ] && break; sleep 0.1; done
echo "restored to the target: $(since "$at")"
copied=$(psql "$DATABASE_URL" -Atc 'SELECT count(*) FROM usage_record')
[ "$copied" -ge "$charges" ] || { echo "the copy has $copied receipts, fewer than $charges"; exit 1; }
[ "$copied" -lt "$answered" ] || { echo "the copy has all $copied receipts: it went beyond the target"; exit 1; }

echo '--- the copy at the point in time'
gateway deployment renew >/dev/null
bash "$here/verify.sh"

echo '--- the jobs that were under way at that point'
open="SELECT count(*) FROM media_job WHERE completed_at IS NULL"
under_way=$(psql "$DATABASE_URL" -Atc "$open")
[ "$under_way" -gt 0 ] || { echo 'no job was under way'; exit 1; }
PORT=0 HOST=127.0.0.1 MANAGEMENT_PORT=0 node "$root/dist/src/main.js" >"$work/jobs.log" 2>&1 &
pids+=($!)
worker_pid=$!
for _ in $(seq 1200); do [ "$(psql "$DATABASE_URL" -Atc "$open")" = 0 ] && break; sleep 0.1; done
kill -TERM $worker_pid && wait $worker_pid
charged='(SELECT count(*) FROM ledger_entry e WHERE e.reservation_id = j.id AND e.kind = '"'charge')"
ended=$(psql "$DATABASE_URL" -Atc "SELECT count(*) FILTER (WHERE completed_at IS NULL), count(*) FILTER (WHERE $charged <> 1),
  count(*) FROM media_job j")
[ "$ended" = '0|0|4' ] || { echo "FAILED  jobs still open, jobs without exactly one charge, jobs: $ended"; exit 1; }
gateway ledger verify >/dev/null || { gateway ledger verify; exit 1; }
echo "ok      $under_way jobs have continued, and each of 4 has one charge"

at=$(date +%s.%N)
psql "$DATABASE_URL" -qAtc 'CREATE DATABASE logical'
as_postgres "$bin/pg_restore -h 127.0.0.1 -p $copy_port -U postgres -d logical --exit-on-error $work/base/dump"
echo "--- the logical dump, restored in $(since "$at")"
redis-cli -p $copy_redis flushall >/dev/null
DATABASE_URL="postgres://postgres@127.0.0.1:$copy_port/logical" bash "$here/verify.sh"
