// A member of a consumer group by franz-go: joins, polls, and leaves when it is told to end (SIGTERM).
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

var balancers = map[string]func() kgo.GroupBalancer{
	"range":              kgo.RangeBalancer,
	"roundrobin":         kgo.RoundRobinBalancer,
	"sticky":             kgo.StickyBalancer,
	"cooperative-sticky": kgo.CooperativeStickyBalancer,
}

func main() {
	bootstrap := flag.String("bootstrap", "", "host:port of a broker")
	group := flag.String("group", "", "group id")
	client := flag.String("client", "", "client id")
	assignor := flag.String("assignor", "range", "range, roundrobin, sticky or cooperative-sticky")
	topics := flag.String("topics", "", "topics, separated by commas")
	instance := flag.String("instance", "", "group instance id of a static member")
	session := flag.Duration("session", 6*time.Second, "session time-out")
	flag.Parse()

	balancer, known := balancers[*assignor]
	if !known {
		fmt.Fprintf(os.Stderr, "assignor %q is not known\n", *assignor)
		os.Exit(2)
	}
	options := []kgo.Opt{
		kgo.SeedBrokers(*bootstrap),
		kgo.ConsumerGroup(*group),
		kgo.ConsumeTopics(strings.Split(*topics, ",")...),
		kgo.Balancers(balancer()),
		kgo.SessionTimeout(*session),
		kgo.HeartbeatInterval(500 * time.Millisecond),
		kgo.MetadataMinAge(time.Second),
		kgo.MetadataMaxAge(5 * time.Second),
	}
	if *client != "" {
		options = append(options, kgo.ClientID(*client))
	}
	if *instance != "" {
		options = append(options, kgo.InstanceID(*instance))
	}
	member, err := kgo.NewClient(options...)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	asked, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	for asked.Err() == nil {
		member.PollFetches(asked)
	}
	// A static member goes without a word: the broker keeps its place for a session time-out.
	member.Close()
}
