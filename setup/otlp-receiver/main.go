// The OTLP receiver of the OpenTelemetry collector, for tests: takes traces and logs over HTTP on the address that is its one
// argument, and writes what it has understood to standard output, a line of JSON each.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	"go.opentelemetry.io/collector/receiver/receivertest"
)

var output sync.Mutex

func write(kind string, bytes []byte) {
	output.Lock()
	defer output.Unlock()
	fmt.Printf("{\"kind\":%q,\"data\":%s}\n", kind, bytes)
}

func takeTraces(_ context.Context, traces ptrace.Traces) error {
	bytes, err := (&ptrace.JSONMarshaler{}).MarshalTraces(traces)
	if err == nil {
		write("traces", bytes)
	}
	return err
}

func takeLogs(_ context.Context, logs plog.Logs) error {
	bytes, err := (&plog.JSONMarshaler{}).MarshalLogs(logs)
	if err == nil {
		write("logs", bytes)
	}
	return err
}

func serve(ctx context.Context, address string) error {
	factory := otlpreceiver.NewFactory()
	config := factory.CreateDefaultConfig()
	document := map[string]any{"protocols": map[string]any{"http": map[string]any{"endpoint": address}}}
	if err := confmap.NewFromStringMap(document).Unmarshal(config); err != nil {
		return err
	}
	settings := receivertest.NewNopSettings(factory.Type())
	traceConsumer, err := consumer.NewTraces(takeTraces)
	if err != nil {
		return err
	}
	logConsumer, err := consumer.NewLogs(takeLogs)
	if err != nil {
		return err
	}
	traces, err := factory.CreateTraces(ctx, settings, config, traceConsumer)
	if err != nil {
		return err
	}
	// Both are one server inside: what starts the second finds it started.
	logs, err := factory.CreateLogs(ctx, settings, config, logConsumer)
	if err != nil {
		return err
	}
	if err := traces.Start(ctx, componenttest.NewNopHost()); err != nil {
		return err
	}
	if err := logs.Start(ctx, componenttest.NewNopHost()); err != nil {
		return err
	}
	<-ctx.Done()
	return traces.Shutdown(context.Background())
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: otlp-receiver ADDRESS")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if err := serve(ctx, os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
