// A grpc-go client that plays calls: each line of standard input is a script in JSON, each line of standard output the
// results of one, in the order in which they finish. Messages are bytes that no codec touches.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"sync"
)

// script says where to connect, and what every call does. Calls run at the same time, spread over the connections.
type script struct {
	ID          int        `json:"id"`
	Target      string     `json:"target"`
	TLS         *tlsFiles  `json:"tls"`
	Connections int        `json:"connections"`
	Calls       int        `json:"calls"`
	Call        callScript `json:"call"`
}

type answer struct {
	ID      int          `json:"id"`
	Results []callResult `json:"results"`
	Error   string       `json:"error,omitempty"`
}

func main() {
	input := bufio.NewReader(os.Stdin)
	var output sync.Mutex
	for {
		line, err := input.ReadBytes('\n')
		if err == io.EOF {
			return
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "standard input:", err)
			os.Exit(1)
		}
		go func() {
			bytes, err := json.Marshal(answerTo(line))
			if err != nil {
				fmt.Fprintln(os.Stderr, "an answer cannot be written as JSON:", err)
				os.Exit(1)
			}
			output.Lock()
			defer output.Unlock()
			os.Stdout.Write(append(bytes, '\n'))
		}()
	}
}

func answerTo(line []byte) answer {
	var todo script
	if err := json.Unmarshal(line, &todo); err != nil {
		return answer{Error: err.Error()}
	}
	results, err := play(todo)
	if err != nil {
		return answer{ID: todo.ID, Error: err.Error()}
	}
	return answer{ID: todo.ID, Results: results}
}

func play(todo script) ([]callResult, error) {
	connections, err := connect(todo)
	if err != nil {
		return nil, err
	}
	defer func() {
		for _, connection := range connections {
			connection.Close()
		}
	}()
	results := make([]callResult, todo.Calls)
	var calls sync.WaitGroup
	for i := range results {
		calls.Go(func() { results[i] = call(connections[i%len(connections)], todo.Call) })
	}
	calls.Wait()
	return results, nil
}
