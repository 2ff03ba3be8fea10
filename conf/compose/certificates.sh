#!/bin/bash
# Run before each start of the broker that asks for certificates; it makes them once, for ten years. The authority's key
# stays in /tmp and is gone with this container, so nothing else is ever certified.
set -eu
secrets=/etc/kafka/secrets
if [ -e "$secrets/authority.crt" ]; then exit 0; fi
umask 077
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
new_key=(-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes)
openssl req -x509 "${new_key[@]}" -days 3650 -subj /CN=authority -keyout "$made/authority.key" -out "$made/authority.crt"
for name in kafka worker monitor; do
  openssl req "${new_key[@]}" -subj "/CN=$name" -keyout "$made/$name.key" |
    openssl x509 -req -CA "$made/authority.crt" -CAkey "$made/authority.key" -days 3650 -out "$made/$name.crt" \
      -extfile <(echo subjectAltName=DNS:kafka,DNS:localhost,IP:127.0.0.1)
  cat "$made/$name.key" "$made/$name.crt" > "$made/$name.pem"
done
# The monitor's image has another user than Kafka's. Only services that mount this volume can read it.
chmod 644 "$made/monitor.pem" "$made/authority.crt"
mv "$made"/*.pem "$secrets"
# The last one: it says that all are there.
mv "$made/authority.crt" "$secrets"
