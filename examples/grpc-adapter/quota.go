package main

import (
	"context"
	"math"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"mesh/examples/grpc-adapter/adapterpb"
)

const (
	// Dimensions come from requests: without a bound anybody who calls could fill the memory.
	maxBuckets = 100_000
	// How long an allocation is known that is tried again.
	remembered = 10 * time.Second
)

// Token buckets by whom they are for, together for all sessions of a handler.
type buckets struct {
	mutex   sync.Mutex
	levels  map[string]*bucket
	granted map[string]grant
}

type bucket struct {
	tokens float64
	at     time.Time
}

type grant struct {
	amount int64
	at     time.Time
}

func newBuckets() *buckets {
	return &buckets{levels: map[string]*bucket{}, granted: map[string]grant{}}
}

func (a *adapter) HandleQuota(ctx context.Context, request *adapterpb.HandleQuotaRequest) (*adapterpb.HandleQuotaResponse, error) {
	session, err := a.session(ctx, request.GetSessionId())
	if err != nil {
		return nil, err
	}
	// Written in one way only, however the map of dimensions is ordered.
	who, err := proto.MarshalOptions{Deterministic: true}.Marshal(request.GetInstance())
	if err != nil {
		return nil, err
	}
	amount := a.buckets.take(session.handler+"\n"+string(who), session.settings, request, a.now())
	if amount == 0 {
		refused := &adapterpb.Status{Code: int32(codes.ResourceExhausted), Message: "the bucket is empty"}
		return &adapterpb.HandleQuotaResponse{Status: refused}, nil
	}
	return &adapterpb.HandleQuotaResponse{GrantedAmount: amount}, nil
}

func (b *buckets) take(who string, s settings, request *adapterpb.HandleQuotaRequest, now time.Time) int64 {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	again := request.GetDeduplicationId() + "\n" + who
	if known, ok := b.granted[again]; ok && request.GetDeduplicationId() != "" && now.Sub(known.at) < remembered {
		return known.amount
	}
	b.sweep(s, now)
	level := b.levels[who]
	if level == nil {
		if len(b.levels) >= maxBuckets {
			return 0
		}
		level = &bucket{tokens: float64(s.quota), at: now}
		b.levels[who] = level
	}
	level.tokens = math.Min(float64(s.quota), level.tokens+float64(s.quota)*now.Sub(level.at).Seconds()/s.refill.Seconds())
	level.at = now
	amount := request.GetAmount()
	if there := int64(level.tokens); there < amount {
		amount = 0
		if request.GetBestEffort() {
			amount = there
		}
	}
	level.tokens -= float64(amount)
	if request.GetDeduplicationId() != "" && len(b.granted) < maxBuckets {
		b.granted[again] = grant{amount: amount, at: now}
	}
	return amount
}

// Forgets what says no more than nothing does, once there is much of it.
func (b *buckets) sweep(s settings, now time.Time) {
	if len(b.levels)+len(b.granted) < maxBuckets {
		return
	}
	for who, level := range b.levels {
		if now.Sub(level.at) > s.refill {
			delete(b.levels, who)
		}
	}
	for id, known := range b.granted {
		if now.Sub(known.at) >= remembered {
			delete(b.granted, id)
		}
	}
}
