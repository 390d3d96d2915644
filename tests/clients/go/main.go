// franz-go: runs one scenario against a cluster, or against a proxy in front of one, and prints what it saw as a line of
// JSON.
//
// Usage: probe SCENARIO --bootstrap HOST:PORT --prefix P [--seconds N]
//
// Nothing in the line depends on the run: names come without the prefix, and no address, id or clock is in it.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"strings"
)

// result is what a scenario saw, with a member for each feature that it is about.
type result = map[string]any

var scenarios = map[string]func(*session) result{
	"version":      version,
	"produce":      produce,
	"seek":         seek,
	"classic":      classic,
	"kip848":       kip848,
	"idempotent":   idempotent,
	"transactions": transactions,
	"admin":        admin,
	"share":        share,
	"login":        login,
	"connect":      connect,
	"stay":         stay,
}

func main() {
	var scenario func(*session) result
	if len(os.Args) > 1 {
		scenario = scenarios[os.Args[1]]
	}
	if scenario == nil {
		names := []string{}
		for name := range scenarios {
			names = append(names, name)
		}
		slices.Sort(names)
		fmt.Fprintln(os.Stderr, "the first argument has to be one of", names)
		os.Exit(2)
	}
	defer func() {
		if failure := recover(); failure != nil {
			fmt.Fprintf(os.Stderr, "%v\n%s", failure, debug.Stack())
			os.Exit(1)
		}
	}()
	var line bytes.Buffer
	out := json.NewEncoder(&line)
	out.SetEscapeHTML(false)
	s := newSession(os.Args[2:])
	defer s.end()
	check(out.Encode(scenario(s)))
	os.Stdout.Write(line.Bytes())
}

// version reads what was linked.
func version(*session) result {
	info, _ := debug.ReadBuildInfo()
	for _, dependency := range info.Deps {
		if strings.HasSuffix(dependency.Path, "/franz-go") {
			return result{"library": "franz-go " + strings.TrimPrefix(dependency.Version, "v")}
		}
	}
	panic("franz-go is not among the dependencies")
}

// check ends the run with an error.
func check(err error) {
	if err != nil {
		panic(err)
	}
}

// must is the value of a call that has to succeed.
func must[T any](value T, err error) T {
	check(err)
	return value
}
