// A sample of an out-of-process adapter of mixs: refuses by a list, counts quotas in token buckets, and writes reports as lines of JSON.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"mesh/examples/grpc-adapter/adapterpb"
)

type options struct {
	address, reports, cert, key, clientCA string
}

func main() {
	var o options
	flag.StringVar(&o.address, "address", "127.0.0.1:9099", "host:port or unix:/path to listen on")
	flag.StringVar(&o.reports, "reports", "", "file that reports are appended to; standard output without it")
	flag.StringVar(&o.cert, "tls-cert", "", "certificate chain, PEM; plaintext without it")
	flag.StringVar(&o.key, "tls-key", "", "its private key, PEM")
	flag.StringVar(&o.clientCA, "tls-client-ca", "", "roots that clients' certificates are checked against, PEM")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if err := run(ctx, o); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, o options) error {
	reports, err := openReports(o.reports)
	if err != nil {
		return err
	}
	defer reports.Close()
	creds, err := o.credentials()
	if err != nil {
		return err
	}
	listener, err := listen(o.address)
	if err != nil {
		return err
	}
	server := grpc.NewServer(grpc.Creds(creds))
	wellness := health.NewServer()
	healthpb.RegisterHealthServer(server, wellness)
	adapterpb.RegisterAdapterServer(server, newAdapter(reports, time.Now))
	go func() {
		<-ctx.Done()
		wellness.Shutdown()
		// Calls that run may end, but not hold the program up.
		time.AfterFunc(5*time.Second, server.Stop)
		server.GracefulStop()
	}()
	log.Printf("listening on %s", listener.Addr())
	return server.Serve(listener)
}

func openReports(path string) (io.WriteCloser, error) {
	if path == "" {
		return os.Stdout, nil
	}
	return os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
}

func listen(address string) (net.Listener, error) {
	path, isSocket := strings.CutPrefix(address, "unix:")
	if !isSocket {
		return net.Listen("tcp", address)
	}
	// One that was killed leaves its socket behind.
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	return net.Listen("unix", path)
}

func (o options) credentials() (credentials.TransportCredentials, error) {
	if o.cert == "" {
		return insecure.NewCredentials(), nil
	}
	pair, err := tls.LoadX509KeyPair(o.cert, o.key)
	if err != nil {
		return nil, err
	}
	config := &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	if o.clientCA != "" {
		pem, err := os.ReadFile(o.clientCA)
		if err != nil {
			return nil, err
		}
		config.ClientAuth, config.ClientCAs = tls.RequireAndVerifyClientCert, x509.NewCertPool()
		if !config.ClientCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%s has no certificate", o.clientCA)
		}
	}
	return credentials.NewTLS(config), nil
}
