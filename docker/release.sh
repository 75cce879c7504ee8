#!/usr/bin/env bash
# Puts the files of a release into a new folder: the npm package, the chart, the list of components (CycloneDX), the notes,
# and the checksums of all. Images are built and pushed apart; a release names them by digest.
#
#   docker/release.sh /tmp/release
set -euo pipefail
folder=$(realpath -m "${1:?the folder for the files of the release}")
cd "$(dirname "$0")/.."
if [ -e "$folder" ]; then
  echo "$folder exists" >&2
  exit 1
fi
mkdir -p "$folder"
version=$(node -p "require('./package.json').version")

npm pack --silent --pack-destination "$folder" >/dev/null
# Files that the chart shares with Compose are links.
tar --dereference -czf "$folder/inference-gateway-chart-$version.tgz" -C docker/helm inference-gateway
npm run --silent sbom >"$folder/sbom.cdx.json"
cp docker/CHANGES.md "$folder"
(cd "$folder" && sha256sum -- * >SHA256SUMS.part && mv SHA256SUMS.part SHA256SUMS)
ls "$folder"
