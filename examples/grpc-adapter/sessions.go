package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/structpb"

	"mesh/examples/grpc-adapter/adapterpb"
)

// A session that nobody has used for so long is forgotten: mixs may have been killed. Should it come back, it opens another.
const sessionIdle = time.Hour

type adapter struct {
	adapterpb.UnimplementedAdapterServer
	now     func() time.Time
	buckets *buckets

	reporting sync.Mutex
	reports   io.Writer

	mutex    sync.Mutex
	sessions map[string]*session
}

type session struct {
	handler string
	settings
	used time.Time
}

// What `params` of a handler say.
type settings struct {
	deny    map[string]bool
	message string
	// Tokens that a bucket holds, and the time in which an empty one is full again.
	quota  int64
	refill time.Duration
	// How long answers are held back, to try out time limits.
	delay time.Duration
}

func newAdapter(reports io.Writer, now func() time.Time) *adapter {
	return &adapter{now: now, buckets: newBuckets(), reports: reports, sessions: map[string]*session{}}
}

func (a *adapter) ValidateSession(_ context.Context, request *adapterpb.ValidateSessionRequest) (*adapterpb.ValidateSessionResponse, error) {
	_, problems := readSettings(request.GetParameters().GetParams())
	return &adapterpb.ValidateSessionResponse{Problems: problems}, nil
}

func (a *adapter) CreateSession(_ context.Context, request *adapterpb.CreateSessionRequest) (*adapterpb.CreateSessionResponse, error) {
	read, problems := readSettings(request.GetParameters().GetParams())
	if len(problems) > 0 {
		return nil, status.Errorf(codes.InvalidArgument, "%s: %s", problems[0].Path, problems[0].Message)
	}
	id, now := rand.Text(), a.now()
	a.mutex.Lock()
	defer a.mutex.Unlock()
	for other, session := range a.sessions {
		if now.Sub(session.used) > sessionIdle {
			delete(a.sessions, other)
		}
	}
	a.sessions[id] = &session{handler: request.GetParameters().GetHandler(), settings: read, used: now}
	return &adapterpb.CreateSessionResponse{SessionId: id}, nil
}

func (a *adapter) CloseSession(_ context.Context, request *adapterpb.CloseSessionRequest) (*adapterpb.CloseSessionResponse, error) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	delete(a.sessions, request.GetSessionId())
	return &adapterpb.CloseSessionResponse{}, nil
}

// The session of a call, after its delay. NOT_FOUND tells mixs to open another one and to call again.
func (a *adapter) session(ctx context.Context, id string) (*session, error) {
	a.mutex.Lock()
	found := a.sessions[id]
	if found != nil {
		found.used = a.now()
	}
	a.mutex.Unlock()
	if found == nil {
		return nil, status.Error(codes.NotFound, "there is no such session")
	}
	if found.delay == 0 {
		return found, nil
	}
	select {
	case <-time.After(found.delay):
		return found, nil
	case <-ctx.Done():
		return nil, status.FromContextError(ctx.Err()).Err()
	}
}

// Reads `params`, with everything that is wrong with them.
func readSettings(params *structpb.Struct) (settings, []*adapterpb.ValidateSessionResponse_Problem) {
	read := settings{deny: map[string]bool{}, message: "refused by the sample adapter", quota: 10, refill: 10 * time.Second}
	var problems []*adapterpb.ValidateSessionResponse_Problem
	wrong := func(path, message string) {
		problems = append(problems, &adapterpb.ValidateSessionResponse_Problem{Path: "params." + path, Message: message})
	}
	text := func(name string, value *structpb.Value) string {
		if _, ok := value.GetKind().(*structpb.Value_StringValue); !ok {
			wrong(name, "must be a text")
		}
		return value.GetStringValue()
	}
	duration := func(name string, value *structpb.Value) time.Duration {
		parsed, err := time.ParseDuration(text(name, value))
		if err != nil || parsed < 0 {
			wrong(name, "must be a span of time such as 10s")
		}
		return parsed
	}
	for name, value := range params.GetFields() {
		switch name {
		case "deny":
			if _, ok := value.GetKind().(*structpb.Value_ListValue); !ok {
				wrong(name, "must be a list")
			}
			for index, entry := range value.GetListValue().GetValues() {
				read.deny[text(fmt.Sprintf("deny[%d]", index), entry)] = true
			}
		case "message":
			read.message = text(name, value)
		case "quota":
			read.quota = int64(value.GetNumberValue())
			if read.quota < 1 || float64(read.quota) != value.GetNumberValue() {
				wrong(name, "must be a whole number above zero")
			}
		case "refill":
			if read.refill = duration(name, value); read.refill == 0 {
				wrong(name, "must be longer than 0s")
			}
		case "delay":
			read.delay = duration(name, value)
		default:
			wrong(name, "is unknown; there are deny, message, quota, refill and delay")
		}
	}
	return read, problems
}
