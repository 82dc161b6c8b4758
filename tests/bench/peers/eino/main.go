// einobench WORKLOAD [N]: the workloads of tenon-bench in Eino (github.com/cloudwego/eino), as far as it has them.
//
// An Eino graph passes the output of a node to the next one, so the counter of chain, seq and loop is that value. The
// workers of par and fanout have output keys, and the join receives a map of them. Every result is checked in the timed
// section.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/cloudwego/eino/compose"
)

const loops = 1000

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "einobench:", err)
		os.Exit(1)
	}
}

func add(_ context.Context, n int) (int, error) { return n + 1, nil }

func addLater(_ context.Context, n int) (int, error) {
	time.Sleep(100 * time.Millisecond)
	return n + 1, nil
}

type graph = compose.Runnable[int, int]

// A chain of length nodes that each add 1. The one at `later`, if any, first waits 100 ms.
func chain(length, later int) graph {
	g := compose.NewGraph[int, int]()
	before := compose.START
	for i := 0; i < length; i++ {
		id := "n" + strconv.Itoa(i)
		work := add
		if i == later {
			work = addLater
		}
		must(g.AddLambdaNode(id, compose.InvokableLambda(work)))
		must(g.AddEdge(before, id))
		before = id
	}
	must(g.AddEdge(before, compose.END))
	r, err := g.Compile(context.Background(), compose.WithMaxRunSteps(length+10))
	must(err)
	return r
}

func loop() graph {
	g := compose.NewGraph[int, int]()
	must(g.AddLambdaNode("add", compose.InvokableLambda(add)))
	must(g.AddEdge(compose.START, "add"))
	must(g.AddBranch("add", compose.NewGraphBranch(func(_ context.Context, n int) (string, error) {
		if n < loops {
			return "add", nil
		}
		return compose.END, nil
	}, map[string]bool{"add": true, compose.END: true})))
	r, err := g.Compile(context.Background(), compose.WithMaxRunSteps(loops+100))
	must(err)
	return r
}

func workers(count int) graph {
	g := compose.NewGraph[int, int]()
	must(g.AddLambdaNode("join", compose.InvokableLambda(func(_ context.Context, m map[string]any) (int, error) {
		found := 0
		for i := 0; i < count; i++ {
			if n, ok := m["w"+strconv.Itoa(i)].(int); ok && n == i {
				found++
			}
		}
		return found, nil
	})))
	for i := 0; i < count; i++ {
		id := "w" + strconv.Itoa(i)
		must(g.AddLambdaNode(id, compose.InvokableLambda(func(context.Context, int) (int, error) { return i, nil }),
			compose.WithOutputKey(id)))
		must(g.AddEdge(compose.START, id))
		must(g.AddEdge(id, "join"))
	}
	must(g.AddEdge("join", compose.END))
	r, err := g.Compile(context.Background(), compose.WithMaxRunSteps(20))
	must(err)
	return r
}

func once(g graph, expected int) {
	got, err := g.Invoke(context.Background(), 0)
	must(err)
	if got != expected {
		must(fmt.Errorf("a wrong result: %d, not %d", got, expected))
	}
}

func usage() {
	fmt.Fprintln(os.Stderr, "usage: einobench chain|seq|loop|par|fanout|concurrent [N]")
	os.Exit(2)
}

func main() {
	if len(os.Args) < 2 {
		usage()
	}
	workload, n := os.Args[1], 1000
	if len(os.Args) > 2 {
		n, _ = strconv.Atoi(os.Args[2])
	}
	if n <= 0 {
		usage()
	}
	var g graph
	expected, units, warm := 0, 1, 200
	switch workload {
	case "chain":
		g, expected, units, warm = chain(10, -1), 10, 10, min(200, max(20, n/10))
	case "seq":
		g, expected = chain(3, -1), 3
	case "loop":
		g, expected, units, warm = loop(), loops, loops, 3
	case "par":
		g, expected = workers(5), 5
	case "fanout":
		g, expected, units, warm = workers(100), 100, 100, 5
	case "concurrent":
		g, expected, warm = chain(3, 1), 3, 0
	default:
		usage()
	}
	for i := 0; i < warm; i++ {
		once(g, expected)
	}
	start := time.Now()
	if workload == "concurrent" {
		var all sync.WaitGroup
		for i := 0; i < n; i++ {
			all.Add(1)
			go func() {
				defer all.Done()
				once(g, expected)
			}()
		}
		all.Wait()
	} else {
		for i := 0; i < n; i++ {
			once(g, expected)
		}
	}
	wall := time.Since(start).Seconds()
	var use syscall.Rusage
	must(syscall.Getrusage(syscall.RUSAGE_SELF, &use))
	line, err := json.Marshal(map[string]any{"workload": workload, "n": n, "wall_s": wall,
		"per_unit_us": wall * 1e6 / float64(n*units), "rss_peak_mib": float64(use.Maxrss) / 1024, "notes": map[string]any{}})
	must(err)
	fmt.Println(string(line))
}
