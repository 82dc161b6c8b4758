// A plugin in Go. host.go wraps the host's interface, plugin.c has the tables, this file the components.
//
// A failure is an error value. A panic must not reach the host, because its frames cannot unwind: every entry point defers
// barrier, which converts a panic to a failed task or a refused configuration. To demonstrate this, the word `panic!` in
// the input triggers a deliberate error.
//
// Go's runtime starts threads, installs signal handlers and cannot be unloaded, so the manifest requests a process.
package main

// #include "host.h"
import "C"

import (
	"errors"
	"fmt"
	"runtime/cgo"
	"strings"
	"unicode"
)

func main() {} // required, but never called in a shared object

// ---- The components ----

func isBlank(r rune) bool { return strings.ContainsRune(" \t\r\n", r) }

// wordsOf returns the words of a text, separated by blanks.
func wordsOf(text string) []string {
	words := strings.FieldsFunc(text, isBlank)
	for at, word := range words {
		if word == "panic!" {
			_ = words[at+len(words)] // the deliberate error: index out of range
		}
	}
	return words
}

type component interface {
	run(task task, input C.tn_value) error
}

// count is a blocking component: emit waits until the host accepts the chunk.
type count struct{ in, out C.uint32_t }

func newCount(config C.tn_value, binder binder) (component, error) {
	made := new(count)
	if err := binder.read(member(config, "input_key"), &made.in); err != nil {
		return nil, err
	}
	return made, binder.write(member(config, "output_key"), &made.out)
}

func (count *count) run(task task, _ C.tn_value) error {
	text, err := task.read(count.in)
	if err != nil {
		return err
	}
	words, seen := wordsOf(text), map[string]bool{}
	for _, word := range words {
		if seen[word] {
			continue
		}
		seen[word] = true
		if err := task.emit(map[string]string{"word": word}); err != nil {
			return err
		}
	}
	counted := struct {
		Words    int `json:"words"`
		Distinct int `json:"distinct"`
	}{len(words), len(seen)}
	if err := task.write(count.out, counted); err != nil {
		return err
	}
	return task.complete()
}

type title struct{}

func newTitle(C.tn_value, binder) (component, error) { return title{}, nil }

func (title) run(task task, input C.tn_value) error {
	text := member(input, "text")
	if len(wordsOf(text)) == 0 {
		return failure{"INVALID_INPUT", "`text` is blank; give it a word at least"}
	}
	inside := false // inside a word
	return task.completeWith(strings.Map(func(r rune) rune {
		first := !inside
		inside = !isBlank(r)
		if first {
			return unicode.ToUpper(r)
		}
		return unicode.ToLower(r)
	}, text))
}

var components = map[string]func(C.tn_value, binder) (component, error){
	"go.count": newCount,
	"go.title": newTitle,
}

// ---- The entry points ----

// statusOf returns the status for the error of an entry point: a status of the host is returned unchanged, any other error
// is passed to fail.
func statusOf(err error, fail func(code, message string) C.int32_t) C.int32_t {
	var status refused
	var failed failure
	switch {
	case err == nil:
		return C.TN_OK
	case errors.As(err, &status):
		return C.int32_t(status)
	case errors.As(err, &failed):
		return fail(failed.code, failed.message)
	default:
		return fail("FAILED", err.Error())
	}
}

// barrier is deferred by every entry point. It recovers from a panic and passes it to fail.
func barrier(status *C.int32_t, fail func(code, message string) C.int32_t) {
	if panicked := recover(); panicked != nil {
		*status = fail("PANIC", fmt.Sprint(panicked))
	}
}

//export words_create
func words_create(id *C.char, length C.uint64_t, config C.tn_value, c *C.tn_binder, instance *C.uintptr_t) (status C.int32_t) {
	binder := binder{c}
	defer barrier(&status, refuse)
	create := components[C.GoStringN(id, C.int(length))]
	if create == nil {
		return C.TN_NOT_FOUND
	}
	made, err := create(config, binder)
	if err == nil {
		*instance = C.uintptr_t(cgo.NewHandle(made))
	}
	return statusOf(err, refuse)
}

//export words_start
func words_start(instance C.uintptr_t, token C.tn_task, input C.tn_value) (status C.int32_t) {
	task := task(token)
	defer barrier(&status, task.fail)
	return statusOf(cgo.Handle(instance).Value().(component).run(task, input), task.fail)
}

//export words_destroy
func words_destroy(instance C.uintptr_t) {
	var status C.int32_t
	defer barrier(&status, func(string, string) C.int32_t { return C.TN_ERROR })
	cgo.Handle(instance).Delete()
}
