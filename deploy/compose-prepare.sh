#!/bin/sh
# Makes what compose.yaml keeps out of itself: passwords, keys, certificates and the ids of the nodes, in ./secrets.
# usage: sh compose-prepare.sh https://ADDRESS-OF-THE-SERVICE
# Containers read these files under accounts of their own; the folder around them is what keeps everybody else out.
set -eu
address=${1:-}
case "$address" in
  https://?*) ;;
  *) echo "usage: sh compose-prepare.sh https://ADDRESS-OF-THE-SERVICE" >&2; exit 2 ;;
esac
cd "$(dirname "$0")"
if [ -e secrets ]; then
  echo "compose-prepare.sh: ./secrets is there already, and what is running depends on it" >&2
  exit 1
fi
name=${address#https://}
name=${name%%[:/]*}
case "$name" in
  *[!0-9.]*) kind=DNS ;;
  *) kind=IP ;;
esac

umask 077
draft=secrets.$$
mkdir "$draft"
trap 'rm -rf "$draft"' EXIT
random() { openssl rand -hex "$1" | tr -d '\n'; }
certificate() { # certificate NAME NAMES: a certificate that vouches for itself
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 3650 -subj "/CN=$1" \
    -addext "subjectAltName=$2" -keyout "$draft/key" -out "$draft/certificate" 2>/dev/null
}

password=$(random 24)
access_key=$(random 10)
secret_key=$(random 20)
printf '%s' "$password" >"$draft/database_password"
cat >"$draft/settings" <<TEXT
database = "postgres://starling:$password@postgres/starling"
base-url = "$address"
TEXT
cat >"$draft/content_keys" <<TEXT
[default]
aws_access_key_id = $access_key
aws_secret_access_key = $secret_key
TEXT
cat >"$draft/store_users" <<TEXT
{"identities": [{"name": "starling", "credentials": [{"accessKey": "$access_key", "secretKey": "$secret_key"}],
  "actions": ["Admin", "Read", "Write", "List", "Tagging"]}]}
TEXT
certificate nodes DNS:one,DNS:two
mv "$draft/certificate" "$draft/nodes_certificate"
mv "$draft/key" "$draft/nodes_key"
# Replace this one by a certificate that your clients trust: certificate and key in one file.
certificate "$name" "$kind:$name"
cat "$draft/certificate" "$draft/key" >"$draft/balancer_certificate"
rm "$draft/certificate" "$draft/key"
for number in 1 2; do
  random 16 >"$draft/node_${number}_id"
  echo "STARLING_NODE_${number}_ID=$(cat "$draft/node_${number}_id")" >>"$draft/balancer.env"
done
chmod 0644 "$draft"/*
mv "$draft" secrets
echo "made $(pwd)/secrets; keep a copy of it in a safe place"
