package main

// The part of the host's interface that this plugin uses, for Go: values own a reference until release, a status is an
// error.

// #cgo pkg-config: tenon-sdk
// #include <stdlib.h>
// #include "host.h"
import "C"

import (
	"encoding/json"
	"fmt"
	"unsafe"
)

// refused is the status of a failed call of the host. The entry point returns it to the host.
type refused C.int32_t

func (status refused) Error() string { return fmt.Sprintf("the host returned status %d", int(status)) }

// failure is an expected failure of a task.
type failure struct{ code, message string }

func (failure failure) Error() string { return failure.message }

func must(status C.int32_t) error {
	if status == C.TN_OK {
		return nil
	}
	return refused(status)
}

// withText calls use with a C copy of a text and its length, and frees the copy afterwards.
func withText(text string, use func(*C.char, C.uint64_t) C.int32_t) C.int32_t {
	copied := C.CString(text)
	defer C.free(unsafe.Pointer(copied))
	return use(copied, C.uint64_t(len(text)))
}

// withValue calls use with a value made from content, and releases the value afterwards.
func withValue(content any, use func(C.tn_value) C.int32_t) error {
	text, err := json.Marshal(content)
	if err != nil {
		return err
	}
	var value C.tn_value
	status := withText(string(text), func(c *C.char, length C.uint64_t) C.int32_t {
		return C.host_from_json(c, length, &value)
	})
	if status != C.TN_OK {
		return refused(status)
	}
	defer C.host_release(value)
	return must(use(value))
}

// textOf copies the text of a value; false if the value is not a string.
func textOf(value C.tn_value) (string, bool) {
	var length C.uint64_t
	text := C.host_text(value, &length)
	if text == nil {
		return "", false
	}
	return C.GoStringN(text, C.int(length)), true
}

// member copies the text of an object's member. The host has validated that it exists.
func member(object C.tn_value, key string) string {
	name := C.CString(key)
	defer C.free(unsafe.Pointer(name))
	text, _ := textOf(C.host_get(object, name))
	return text
}

type task C.tn_task

func (task task) read(channel C.uint32_t) (string, error) {
	var value C.tn_value
	if status := C.host_read(C.tn_task(task), channel, &value); status != C.TN_OK {
		return "", refused(status)
	}
	defer C.host_release(value)
	text, ok := textOf(value)
	if !ok {
		return "", failure{"TYPE", "the channel to read must hold a string"}
	}
	return text, nil
}

func (task task) write(channel C.uint32_t, content any) error {
	return withValue(content, func(value C.tn_value) C.int32_t {
		return C.host_write(C.tn_task(task), channel, value)
	})
}

func (task task) emit(chunk any) error {
	return withValue(chunk, func(value C.tn_value) C.int32_t { return C.host_emit(C.tn_task(task), value) })
}

func (task task) complete() error { return must(C.host_complete(C.tn_task(task), nil)) }

func (task task) completeWith(output any) error {
	return withValue(output, func(value C.tn_value) C.int32_t { return C.host_complete(C.tn_task(task), value) })
}

// failing passes an error object to use.
func failing(code, message string, use func(C.tn_value) C.int32_t) C.int32_t {
	status := C.int32_t(C.TN_ERROR)
	err := withValue(map[string]string{"code": code, "message": message}, func(value C.tn_value) C.int32_t {
		status = use(value)
		return C.TN_OK
	})
	if err != nil {
		return C.TN_ERROR
	}
	return status
}

func (task task) fail(code, message string) C.int32_t {
	return failing(code, message, func(value C.tn_value) C.int32_t { return C.host_fail(C.tn_task(task), value) })
}

// binder binds the names of channels in create.
type binder struct{ c *C.tn_binder }

func (binder binder) read(channel string, index *C.uint32_t) error {
	return must(withText(channel, func(name *C.char, length C.uint64_t) C.int32_t {
		return C.host_bind_read(binder.c, name, length, index)
	}))
}

func (binder binder) write(channel string, index *C.uint32_t) error {
	return must(withText(channel, func(name *C.char, length C.uint64_t) C.int32_t {
		return C.host_bind_write(binder.c, name, length, index)
	}))
}

// refuse reports why create fails.
func refuse(code, message string) C.int32_t {
	return failing(code, message, func(value C.tn_value) C.int32_t { return C.host_refuse(value) })
}
