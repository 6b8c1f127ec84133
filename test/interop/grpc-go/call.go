package main

import (
	"context"
	"encoding/base64"
	"io"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

type callScript struct {
	Path          string `json:"path"`
	ClientStreams bool   `json:"clientStreams"`
	ServerStreams bool   `json:"serverStreams"`
	// Base64 in JSON.
	Messages [][]byte `json:"messages"`
	// Key and value; values of keys that end in -bin are base64.
	Metadata  [][2]string `json:"metadata"`
	TimeoutMs int         `json:"timeoutMs"`
	Gzip      bool        `json:"gzip"`
	// Waits for the answer to each message before the next is sent.
	Lockstep bool `json:"lockstep"`
	// Leaves the sending side open.
	StayOpen bool `json:"stayOpen"`
	// Cancels once this many messages came; absent: never.
	CancelAfter *int `json:"cancelAfter"`
	// Never takes a message from the transport.
	NeverRead bool `json:"neverRead"`
	// Counts messages instead of keeping them.
	CountOnly bool `json:"countOnly"`
}

type callResult struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	// A google.rpc.Status, where the server sent details.
	Details  []byte              `json:"details,omitempty"`
	Headers  map[string][]string `json:"headers"`
	Trailers map[string][]string `json:"trailers"`
	Messages [][]byte            `json:"messages"`
	Count    int                 `json:"count"`
}

func call(connection *grpc.ClientConn, todo callScript) callResult {
	ctx, cancel := contextOf(todo)
	defer cancel()
	result := callResult{Messages: [][]byte{}}
	var headers, trailers metadata.MD
	var err error
	if todo.ClientStreams || todo.ServerStreams {
		headers, trailers, err = stream(ctx, cancel, connection, todo, &result)
	} else {
		headers, trailers, err = unary(ctx, connection, todo, &result)
	}
	answered, _ := status.FromError(err)
	result.Code, result.Message = int(answered.Code()), answered.Message()
	if answer := answered.Proto(); answer != nil && len(answer.Details) > 0 {
		result.Details, _ = proto.Marshal(answer)
	}
	result.Headers, result.Trailers = textual(headers), textual(trailers)
	return result
}

func contextOf(todo callScript) (context.Context, context.CancelFunc) {
	ctx := context.Background()
	for _, entry := range todo.Metadata {
		value := entry[1]
		if strings.HasSuffix(entry[0], "-bin") {
			bytes, _ := base64.StdEncoding.DecodeString(value)
			value = string(bytes)
		}
		ctx = metadata.AppendToOutgoingContext(ctx, entry[0], value)
	}
	if todo.TimeoutMs > 0 {
		return context.WithTimeout(ctx, time.Duration(todo.TimeoutMs)*time.Millisecond)
	}
	return context.WithCancel(ctx)
}

func optionsOf(todo callScript) []grpc.CallOption {
	if todo.Gzip {
		return []grpc.CallOption{grpc.UseCompressor("gzip")}
	}
	return nil
}

func unary(ctx context.Context, connection *grpc.ClientConn, todo callScript, result *callResult) (headers, trailers metadata.MD, err error) {
	var response []byte
	options := append(optionsOf(todo), grpc.Header(&headers), grpc.Trailer(&trailers))
	err = connection.Invoke(ctx, todo.Path, &todo.Messages[0], &response, options...)
	if err == nil {
		result.add(response, todo)
	}
	return headers, trailers, err
}

func stream(
	ctx context.Context, cancel context.CancelFunc, connection *grpc.ClientConn, todo callScript, result *callResult,
) (headers, trailers metadata.MD, err error) {
	description := &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}
	calling, err := connection.NewStream(ctx, description, todo.Path, optionsOf(todo)...)
	if err != nil {
		return nil, nil, err
	}
	if err = converse(calling, cancel, todo, result); err == io.EOF {
		err = nil
	}
	if !todo.NeverRead {
		headers, _ = calling.Header()
	}
	return headers, calling.Trailer(), err
}

// converse sends and receives as the script says; gives io.EOF when the call ended with OK.
func converse(calling grpc.ClientStream, cancel context.CancelFunc, todo callScript, result *callResult) error {
	if todo.Lockstep {
		for i := range todo.Messages {
			if calling.SendMsg(&todo.Messages[i]) != nil {
				break // What the call ended with comes from receiving.
			}
			if err := receive(calling, todo, result); err != nil {
				return err
			}
		}
	} else {
		go func() {
			for i := range todo.Messages {
				if calling.SendMsg(&todo.Messages[i]) != nil {
					return
				}
			}
			if !todo.StayOpen {
				calling.CloseSend()
			}
		}()
	}
	if todo.Lockstep && !todo.StayOpen {
		calling.CloseSend()
	}
	if todo.NeverRead {
		<-calling.Context().Done()
		return status.FromContextError(calling.Context().Err()).Err()
	}
	for {
		if todo.CancelAfter != nil && result.Count >= *todo.CancelAfter {
			cancel()
		}
		if err := receive(calling, todo, result); err != nil {
			return err
		}
	}
}

func receive(calling grpc.ClientStream, todo callScript, result *callResult) error {
	var response []byte
	if err := calling.RecvMsg(&response); err != nil {
		return err
	}
	result.add(response, todo)
	return nil
}

func (result *callResult) add(message []byte, todo callScript) {
	result.Count++
	if !todo.CountOnly {
		result.Messages = append(result.Messages, message)
	}
}

func textual(entries metadata.MD) map[string][]string {
	texts := map[string][]string{}
	for key, values := range entries {
		for _, value := range values {
			if strings.HasSuffix(key, "-bin") {
				value = base64.StdEncoding.EncodeToString([]byte(value))
			}
			texts[key] = append(texts[key], value)
		}
	}
	return texts
}
