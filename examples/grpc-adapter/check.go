package main

import (
	"context"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/durationpb"

	"mesh/examples/grpc-adapter/adapterpb"
)

const refusedFor = 2 * time.Second

// Refuses what stands in the list. How long what it admits may be remembered is left to the handler.
func (a *adapter) HandleCheck(ctx context.Context, request *adapterpb.HandleCheckRequest) (*adapterpb.HandleCheckResponse, error) {
	session, err := a.session(ctx, request.GetSessionId())
	if err != nil {
		return nil, err
	}
	if session.deny[subject(request.GetInstance())] {
		return &adapterpb.HandleCheckResponse{
			Status: &adapterpb.Status{Code: int32(codes.PermissionDenied), Message: session.message},
			// Should the list be another one soon, those who were refused do not stay refused for long.
			ValidDuration: durationpb.New(refusedFor),
		}, nil
	}
	return &adapterpb.HandleCheckResponse{}, nil
}

// Whom an instance is about.
func subject(instance *adapterpb.Instance) string {
	fields := instance.GetFields()
	switch instance.GetTemplate() {
	case "listentry":
		return fields["value"].GetStringValue()
	case "apikey":
		return fields["apiKey"].GetStringValue()
	case "authorization":
		return fields["subject"].GetMapValue().GetEntries()["user"].GetStringValue()
	default:
		return ""
	}
}
