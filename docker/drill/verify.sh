#!/usr/bin/env bash
# Verifies a restored database. Reads the settings of the gateway from the environment: DATABASE_URL of the copy, a REDIS_URL
# that the original does not use, API_KEY_PEPPER, SECRETS_KEY, and OLD_KEY, an API key issued before the backup.
#
# It starts a gateway on the copy, which ends the holds of ended processes. Never point it at the original.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
# `npm ci` brings the right Node on Linux x64.
PATH="$root/node_modules/.bin:$PATH"
: "${DATABASE_URL:?}" "${REDIS_URL:?}" "${API_KEY_PEPPER:?}" "${SECRETS_KEY:?}" "${OLD_KEY:?}"

gateway() { node "$root/dist/src/cli/main.js" "$@"; }
sql() { psql "$DATABASE_URL" --no-psqlrc --quiet --tuples-only --no-align --command "$1"; }
failed=0
check() { # name, expected, actual
  if [ "$2" = "$3" ]; then echo "ok      $1"; else echo "FAILED  $1: expected '$2', found '$3'"; failed=1; fi
}

started=$(date +%s)
check 'no migration is pending' '{"pending":[]}' "$(gateway migrate --plan --json)"
# I9: holds of ended processes. They end once a gateway runs, below.
violations=$(gateway ledger verify --json || true)
check 'the ledger has no violation but open holds' '[]' \
  "$(jq -c '[.violations[] | select(.invariant | startswith("I9 ") | not)]' <<<"$violations")"

# Hours before the retention of receipts began are complete only in the totals.
sums="SELECT coalesce(sum(requests), 0), coalesce(sum(charged_micro), 0) FROM"
since="(SELECT max(kept_since) FROM receipt_history)"
receipts=$(sql "$sums (SELECT 1 AS requests, charged_micro FROM usage_record WHERE date_trunc('hour', created_at) >= $since) receipts")
totals=$(sql "$sums (SELECT requests, charged_micro FROM usage_by_key WHERE span = 'hour' AND starts_at >= $since
  UNION ALL SELECT requests, charged_micro FROM usage_delta WHERE hour >= $since) totals")
check 'usage totals equal the receipts' "$receipts" "$totals"
check 'stored credentials can be decrypted' '0' "$(gateway credential list --json | jq '[.. | objects | select(.readable == false)] | length')"

# Holds end 20 s after the last heartbeat of their process, counted from the first start on the copy. Jobs keep theirs.
holds="SELECT count(*) FROM reservation r WHERE state = 'held' AND NOT EXISTS (SELECT FROM media_job j WHERE j.id = r.id)"
before=$(sql "$holds")

log=$(mktemp)
PORT=0 HOST=127.0.0.1 WORKER=none MANAGEMENT_PORT=0 node "$root/dist/src/main.js" >"$log" 2>&1 &
process=$!
trap 'kill $process 2>/dev/null || true; rm -f "$log"' EXIT
url=
for _ in $(seq 600); do
  url=$(sed -n 's/^The gateway listens on \(http:[^ ]*\).*/\1/p' "$log")
  [ -n "$url" ] && break
  kill -0 $process 2>/dev/null || { cat "$log"; exit 1; }
  sleep 0.1
done
check 'an old API key works' '200' \
  "$(curl --silent --output /dev/null --write-out '%{http_code}' --header "Authorization: Bearer $OLD_KEY" "$url/v1/models")"

for _ in $(seq 120); do [ "$(sql "$holds")" = 0 ] && break; sleep 1; done
check "the holds of dead processes have ended ($before at the start)" '0' "$(sql "$holds")"
violations=$(gateway ledger verify --json || true)
check 'the ledger has no violation at all afterwards' '[]' "$(jq -c .violations <<<"$violations")"
kill -TERM $process
status=0
wait $process || status=$?
check "the gateway stops cleanly" 0 $status
[ $status = 0 ] || cat "$log"
echo "receipts: ${receipts%|*}, charged: ${receipts#*|} micro; verified in $(($(date +%s) - started)) s"
exit $failed
