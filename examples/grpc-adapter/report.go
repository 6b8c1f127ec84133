package main

import (
	"context"
	"encoding/json"
	"net/netip"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"mesh/examples/grpc-adapter/adapterpb"
)

// Writes a line for each instance.
func (a *adapter) HandleReport(ctx context.Context, request *adapterpb.HandleReportRequest) (*adapterpb.HandleReportResponse, error) {
	session, err := a.session(ctx, request.GetSessionId())
	if err != nil {
		return nil, err
	}
	var lines []byte
	rejected := int32(0)
	for _, instance := range request.GetInstances() {
		line, err := json.Marshal(map[string]any{
			"handler": session.handler, "instance": instance.GetName(), "template": instance.GetTemplate(), "fields": plainMap(instance.GetFields()),
		})
		if err != nil {
			rejected++
			continue
		}
		lines = append(append(lines, line...), '\n')
	}
	a.reporting.Lock()
	defer a.reporting.Unlock()
	if _, err := a.reports.Write(lines); err != nil {
		// Not for ever, perhaps: mixs keeps the reports and sends them again.
		return nil, status.Errorf(codes.Unavailable, "the reports cannot be written: %v", err)
	}
	return &adapterpb.HandleReportResponse{Rejected: rejected}, nil
}

func plainMap(fields map[string]*adapterpb.Value) map[string]any {
	plain := make(map[string]any, len(fields))
	for name, value := range fields {
		plain[name] = plainValue(value)
	}
	return plain
}

// What a reader of JSON expects of a value.
func plainValue(value *adapterpb.Value) any {
	switch v := value.GetValue().(type) {
	case *adapterpb.Value_StringValue:
		return v.StringValue
	case *adapterpb.Value_Int64Value:
		return v.Int64Value
	case *adapterpb.Value_DoubleValue:
		return v.DoubleValue
	case *adapterpb.Value_BoolValue:
		return v.BoolValue
	case *adapterpb.Value_TimestampValue:
		return v.TimestampValue.AsTime()
	case *adapterpb.Value_DurationValue:
		return v.DurationValue.AsDuration().String()
	case *adapterpb.Value_IpAddressValue:
		address, _ := netip.AddrFromSlice(v.IpAddressValue)
		return address
	case *adapterpb.Value_EmailAddressValue:
		return v.EmailAddressValue
	case *adapterpb.Value_UriValue:
		return v.UriValue
	case *adapterpb.Value_DnsNameValue:
		return v.DnsNameValue
	case *adapterpb.Value_StringMapValue:
		return v.StringMapValue.GetEntries()
	case *adapterpb.Value_MapValue:
		return plainMap(v.MapValue.GetEntries())
	default:
		// Of a newer contract than this program's.
		return nil
	}
}
