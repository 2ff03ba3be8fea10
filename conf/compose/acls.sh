#!/bin/bash
# Run after each start of the broker that asks for passwords. What a user has already is not granted twice.
set -eu
allow() {
  java -Xmx128m -Dlog4j2.configurationFile=/etc/kafka/log4j2.properties -cp '/opt/kafka/libs/*' \
    org.apache.kafka.tools.AclCommand --bootstrap-server kafka:9092 --command-config /etc/kafka/client-sasl.properties \
    --add --allow-principal "User:$1" "${@:2}"
}
# What docs/security.md lists, and `rebalance-monitor config rights` prints.
allow monitor --operation Read --topic __consumer_offsets --topic connect-demo-configs --topic connect-demo-status
allow monitor --operation Describe --topic '*' --group '*' --cluster
# Connectors read and write whichever topics their configuration names, in groups called connect-<connector>.
allow worker --operation Read --operation Write --operation Create --operation DescribeConfigs --topic '*'
allow worker --operation Read --group connect- --resource-pattern-type prefixed
