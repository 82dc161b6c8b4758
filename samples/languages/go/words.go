// A plugin in Go: host.go has what it uses of the host, plugin.c its tables, this file the components.
//
// What goes wrong is an error. What panics must not reach the host, whose frames know nothing of it: every entry point
// defers barrier, which makes of a panic a failed task or a refused configuration. To be seen at work, the word
// `panic!` is a mistake of the kind that programs have.
//
// Go's runtime has threads and signal handlers of its own, and is there for good: the manifest asks for a process.
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

func main() {} // of a shared object, never called

// ---- The components ----

func isBlank(r rune) bool { return strings.ContainsRune(" \t\r\n", r) }

// wordsOf are the words of a text; what separates them is blank.
func wordsOf(text string) []string {
	words := strings.FieldsFunc(text, isBlank)
	for at, word := range words {
		if word == "panic!" {
			_ = words[at+len(words)] // the mistake
		}
	}
	return words
}

type component interface {
	run(task task, input C.tn_value) error
}

// count is blocking: emit waits where there is no room.
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
	inside := false // a word
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

// statusOf an entry point's error: the host's own goes back to it, any other is given to fail.
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

// barrier is deferred by every entry point: what has panicked ends here, and is given to fail.
func barrier(status *C.int32_t, fail func(code, message string) C.int32_t) {
	if panicked := recover(); panicked != nil {
		*status = fail("PANIC", fmt.Sprint(panicked))
	}
}

//export words_create
func words_create(id *C.char, config C.tn_value, c *C.tn_binder, instance *C.uintptr_t) (status C.int32_t) {
	binder := binder{c}
	defer barrier(&status, binder.refuse)
	create := components[C.GoString(id)]
	if create == nil {
		return C.TN_NOT_FOUND
	}
	made, err := create(config, binder)
	if err == nil {
		*instance = C.uintptr_t(cgo.NewHandle(made))
	}
	return statusOf(err, binder.refuse)
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
