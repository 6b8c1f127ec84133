package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/mem"
)

type tlsFiles struct {
	RootPem    string `json:"rootPem"`
	KeyPem     string `json:"keyPem"`
	ChainPem   string `json:"chainPem"`
	ServerName string `json:"serverName"`
}

func connect(todo script) ([]*grpc.ClientConn, error) {
	security, err := securityOf(todo.TLS)
	if err != nil {
		return nil, err
	}
	var connections []*grpc.ClientConn
	for range todo.Connections {
		connection, err := grpc.NewClient(
			"passthrough:///"+todo.Target,
			grpc.WithTransportCredentials(security),
			grpc.WithDefaultCallOptions(grpc.ForceCodecV2(rawCodec{}), grpc.MaxCallRecvMsgSize(64<<20)),
			grpc.WithDisableRetry(),
		)
		if err != nil {
			return nil, err
		}
		connections = append(connections, connection)
	}
	return connections, nil
}

func securityOf(files *tlsFiles) (credentials.TransportCredentials, error) {
	if files == nil {
		return insecure.NewCredentials(), nil
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM([]byte(files.RootPem)) {
		return nil, errors.New("the root certificate cannot be read")
	}
	config := &tls.Config{RootCAs: roots, ServerName: files.ServerName}
	if files.KeyPem != "" {
		pair, err := tls.X509KeyPair([]byte(files.ChainPem), []byte(files.KeyPem))
		if err != nil {
			return nil, err
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return credentials.NewTLS(config), nil
}

// rawCodec passes messages as they are: *[]byte both ways.
type rawCodec struct{}

var _ encoding.CodecV2 = rawCodec{}

func (rawCodec) Marshal(message any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(*message.(*[]byte))}, nil
}

func (rawCodec) Unmarshal(data mem.BufferSlice, message any) error {
	*message.(*[]byte) = append([]byte{}, data.Materialize()...)
	return nil
}

func (rawCodec) Name() string { return "proto" }
