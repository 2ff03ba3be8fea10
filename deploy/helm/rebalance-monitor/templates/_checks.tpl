{{- /*
What the chart refuses, in one sentence each: configuration that holds a secret, since it becomes a ConfigMap, and what
is the chart's matter. Shapes are in values.schema.json.
*/ -}}

{{- define "rebalance-monitor.secret" -}}
{{- $variable := .path | replace "." "__" | replace "[" "__" | replace "]" "" | upper -}}
{{- fail (printf "config.%s may hold a secret, and config becomes a ConfigMap; leave it out and name a Secret under secretEnvironment.REBALANCE_MONITOR__%s" .shown $variable) -}}
{{- end -}}

{{- /* `values`: a section; `keys`: of those that are secret the first one that is set ends it. */ -}}
{{- define "rebalance-monitor.withoutSecrets" -}}
{{- range $key := .keys -}}
{{- if not (kindIs "invalid" (index $.values $key)) -}}
{{- $path := printf "%s.%s" $.path $key -}}
{{- include "rebalance-monitor.secret" (dict "path" $path "shown" $path) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- /* Properties of a Kafka client: only those that the monitor itself shows. */ -}}
{{- define "rebalance-monitor.client" -}}
{{- $shown := include "rebalance-monitor.shownProperties" . | splitList "\n" -}}
{{- range $key, $_ := .values -}}
{{- if not (has $key $shown) -}}
{{- $path := printf "%s.%s" $.path (replace "." "_" $key) -}}
{{- include "rebalance-monitor.secret" (dict "path" $path "shown" (printf "%s.%s" $.path $key)) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "rebalance-monitor.address" -}}
{{- if regexMatch "//[^/]*@" (toString .value) -}}
{{- fail (printf "config.%s holds a user or a password, and config becomes a ConfigMap; leave them out" .path) -}}
{{- end -}}
{{- end -}}

{{- define "rebalance-monitor.checked" -}}
{{- if and .Values.podMonitor.enabled .Values.serviceMonitor.enabled -}}
{{- fail "podMonitor and serviceMonitor are both enabled, so every process would be scraped twice; enable one" -}}
{{- end -}}
{{- $config := .Values.config -}}
{{- $page := $config.page | default dict -}}
{{- $alerting := $config.alerting | default dict -}}
{{- if or (hasKey $config "http") (hasKey $page "host") (hasKey $page "port") -}}
{{- fail "config.http, config.page.host and config.page.port are set by the chart; leave them out" -}}
{{- end -}}
{{- range $at, $cluster := $config.clusters -}}
{{- include "rebalance-monitor.client" (dict "path" (printf "clusters[%d].client" $at) "values" $cluster.client) -}}
{{- end -}}
{{- include "rebalance-monitor.withoutSecrets" (dict "path" "database" "values" ($config.database | default dict) "keys" (list "dsn" "maintenance_dsn")) -}}
{{- include "rebalance-monitor.withoutSecrets" (dict "path" "audit" "values" ($config.audit | default dict) "keys" (list "dsn")) -}}
{{- include "rebalance-monitor.withoutSecrets" (dict "path" "alerting" "values" $alerting "keys" (list "heartbeat_url")) -}}
{{- range $at, $webhook := $alerting.webhooks -}}
{{- include "rebalance-monitor.withoutSecrets" (dict "path" (printf "alerting.webhooks[%d]" $at) "values" $webhook "keys" (list "url" "headers")) -}}
{{- end -}}
{{- include "rebalance-monitor.client" (dict "path" "alerting.kafka.client" "values" ($alerting.kafka | default dict).client) -}}
{{- range $at, $token := $page.tokens -}}
{{- include "rebalance-monitor.withoutSecrets" (dict "path" (printf "page.tokens[%d]" $at) "values" $token "keys" (list "token")) -}}
{{- end -}}
{{- range $key := list "public_url" "monitor_url" -}}
{{- include "rebalance-monitor.address" (dict "path" (printf "page.%s" $key) "value" (get $page $key)) -}}
{{- end -}}
{{- range $key := list "generator_url" "runbooks_url" -}}
{{- include "rebalance-monitor.address" (dict "path" (printf "alerting.%s" $key) "value" (get $alerting $key)) -}}
{{- end -}}
{{- range $alerting.alertmanagers -}}
{{- include "rebalance-monitor.address" (dict "path" "alerting.alertmanagers" "value" .) -}}
{{- end -}}
{{- end -}}

{{- define "rebalance-monitor.shownProperties" -}}
api.version.request
aws.region
broker.address.family
broker.address.ttl
client.dns.lookup
client.id
client.rack
connections.max.idle.ms
debug
enable.ssl.certificate.verification
fetch.max.bytes
fetch.message.max.bytes
fetch.wait.max.ms
log_level
max.partition.fetch.bytes
metadata.max.age.ms
receive.message.max.bytes
reconnect.backoff.max.ms
reconnect.backoff.ms
retry.backoff.ms
sasl.kerberos.keytab
sasl.kerberos.principal
sasl.kerberos.service.name
sasl.mechanism
sasl.mechanisms
sasl.oauthbearer.client.id
sasl.oauthbearer.method
sasl.oauthbearer.scope
sasl.oauthbearer.token.endpoint.url
sasl.username
security.protocol
socket.connection.setup.timeout.ms
socket.keepalive.enable
socket.nagle.disable
socket.timeout.ms
ssl.ca.location
ssl.certificate.location
ssl.cipher.suites
ssl.endpoint.identification.algorithm
ssl.key.location
ssl.keystore.location
topic.metadata.refresh.interval.ms
{{- end -}}
